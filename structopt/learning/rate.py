"""The choice of a learning rate by trials: one pass from the same start with each candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer
from structopt.core.optimizer_state import State, lasting
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import VisitState

CANDIDATES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
# factor by which steps are shortened before a pass is made again (`structopt.learning.guarded`)
SHORTER = 0.25


@dataclass(kw_only=True)
class RateState(VisitState):
    """A learning rate, next to the weights.

    Attributes
    ----------
    eta : float
    """

    eta: float = lasting()


def rate_by_trials(
    optimizer: Optimizer,
    problem: Objective,
    rates: Sequence[float],
    start: Callable[[float], State],
) -> float:
    """Return the rate after whose first pass the weights are judged best: by the dev score, or else
    by P (`Objective.judge`).

    Parameters
    ----------
    optimizer : Optimizer
    problem : Objective
    rates : sequence of float
        In increasing order, at least one.
    start : callable
        Rate to the state before the first pass.
    """
    return best_rate(
        rates,
        lambda rate: optimizer.weights(optimizer.step(problem, start(rate))[0]),
        problem.judge,
    )


def best_rate(
    rates: Sequence[float], trial: Callable[[float], Array], judge: Callable[[Array], float]
) -> float:
    """Return the rate whose trial weights are judged best, the smallest of equals.

    Parameters
    ----------
    rates : sequence of float
        In increasing order, at least one.
    trial : callable
        Rate to weights. Weights that are not finite lose to any others.
    judge : callable
        Weights to a score, higher is better.
    """

    def score(rate: float) -> float:
        weights = trial(rate)
        value = judge(weights) if np.isfinite(weights).all() else -inf
        return value if isfinite(value) else -inf

    return max(rates, key=score)  # the first of equals
