"""The problem that one step of dual coordinate ascent solves."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np

from structopt.kernels.waist.record import Array

cp: Any = cvxpy  # its type hints are incomplete


def linearised_step(theta: Array, loss: float, gradient: Array, C: float) -> Array:
    """Minimise 1/(2C) ||theta' - theta||^2 + max(0, L + (theta' - theta)^T grad L) over theta'.

    Problem (13) of Martins et al. (2010), where C = 1/(lambda m): the loss is replaced by its
    tangent at theta, and by 0 where the tangent is negative.
    """
    move, slack = cp.Variable(len(theta)), cp.Variable()
    objective = cp.sum_squares(move) / 2 + C * slack
    problem = cp.Problem(cp.Minimize(objective), [loss + gradient @ move <= slack, slack >= 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return np.asarray(theta + move.value)
