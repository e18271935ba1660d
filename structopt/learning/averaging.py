"""The mean of the iterates, which several optimizers can return instead of the last one.

With iterates theta_t, weights w_t (1; or t, by which later iterates count more) and S = sum_t w_t,

    mean = (1/S) sum_t w_t theta_t.

A state has one of two arrays for it, which is empty where no mean is asked for:

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

import numpy as np

from structopt.core.memory import ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import State
from structopt.kernels.waist.record import Array


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


def mean_by_lag(state: State, weight: float) -> Array:
    """Return theta - lag / S; theta itself without averaging, or before the first visit.

    Parameters
    ----------
    state : State
        With ``theta`` and ``lag``.
    weight : float
        S: the number of visits, or `linear_weight` of it.
    """
    theta: Array = state["theta"]
    return theta - state["lag"] / weight if len(state["lag"]) and weight else theta


def mean_by_total(state: State, weight: float) -> Array:
    """Return total / S; theta itself without averaging, or before the first visit. Parameters as in
    `mean_by_lag`.
    """
    theta: Array = state["theta"]
    return state["total"] / weight if len(state["total"]) and weight else theta


def add_to_total(state: State, weight: float) -> None:
    """Add the present iterate to ``total``, unless that is empty, for passes that touch all weights
    at every step anyway.
    """
    if len(state["total"]):
        state["total"] += weight * state["theta"]


def linear_weight(count: float) -> float:
    """S = 1 + 2 + ... + count, for iterates with the weights w_t = t."""
    return count * (count + 1) / 2
