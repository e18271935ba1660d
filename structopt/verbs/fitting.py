"""Training: the epochs of an optimizer on a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from structopt.core import checks, convergence
from structopt.core.executor import Executor
from structopt.core.loss import Beginning
from structopt.core.objective import Certificate
from structopt.core.optimizer import Optimizer, informed
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError
from structopt.executor.threads import Threads
from structopt.kernels.waist.record import Array
from structopt.learning.training import Callback, Evaluation, Row, Training
from structopt.objective.options import optioned
from structopt.verbs.problem import Problem
from structopt.verbs.restricting import unrestricted

if TYPE_CHECKING:
    from structopt.model.array_model import ArrayModel

COLUMNS = ("epoch", "seconds", "loss", "primal", "dual", "gap")
"""Columns of `Fit.history`."""


@dataclass(frozen=True)
class Epoch:
    """The argument of callbacks, after an epoch.

    Attributes
    ----------
    problem : Problem
    weights : float64, shape (dimension,)
        As `fit` would return them now.
    row : mapping
        The last row of `Fit.history`.
    """

    problem: Problem
    weights: Array
    row: Mapping[str, float | int | None]


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of `fit`.

    Attributes
    ----------
    problem : Problem
    weights : float64, shape (dimension,)
    history : dict of str to list
        A row per epoch: ``epoch``; ``seconds`` of all epochs so far; ``loss``, the sum of the L_i
        met in the epoch, or at its weights if the optimizer reports none; ``primal``, P; ``dual``,
        a lower bound D on the minimum of P; ``gap``, P - D. None where a number is not known.
    certificate : Certificate
        P at the weights, and the largest D; NaN and None if they were not evaluated.
    stopped : str
        Why training ended.
    """

    problem: Problem
    weights: Array
    history: dict[str, list[Any]]
    certificate: Certificate
    stopped: str

    def model(self) -> ArrayModel:
        """Return the model, which predicts."""
        from structopt.model.array_model import ArrayModel

        problem, given = self.problem, self.problem.array_features
        options = problem.batch.options.items()
        sizes = {name: one.size for name, one in given.tables.items()}
        return ArrayModel(
            problem.batch.graph,
            {name: value for name, value in options if not isinstance(value, list)},
            problem.inference,
            self.weights,
            sizes if given.map is None else None,
            cast(SparseFeatures, unrestricted(problem.scorer)),
        )


def fit(
    problem: Problem,
    optimizer: Optimizer,
    epochs: int = 100,
    tolerance: float = 0.0,
    seed: int = 0,
    start: Any = None,
    callbacks: Sequence[Callback | Callable[[Epoch], Any]] = (),
    guard: bool = True,
    convex_epochs: int | None = None,
    shards: int = 0,
    objective_every: int = 1,
) -> Fit:
    """Minimise P.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
        It is not changed.
    epochs : int
        At most so many.
    tolerance : float
        Stop if P - D <= tolerance |P|; 0: make all epochs, unless the optimizer has finished.
    seed : int
        Seed of the order of the instances and of random numbers.
    start : array-like, shape (dimension,), or None
        Weights to start from; None: zeros.
    callbacks : sequence of callables, or of `Callback`
        Called with an `Epoch` after each epoch; a string that one returns stops training.
    guard : bool
        Undo epochs that raise P by more than 20 %, and make them again with shorter steps, if
        the optimizer has steps of a length that is set.
    convex_epochs : int or None
        Minimise the convex bound of a loss such as `LossDifference` for so many epochs first, in
        addition to `epochs`; None: as many as the loss says.
    shards : int
        Divide each epoch among so many parts of the batch, in threads: states of online methods are
        mixed after it, dual steps of SDCA are added up. 0: do not.
    objective_every : int
        Epochs between two evaluations of P, which take longer than epochs with an inference such as
        MPLP, because P is evaluated by linear programs. 0: never, unless there is a tolerance;
        then `guard` has no effect.

    Raises
    ------
    ArgumentError
        If the optimizer does not work with the problem.
    NumericalError
        If a number overflows.

    Warns
    -----
    ConvergenceWarning
        If the optimizer has a criterion to stop by and did not meet it.
    """
    if not isinstance(problem, Problem):
        raise ArgumentError("must be a Problem.", parameter="problem")
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError(
            "must be an optimizer, such as SDCA().", parameter="optimizer", value=optimizer
        )
    count = int(checks.integers("epochs", epochs, 1, shape=()))
    least = float(checks.floats("tolerance", tolerance, (), least=0.0))
    own = informed(optimizer, C=problem.C, epochs=count, tolerance=least)
    executor = _executor(problem, own, int(checks.integers("shards", shards, 0, shape=())))
    number = int(checks.integers("seed", seed, 0, shape=()))
    objective = problem.under(own, number, executor, least)
    beginning = problem.loss.begins_with(start is not None)
    if convex_epochs is not None:
        first = int(checks.integers("convex_epochs", convex_epochs, 0, shape=()))
        beginning = beginning and (Beginning(beginning.loss, first) if first else None)
    every = int(checks.integers("objective_every", objective_every, 0, shape=()))
    evaluates = every > 0 or least > 0
    bounds = least > 0 or (own.plan.certificate and evaluates)
    guarded = guard and evaluates
    chosen = optioned(own, objective, min(shards, objective.m), guarded, beginning, bounds)
    dimension = problem.dimension
    weights = np.zeros(dimension) if start is None else checks.floats("start", start, (dimension,))
    columns = _Columns()
    followers = [_follower(one, i) for i, one in enumerate(callbacks)]
    training = Training(
        objective,
        chosen,
        count + (beginning.passes if beginning else 0),
        least,
        [columns, *followers],
        Evaluation(every, certificate=bounds, last=evaluates),
    )
    training.start(weights)
    trained = np.array(training.run())
    if reason := training.unfinished:
        convergence.warn(
            f"Training did not converge: {reason}. Set more epochs, or scale numeric features to "
            "about 1."
        )
    last = training.problem.certificate(trained) if evaluates else Certificate(nan, None)
    earlier = [] if problem.loss.follows_epoch else columns.history["dual"]
    duals = [one for one in (*earlier, last.dual) if one is not None]
    certificate = Certificate(last.primal, max(duals, default=None))
    stopped = training.progress.stopped or "the last epoch"
    return Fit(problem, trained, columns.history, certificate, stopped)


def _executor(problem: Problem, optimizer: Optimizer, shards: int) -> Executor | None:
    """Return the threads of a fit whose epochs are divided.

    Raises
    ------
    ArgumentError
        If the epochs cannot be divided.
    """
    if not shards:
        return None
    if not (optimizer.plan.mixable or optimizer.plan.additive):
        raise ArgumentError(
            f"divides epochs, but {type(optimizer).__name__} needs the whole batch.",
            parameter="shards",
            value=shards,
            remedy="Leave it 0, or take an online method, such as DCA(), or SDCA().",
        )
    if problem.array_features.map is not None or problem.forbidden is not None:
        raise ArgumentError(
            "divides the batch, and SparseMap and `restricted` belong to the parts of all of it.",
            parameter="shards",
            value=shards,
            remedy="Leave it 0, or give x instead of features, without `restricted`.",
        )
    return Threads(mixing=shards)


def _follower(callback: Any, index: int) -> Callback:
    """Return what follows training, given a callback or a function."""
    if isinstance(callback, Callback):
        return callback
    if isinstance(callback, type) or not callable(callback):
        raise ArgumentError(
            "must be a function of an Epoch, or an instance of a subclass of Callback.",
            parameter=f"callbacks[{index}]",
            value=callback,
        )
    return _Called(callback)


class _Columns(Callback):
    """Collects the rows of the history."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def evaluated(self, training: Training, row: Row) -> None:
        for name in COLUMNS:
            self.history[name].append(row[name])


class _Called(Callback):
    """Calls a function after each epoch, and stops for the reason that it returns."""

    def __init__(self, function: Callable[[Epoch], Any]) -> None:
        self.function = function

    def evaluated(self, training: Training, row: Row) -> None:
        reason = self.function(Epoch(training.problem, np.array(training.weights()), row))
        if reason:
            training.stop(str(reason))
