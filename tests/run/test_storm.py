"""Runs in a storm of kills end with the bits of one that was left in peace; see tests/storm.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interrupts import hear_interrupts

pytestmark = pytest.mark.nightly("storms")

ROOT = Path(__file__).parents[2]
UNTRACKED, TRACKED = "tracker=none", "tracker.log_model=false"
STORMS = {
    "dual": ["task=ner", "task.limit=150", "optimizer=dca", "optimizer.epochs=8", UNTRACKED],
    "online, in threads, with a dev score to stop by": [
        "task=ner",
        "task.limit=150",
        "optimizer=adagrad",
        "patience=3",
        "optimizer.epochs=8",
        "executor=threads",
        UNTRACKED,
    ],
    "batch": ["task=multiclass", "loss=crf", "optimizer=lbfgs", "optimizer.epochs=20", UNTRACKED],
    "tracked": ["task=multiclass", "optimizer=sgd", "optimizer.epochs=10", TRACKED],
}
KILLS = 2


@pytest.mark.parametrize("name", STORMS)
def test_the_same_bits(tmp_path: Path, name: str) -> None:
    seed = str(list(STORMS).index(name))
    command = [
        sys.executable,
        "-m",
        "tests.storm",
        "storm",
        "--seed",
        seed,
        "--kills",
        str(KILLS),
        *STORMS[name],
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=hear_interrupts,
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["same"], outcome
    assert outcome["kills"] == KILLS
