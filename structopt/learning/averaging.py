"""The mean of the iterates, which several optimizers can return instead of the last one.

With iterates theta_t, weights w_t (1; or t, by which later iterates count more) and S = sum_t w_t,

    mean = (1/S) sum_t w_t theta_t.

A state (`LagState` or `TotalState`) has one of two arrays for it, which is empty without a mean:

- ``lag``, for passes whose steps change only the weights that one gradient reaches, since then
  ``lag`` changes only there, too. A step d of theta adds S' d to it, S' being the sum of the
  weights of the iterates before the step, so that

      mean = theta - lag / S.

- ``total``, for passes whose steps shrink all weights, by which all of ``lag`` would change at
  every step:

      total = sum_t w_t theta_t,    mean = total / S.

  Passes over sparse features do not touch all weights at every step even so: they keep a scale, or
  have closed forms.

`structopt.kernels.learn.averaging` has the compiled updates of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core.memory import ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer_state import OptimizerState, lasting, over_weights
from structopt.kernels.waist.record import Array


@dataclass(kw_only=True)
class LagState(OptimizerState):
    """Weights, and their mean by ``lag``.

    Attributes
    ----------
    theta : float64, shape (dimension,)
    lag : float64, shape (dimension,) or (0,)
    visits : float
        Instances visited so far.
    epoch : int
    """

    theta: Array = over_weights()
    lag: Array = over_weights()
    visits: float = lasting(0.0)
    epoch: int = lasting(0)


@dataclass(kw_only=True)
class TotalState(OptimizerState):
    """Weights, and their mean by ``total``.

    Attributes
    ----------
    theta : float64, shape (dimension,)
    total : float64, shape (dimension,) or (0,)
    epoch : int
    """

    theta: Array = over_weights()
    total: Array = over_weights()
    epoch: int = lasting(0)


@dataclass(kw_only=True)
class VisitState(TotalState):
    """A `TotalState` that counts visits.

    Attributes
    ----------
    visits : float
        Instances visited so far.
    """

    visits: float = lasting(0.0)


def empty_mean(problem: Objective, average: bool) -> Array:
    """Return ``lag`` or ``total`` before the first pass: zeros, one a weight, or an empty vector
    without averaging.
    """
    return np.zeros(problem.dimension if average else 0)


def weights_and_mean(sizes: ProblemSizes, average: bool) -> dict[str, int]:
    """Bytes of ``theta``, and of ``lag`` or ``total``, as of `structopt.core.memory.Footprint`."""
    return {"weights": sizes.weight_vector} | (
        {"their mean": sizes.weight_vector} if average else {}
    )


def mean_by_lag(state: LagState, weight: float) -> Array:
    """Return theta - lag / S; theta itself without averaging, or before the first visit.

    Parameters
    ----------
    state : LagState
    weight : float
        S: the number of visits, or `linear_weight` of it.
    """
    theta = state.theta
    return theta - state.lag / weight if len(state.lag) and weight else theta


def mean_by_total(state: TotalState, weight: float) -> Array:
    """Return total / S; theta itself without averaging, or before the first visit. Parameters as in
    `mean_by_lag`.
    """
    theta = state.theta
    return state.total / weight if len(state.total) and weight else theta


def add_to_total(state: TotalState, weight: float) -> None:
    """Add the present iterate to ``total``, unless that is empty, for passes that touch all weights
    at every step anyway.
    """
    if len(state.total):
        state.total += weight * state.theta


def linear_weight(count: float) -> float:
    """S = 1 + 2 + ... + count, for iterates with the weights w_t = t."""
    return count * (count + 1) / 2
