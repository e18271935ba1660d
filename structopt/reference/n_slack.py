"""The quadratic program with one slack variable an instance, every output a constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy
import numpy as np

from structopt.reference.primal import Listed, Optimum

cp: Any = cvxpy  # its type hints are incomplete


def minimum(instances: Sequence[Listed], C: float, gamma: float) -> Optimum:
    """Minimise 1/2 ||theta||^2 + C sum_i xi_i subject to xi_i >= F_i (chi(y') - z_i) theta + gamma
    cost(y') for every y'.

    Tsochantaridis et al. (2005), margin rescaling; the gold output makes xi_i >= 0. The value is
    that of P, a share 1/(C m) of this.
    """
    theta, slacks = cp.Variable(instances[0].differences.shape[1]), cp.Variable(len(instances))
    constraints = [
        slack >= one.differences @ theta + gamma * one.costs
        for slack, one in zip(slacks, instances, strict=True)
    ]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(theta) / 2 + C * cp.sum(slacks)), constraints)
    problem.solve(solver=cp.CLARABEL)
    return Optimum(np.asarray(theta.value), float(problem.value) / (C * len(instances)))
