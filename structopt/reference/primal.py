"""The optimum of P on problems small enough to list every output."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any, NamedTuple

import cvxpy
import numpy as np

from structopt.core.weights.penalty import RIDGE, Penalty
from structopt.kernels.waist.record import Array

cp: Any = cvxpy  # its type hints are incomplete


class Listed(NamedTuple):
    """One instance, every output listed.

    Attributes
    ----------
    differences : float64, shape (outputs, dimension)
        F (chi(y') - z), one row an output.
    costs : float64, shape (outputs,)
        cost(y', y).
    """

    differences: Array
    costs: Array


class Optimum(NamedTuple):
    """Minimiser and minimum of P."""

    weights: Array
    value: float


def minimum(
    instances: Sequence[Listed], C: float, beta: float, gamma: float, penalty: Penalty = RIDGE
) -> Optimum:
    """Minimise P(theta) = R(theta) + (1/m) sum_i L_i(theta), with lambda = 1/(C m) before the terms
    of the penalty R.

    L is a log-sum-exp over the outputs, or a maximum where beta = inf; Martins et al. (2010),
    equations (2), (3) and (8). Solved as m C P(theta), a sum of terms of like size.
    """
    theta = cp.Variable(instances[0].differences.shape[1])
    losses = [_loss(theta, instance, beta, gamma) for instance in instances]
    terms = [penalty.l1 * cp.norm1(theta)] if penalty.l1 else []
    terms += [penalty.l2 * cp.sum_squares(theta) / 2] if penalty.l2 else []
    problem = cp.Problem(cp.Minimize(sum(terms) + C * sum(losses)))
    problem.solve(solver=cp.CLARABEL)
    return Optimum(np.asarray(theta.value), float(problem.value) / (C * len(instances)))


def _loss(theta: Any, instance: Listed, beta: float, gamma: float) -> Any:
    margins = instance.differences @ theta + gamma * instance.costs
    return cp.max(margins) if isinf(beta) else cp.log_sum_exp(beta * margins) / beta
