"""SIGTERM in each phase of a command: the process ends within two seconds of its own time."""

from __future__ import annotations

import os
import shutil
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
from structopt.kernels.waist import compiling
from structopt.progress import phases

wanted, entered, under_way = sys.argv[1], phases.phase, compiling.under_way
timer = threading.Timer(0.1, lambda: terminate())
BRIEF = ("recording", "comparing", "loading", "loading kernels", "drawing", "checking", "pruning")

def terminate():
    before = time.process_time()
    atexit.register(lambda: print("seconds", time.process_time() - before, file=sys.stderr))
    os.kill(os.getpid(), signal.SIGTERM)

@contextlib.contextmanager
def phase(name, what="", *arguments, **options):
    with entered(name, what, *arguments, **options):
        if wanted in f"{name} {what}" and timer.ident is None:
            timer.start()
            if name in BRIEF:
                time.sleep(0.2)  # which may end before the signal
        yield

def compiled(kernel):
    if wanted == "compiling" and timer.ident is None:
        timer.start()
    return under_way(kernel)

phases.phase, compiling.under_way = phase, compiled
sys.exit(main.main(sys.argv[2:]))
"""
TRAIN = ("task=ner", "tracker=none", "task.train=large.conll", "task.dev=large.conll", "check=true")
LONG = ("optimizer.epochs=2", "time_decoding=true", "hydra.run.dir=run", "objective_every=1")
IN_FILES = ("storage=disk", "order=blocks")
QUICK = ("task=ner", "tracker=none", "task.limit=60", "optimizer.epochs=1", "check=true")
TREES = ("task=constituency", "tracker=none", "optimizer.epochs=1", "hydra.run.dir=run")
PREDICT = ("predict", "model=MODEL", "input=large.conll", "output=out", "k_best=4")
LONG_SENTENCE = (
    "".join(f"{i}\tw{i % 7}\t_\tNOUN\t_\t_\t{i - 1}\tnsubj\t_\t_\n" for i in range(1, 901)) + "\n"
)
"""A sentence of 900 words, each of which depends on the word before it."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "reading": (*TRAIN, *LONG),
    "featurising": (*TRAIN, *LONG),
    "training": (*TRAIN, *LONG),
    "checking the inference": (*TRAIN, *LONG),
    "evaluating the dev split": (*TRAIN, *LONG),
    "evaluating the training split": (*TRAIN, *LONG, "optimizer.epochs=0"),
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
    "loading kernels": QUICK,
    "compiling": QUICK,
    "checking steps": QUICK,
    "drawing": QUICK,
    "reading (in files)": (*TRAIN, *LONG, *IN_FILES),
    "featurising (in files)": (*TRAIN, *LONG, *IN_FILES),
    "training (in files)": (*TRAIN, *LONG, *IN_FILES),
    "training the pruner": TREES,
    "pruning train": TREES,
    "featurising long.conllu": ("predict", "model=TREES", "input=long.conllu", "output=out"),
    "predicting (trees)": ("predict", "model=TREES", "input=long.conllu", "output=out"),
    "predicting a stream": ("predict", "model=MODEL", "input=-"),
    "predicting a stream (idle)": ("predict", "model=MODEL", "input=-"),
    "explaining (weights)": ("explain", "model=MODEL"),
    "comparing runs": ("compare", "MODEL", "MODEL2"),
    "recording (tables)": ("compare", "MODEL", "MODEL2", "log=true", "uri=sqlite:///runs.db"),
}
"""Commands by phase; what is in brackets tells cases of one phase apart."""


@pytest.mark.parametrize("phase", gate_cases(COMMANDS, "storms", gate=[]))
def test_sigterm(phase: str, tmp_path: Path, trained: Callable[[str], Path]) -> None:
    words, models = " ".join(COMMANDS[phase]), {"MODEL": trained("ner")}
    if "MODEL2" in words:
        models["MODEL2"] = tmp_path / "second"
        shutil.copytree(models["MODEL"], models["MODEL2"])
    if "model=TREES" in words:
        models["TREES"] = trained("dependency")
    text = datasets.path("train").read_text(encoding="utf8")
    (tmp_path / "large.conll").write_text(f"{text.strip()}\n\n" * 20, encoding="utf8")
    (tmp_path / "long.conllu").write_text(LONG_SENTENCE * 4, encoding="utf8")
    name = _filled(phase.partition(" (")[0], models)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name, *_filled(words, models).split()],
        cwd=tmp_path,
        env=os.environ | ({"NUMBA_CACHE_DIR": str(tmp_path)} if phase == "compiling" else {}),
        stdin=subprocess.PIPE if "idle" in phase else (tmp_path / "large.conll").open(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    with process:
        error = process.stderr.read()
    assert process.returncode == 128 + signal.SIGTERM, error
    assert "Traceback" not in error and "interrupted by SIGTERM" in error
    assert float(error.rpartition("seconds ")[2]) < ANSWER


def _filled(text: str, models: dict[str, Path]) -> str:
    """Replace the names of models by their folders."""
    for name in sorted(models, reverse=True):  # MODEL2 before MODEL
        text = text.replace(name, str(models[name]))
    return text
