"""SIGKILL inside passes over a corpus in files: the run goes on to the same bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly("storms")
KILLS = int(os.environ.get("STRUCTOPT_KILLS", "2"))
WORDS = [
    "task=ner",
    "task.dev=null",
    "task.test=null",
    "tracker=none",
    "quiet=true",
    "storage=disk",
    "storage.block=4",
    "storage.window=2",
    "storage.checkpoint=0",
    "optimizer.epochs=3",
    "objective_every=0",
    *(["task.limit=60"] if KILLS <= 2 else []),
]


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "structopt", *words], cwd=folder)


def checkpoints_written(file: Path, child: subprocess.Popen[bytes], count: int) -> bool:
    """Wait until a checkpoint was written so many times; False where the run has ended before."""
    seen: set[int] = set()
    while child.poll() is None:
        if file.exists():
            seen.add(file.stat().st_mtime_ns)
        if len(seen) > count:
            return True
        time.sleep(0.001)
    return False


@pytest.mark.parametrize(
    "optimizer", [["optimizer=dca"], ["optimizer=sdca", "optimizer.sampling=gap"]], ids=" ".join
)
def test_a_run_that_is_killed_inside_passes_goes_on_to_the_same_bits(tmp_path, optimizer):
    assert start(tmp_path, *WORDS, *optimizer, "hydra.run.dir=whole").wait() == 0
    child, kills = start(tmp_path, *WORDS, *optimizer, "hydra.run.dir=killed"), 0
    while kills < KILLS and checkpoints_written(
        tmp_path / "killed/checkpoint/state.safetensors", child, 2 + 3 * kills
    ):
        child.send_signal(signal.SIGKILL)
        child.wait()
        kills += 1
        child = start(tmp_path, "resume=killed")
    assert child.wait() == 0 and kills == KILLS
    weights = [
        (tmp_path / run / "model" / "weights.safetensors").read_bytes()
        for run in ("whole", "killed")
    ]
    assert weights[0] == weights[1]
