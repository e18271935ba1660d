"""The problem that a visit of dual coordinate ascent solves, on instances small enough to list
every output.
"""

from __future__ import annotations

from math import isinf
from typing import Any

import cvxpy
import numpy as np

from structopt.kernels.waist.record import Array
from structopt.reference.mira_program import k_best_step
from structopt.reference.primal import Listed

cp: Any = cvxpy  # its type hints are incomplete


def proximal_step(theta: Array, instance: Listed, C: float, beta: float, gamma: float) -> Array:
    """Minimise 1/2 ||theta' - theta||^2 + C L_{beta,gamma}(theta') over theta'.

    Problem (11) of Martins et al. (2010), times C = 1/(lambda m). The step lies in the span of the
    differences, and is solved in an orthonormal basis of it.
    """
    if isinf(beta):
        return k_best_step(theta, instance.differences, gamma * instance.costs, C)
    basis, coordinates = np.linalg.qr(instance.differences.T)
    move = cp.Variable(basis.shape[1])
    margins = coordinates.T @ move + (instance.differences @ theta + gamma * instance.costs)
    # the scale keeps the solver's numbers near 1
    loss, scale = cp.log_sum_exp(beta * margins) / beta, max(1.0, C)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(move) / (2 * scale) + C / scale * loss))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return np.asarray(theta + basis @ move.value)
