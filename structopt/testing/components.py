"""Components by their names, whether they fit together, and commands, for tests that do not know
where the core keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from structopt.command import main
from structopt.config import compatibility, registry
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.needs import MINIMUM, Goal
from structopt.core.optimizer import Optimizer


def component(kind: str, name: str, **options: Any) -> Any:
    """Make an installed component of a kind: ``component("factor_graph", "linear_chain",
    order=2)``.
    """
    return registry.create(kind, {"name": name, **options})


def check(
    factor_graph: FactorGraph,
    inference: Inference,
    loss: Loss,
    optimizer: Optimizer,
    goal: Goal = MINIMUM,
) -> None:
    """Raise as a run does before it reads data, where components cannot work together.

    Raises
    ------
    CompatibilityError
        Naming who needs what, and what to type.
    """
    compatibility.check(factor_graph, inference, loss, optimizer, goal=goal)


def command(words: Sequence[str]) -> int:
    """Run ``structopt WORDS`` in this process, and return its exit code."""
    return main.main(list(words))


class Done(NamedTuple):
    """What a command returned, and what it printed."""

    code: int
    out: str
    err: str


def run_words(folder: Path, *words: str) -> Done:
    """Type a command in a folder."""
    out, err = StringIO(), StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = command(words)
    return Done(code, out.getvalue(), err.getvalue())
