"""Training: the epochs of an optimizer on a problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from structopt.core import checks, convergence
from structopt.core.objective import Certificate, certified_gap
from structopt.core.optimizer import Optimizer, Report, State, taken
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError, NumericalError
from structopt.kernels.waist.record import Array
from structopt.learning import optimizer_results
from structopt.verbs.problem import Problem

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
        met in the epoch; ``primal``, P; ``dual``, a lower bound D on the minimum of P; ``gap``,
        P - D. None where a number is not known.
    certificate : Certificate
        P at the weights, and the largest D.
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
            cast(SparseFeatures, problem.scorer),
        )


Callback = Callable[[Epoch], Any]
"""Called after each epoch; returns None, or the reason to stop."""


def fit(
    problem: Problem,
    optimizer: Optimizer,
    epochs: int = 100,
    tolerance: float = 0.0,
    seed: int = 0,
    start: Any = None,
    callbacks: Sequence[Callback] = (),
) -> Fit:
    """Minimise P.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
        Steps on a copy, with C and the penalty of the problem instead of its own.
    epochs : int
        At most so many.
    tolerance : float
        Stop if P - D <= tolerance |P|; 0: make all epochs, unless the optimizer has finished.
    seed : int
        Seed of the order of the instances and of random numbers.
    start : array-like, shape (dimension,), or None
        Weights to start from; None: zeros.
    callbacks : sequence of callables
        Called with an `Epoch` after each epoch; a string that one returns stops training.

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
    own = optimizer.bound(problem.C, problem.penalty, count, least)
    objective = problem.under(own, int(checks.integers("seed", seed, 0, shape=())))
    dimension = problem.dimension
    weights = np.zeros(dimension) if start is None else checks.floats("start", start, (dimension,))
    state = own.init(objective, weights)
    optimizer_results.check_start(own, state, dimension)
    loop = _Loop(objective, own, least, callbacks, {name: [] for name in COLUMNS})
    stopped, failed = loop.run(state, count)
    if failed or (not stopped and (least > 0 or own.plan.finishes)):
        reason = stopped or f"{count} epochs did not suffice"
        convergence.warn(
            f"Training did not converge: {reason}. Set more epochs, or scale numeric features to "
            "about 1."
        )
    bounds = [dual for dual in loop.history["dual"] if dual is not None]
    last = objective.certificate(loop.weights)
    bounds += [] if last.dual is None else [last.dual]
    certificate = Certificate(last.primal, max(bounds, default=None))
    return Fit(problem, loop.weights, loop.history, certificate, stopped or "the last epoch")


@dataclass
class _Loop:
    """Epochs, with their history."""

    problem: Problem
    optimizer: Optimizer
    tolerance: float
    callbacks: Sequence[Callback]
    history: dict[str, list[Any]]
    seconds: float = 0.0

    def run(self, state: State, epochs: int) -> tuple[str, bool]:
        """Make epochs; return why training stopped, or an empty string, and whether it failed."""
        for epoch in range(1, epochs + 1):
            state, report = self._step(state, epoch)
            self.weights = np.array(self.optimizer.weights(state))
            row = self._row(epoch, state, report)
            for name in COLUMNS:
                self.history[name].append(row[name])
            gap, primal = row["gap"], row["primal"]
            if self.tolerance > 0 and gap is not None and gap <= self.tolerance * abs(primal):
                return f"the gap is at most {self.tolerance:g} of the objective", False
            if report is not None and report.finished:
                return report.finished, report.failed
            reasons = [call(Epoch(self.problem, self.weights, row)) for call in self.callbacks]
            for reason in reasons:
                if reason:
                    return str(reason), False
        return "", False

    def _step(self, state: State, epoch: int) -> tuple[State, Report | None]:
        began = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.optimizer.step(self.problem, state)
        self.seconds += time.perf_counter() - began
        if epoch == 1:
            optimizer_results.check_step(self.optimizer, result, self.problem.dimension)
        return taken(result)

    def _row(self, epoch: int, state: State, report: Report | None) -> dict[str, Any]:
        problem, loss = self.problem, None if report is None else report.loss
        primal, dual = (None, None) if report is None else (report.primal, report.dual)
        if dual is None and (self.tolerance > 0 or self.optimizer.plan.certificate):
            primal, dual = problem.certificate(self.weights)
        elif primal is None:
            primal = self.optimizer.objective(problem, state)
        finite = all(isfinite(one) for one in (loss, primal, dual) if one is not None)
        if not finite or not np.isfinite(self.weights).all():
            raise NumericalError(
                f"Numbers of epoch {epoch} are not finite.",
                remedy="Set a smaller C, which regularises more, or scale the features down.",
            )
        gap = None if dual is None else certified_gap(primal, dual)
        values = (epoch, self.seconds, loss, primal, dual, gap)
        return dict(zip(COLUMNS, values, strict=True))
