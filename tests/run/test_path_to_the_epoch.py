"""The files of this package between a command, or a call, and the compiled epoch."""

import sys
from pathlib import Path

import numpy as np
import pytest

import structopt as so
from structopt.command.main import main
from structopt.kernels.waist import interruptible

ROOT = Path(so.__file__).parent
MOST_FILES = 7


@pytest.fixture
def files(monkeypatch):
    """Files on the stack, outermost first, at the first call of a compiled driver."""
    found = []
    call = interruptible.call

    def noted(function, *arguments, **options):
        frame, seen = sys._getframe(1), []
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if ROOT in path.parents:
                seen.append(path.relative_to(ROOT).as_posix())
            frame = frame.f_back
        found.append(list(dict.fromkeys(reversed(seen))))
        return call(function, *arguments, **options)

    monkeypatch.setattr(interruptible, "call", noted)
    return found


def test_command(files, tmp_path):
    words = ["task=ner", "optimizer=dca", "optimizer.epochs=1", "tracker=none", "task.limit=10"]
    assert main([*words, f"hydra.run.dir={tmp_path}"]) == 0
    epoch = next(path for path in files if "optimizer/dca.py" in path)
    assert epoch[0] == "command/main.py"
    assert len(epoch) <= MOST_FILES, epoch


def test_python(files):
    chain = so.LinearChain().batch(lengths=[5, 7], labels=3)
    x = {"label": np.random.default_rng(0).normal(size=(12, 4))}
    problem = so.Problem(chain, x=x, gold=chain.gold(np.arange(12) % 3), loss=so.SVM())
    so.fit(problem, so.DCA(), epochs=1)
    epoch = next(path for path in files if "optimizer/dca.py" in path)
    assert epoch[0] == "verbs/fitting.py"
    assert len(epoch) <= MOST_FILES, epoch
