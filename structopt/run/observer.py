"""The contract of observers of a training run: the events, and the numbers that come with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, get_type_hints

from structopt.config.schema import coerce
from structopt.core.optimizer import Optimizer, State
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.objective.problem import Problem

Row = dict[str, float | int | None]
"""Numbers of one pass by the names of the history's columns; None where a method has no such
number.
"""


@dataclass
class Progress:
    """What is known after some passes; with the optimizer's state, all that a resumed run needs.

    Attributes
    ----------
    epoch : int
        Passes done.
    seconds : float
        Optimizer time so far.
    passes : list of float
        Seconds of each pass.
    evaluations : list of float
        Seconds of each evaluation of loss and gradient over all instances.
    negative_losses : int
        Losses below zero met so far.
    repeated : int
        How often passes were repeated with shorter steps, since they had raised P.
    dual : float or None
        Lower bound on the least P, as of the last pass.
    gap : float or None
        Certified gap relative to the objective, as of the last pass.
    impossible_duals : int
        Passes whose dual came out above the objective: numerical failures, which certify nothing.
    best, best_epoch : float, int
        Highest dev score and its pass.
    latest : float or None
        The dev score of the last pass.
    stopped : str
        Why training ended before its last pass, or the empty string.
    failed : bool
        Whether it ended because a step failed, far from the minimum of the objective as far as is
        known.
    steps : int
        Steps done of a pass that consists of several (`Problem.steps`) and is not finished; else 0.
    step_seconds, step_loss : float
        Time of these steps, and the sum of their losses.
    """

    epoch: int = 0
    seconds: float = 0.0
    passes: list[float] = field(default_factory=list)
    evaluations: list[float] = field(default_factory=list)
    negative_losses: int = 0
    repeated: int = 0
    dual: float | None = None
    gap: float | None = None
    impossible_duals: int = 0
    best: float = -inf
    best_epoch: int = 0
    latest: float | None = None
    stopped: str = ""
    failed: bool = False
    steps: int = 0
    step_seconds: float = 0.0
    step_loss: float = 0.0


def restored_progress(saved: Mapping[str, Any]) -> Progress:
    """The progress that a checkpoint saved, every number in its type.

    Raises
    ------
    ConfigError, KeyError
        If an entry is of another type, or there is none of this name.
    """
    hints = get_type_hints(Progress)
    progress = Progress(**{key: coerce(key, value, hints[key]) for key, value in saved.items()})
    if not 0 <= progress.best_epoch <= progress.epoch:
        raise ConfigError(f"the best pass {progress.best_epoch} is none of {progress.epoch}")
    return progress


class Training(Protocol):
    """What an observer may look at: the loop over passes."""

    problem: Problem
    optimizer: Optimizer
    progress: Progress
    state: State

    def weights(self) -> Array:
        """Weights to return."""


class Observer:
    """Follows a training run. Every method does nothing unless it is overridden.

    The order of events: `begin`; for every epoch `stepped`, then objective and scores are
    evaluated, then `measured`, then the checkpoint is written, then `passed`; `close`, however the
    epochs ended; and, if no interrupt ended them, `end`, after the model was saved.
    """

    def begin(self, training: Training) -> None:
        """Before the first pass of this process; `training.progress` tells whether there were
        earlier ones.
        """

    def stepped(self, training: Training) -> None:
        """Follow the steps of an epoch, before they are evaluated."""

    def measured(self, training: Training, row: Row) -> None:
        """After a pass, before its checkpoint: what is written here is what a resumed run finds."""

    def passed(self, training: Training, row: Row) -> None:
        """After the checkpoint of a pass, which an exception raised here does not lose."""

    def close(self) -> None:
        """After the last pass, or when an exception ends the passes."""

    def end(self, training: Training, weights: Array) -> None:
        """After the trained model was saved and evaluated."""
