"""Commands that are interrupted in the midst of a pass that takes minutes: they end within seconds,
and lose nothing finished.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import structopt
from structopt.kernels.waist import compiling
from structopt.process import interruption
from structopt.process.time_limit import TimeIsUp, at_most
from structopt.run import closing, history
from tests.interrupts import hear_interrupts, heard_interrupts

# a visit would take an hour
ENDLESS = ("inference=mplp", "inference.passes=2000000000", "inference.tolerance=0")
MULTILABEL = ("task=multilabel", "tracker=none", "features.bias=true", *ENDLESS)
AT_ONCE = 15.0  # seconds, on a machine that does much else; about one on one that does not

OFTEN = "from structopt.progress import display; display.EVERY = 0.5  # seconds between lines\n"
PROGRAM = OFTEN + "import sys; from structopt.command.main import main; sys.exit(main())"
SECOND_PASS = (
    OFTEN
    + """
import sys
import numpy as np
from structopt.command.main import main
from structopt.objective.problem import Problem

order, calls = Problem.order, []

def repeated(self, epoch):
    calls.append(epoch)
    return np.tile(order(self, epoch), 1 if len(calls) == 1 else 500_000)

Problem.order = repeated
sys.exit(main())
"""
)


def start(folder: Path, *command: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = [sys.executable, *command]
    return subprocess.Popen(words, cwd=folder, text=True, preexec_fn=hear_interrupts, **pipes)  # type: ignore[call-overload]


def interrupt(process: subprocess.Popen[str], sign: str) -> str:
    """Wait for a sign on stderr, send SIGINT in the midst of the work, and return the rest of
    stderr.
    """
    assert process.stderr is not None
    for line in process.stderr:
        if sign in line:
            break
    time.sleep(0.5)
    assert process.poll() is None
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    error = process.communicate()[1]
    assert time.monotonic() - sent < AT_ONCE
    assert process.returncode == 130, error
    assert "Traceback" not in error
    return error


@pytest.mark.nightly("storms")
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_in_the_first_pass(executor: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = (*MULTILABEL, f"executor={executor}", f"hydra.run.dir={folder}")
    process = start(tmp_path, "-c", PROGRAM, *words)
    assert f"structopt resume={folder}" in interrupt(process, "epoch 1 of")
    assert not structopt.load(folder).weights.any()
    assert json.loads((folder / "metrics.json").read_text())["train"]["epochs"] == 0


@pytest.mark.nightly("storms")
def test_in_the_second_pass(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = (
        "task=ner",
        "task.limit=60",
        "tracker=none",
        "optimizer=perceptron",
        f"hydra.run.dir={folder}",
    )
    process = start(tmp_path, "-c", SECOND_PASS, *words)
    interrupt(process, "epoch 2 of")
    rows = history.read(folder / "history.csv")
    metrics = json.loads((folder / "metrics.json").read_text())
    assert len(rows) == metrics["train"]["epochs"] == 1
    assert metrics["dev"]["f1"] == rows[0]["dev.f1"]
    assert structopt.load(folder).weights.any()


def test_an_interrupt_that_was_dropped_while_compiling() -> None:
    """Numba may drop the exception; it is raised again after the kernel, but not in the closing
    work of a run.
    """
    with heard_interrupts(), interruption.noted():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), compiling.under_way("a kernel"):
            pass
        with interruption.put_off(), compiling.under_way("a kernel"):
            pass


def test_time_limit() -> None:
    began = time.monotonic()
    with pytest.raises(TimeIsUp), at_most(0.2):
        time.sleep(30)
    assert time.monotonic() - began < 10
    with at_most(30.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] != pytest.approx(30.0, abs=5.0)


def test_while_the_curve_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is dropped at once; everything else of the run is there."""

    def interrupted(folder: Path, *_: str) -> None:
        (folder / "plots").mkdir()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setattr(closing, "draw", interrupted)
    words = ["task=ner", "task.limit=5", "tracker=none", "quiet=true", "optimizer.epochs=1"]
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with interruption.noted() as noted, pytest.raises(KeyboardInterrupt):
            structopt.train(words, folder=tmp_path / "run")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted.number == signal.SIGTERM
    assert (tmp_path / "run/metrics.json").is_file()
    assert not (tmp_path / "run/plots").exists()
    assert structopt.load(tmp_path / "run").predict([["Ann"]])
