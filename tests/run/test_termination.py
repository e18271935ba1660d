"""SIGTERM in each phase of a command: the process ends within two seconds of its own time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from structopt import datasets
from tests.interrupts import hear_interrupts
from tests.parts import gate_cases

ANSWER = 2.0
"""Seconds of processor time from the signal to the end of the process."""
PROGRAM = """
import atexit, contextlib, os, signal, sys, threading, time
from structopt.command import main
from structopt.progress import phases

wanted, entered = sys.argv[1], phases.phase

def terminate():
    before = time.process_time()
    atexit.register(lambda: print("seconds", time.process_time() - before, file=sys.stderr))
    os.kill(os.getpid(), signal.SIGTERM)

@contextlib.contextmanager
def phase(name, what="", *arguments, **options):
    with entered(name, what, *arguments, **options):
        if wanted in f"{name} {what}":
            threading.Timer(0.1, terminate).start()
            if name in ("recording", "comparing", "loading", "drawing"):
                time.sleep(0.2)  # which may end before the signal
        yield

phases.phase = phase
sys.exit(main.main(sys.argv[2:]))
"""
TRAIN = ("task=ner", "tracker=none", "task.train=large.conll", "task.dev=large.conll", "check=true")
LONG = ("optimizer.epochs=2", "time_decoding=true", "hydra.run.dir=run", "objective_every=1")
PREDICT = ("predict", "model=MODEL", "input=large.conll", "output=out", "k_best=4")
COMMANDS: dict[str, tuple[str, ...]] = {
    "reading": (*TRAIN, *LONG),
    "featurising": (*TRAIN, *LONG),
    "training": (*TRAIN, *LONG),
    "checking the inference": (*TRAIN, *LONG),
    "evaluating the dev split": (*TRAIN, *LONG),
    "evaluating the training split": (*TRAIN, *LONG),
    "timing": (*TRAIN, *LONG),
    "recording": (*TRAIN, *LONG),
    "sweep": ("--multirun", "seed=0,1", *TRAIN, "hydra.sweep.dir=run", "optimizer.epochs=1"),
    "loading MODEL": PREDICT,
    "predicting": PREDICT,
    "computing probabilities": (*PREDICT, "probabilities=true"),
    "listing the 4 best": PREDICT,
    "writing": PREDICT,
    "evaluating large.conll": ("evaluate", "model=MODEL", "input=large.conll"),
    "explaining": ("explain", "model=MODEL", "input=large.conll", "sentence=1"),
}


@pytest.mark.parametrize("phase", gate_cases(COMMANDS, "storms", gate=[]))
def test_sigterm(phase: str, tmp_path: Path, trained: Callable[[str], Path]) -> None:
    model = trained("ner")
    text = datasets.path("train").read_text(encoding="utf8")
    (tmp_path / "large.conll").write_text(f"{text.strip()}\n\n" * 20, encoding="utf8")
    words = [word.replace("MODEL", str(model)) for word in COMMANDS[phase]]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, phase.replace("MODEL", str(model)), *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    error = process.communicate(timeout=600)[1]
    assert process.returncode == 128 + signal.SIGTERM, error
    assert "Traceback" not in error and "interrupted by SIGTERM" in error
    assert float(error.rpartition("seconds ")[2]) < ANSWER
