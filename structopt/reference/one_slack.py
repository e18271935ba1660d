"""The quadratic program with one slack variable, over some planes of the mean loss."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np

from structopt.kernels.waist.record import Array

cp: Any = cvxpy  # its type hints are incomplete


def master_value(planes: Array, offsets: Array, regularization: float) -> float:
    """Return the minimum of  lambda/2 ||theta||^2 + max(0, max_j planes_j theta + offsets_j)  over
    theta, by its dual.

        max_mu  offsets^T mu - 1/(2 lambda) ||planes^T mu||^2    subject to   mu >= 0,  sum_j mu_j
        <= 1

    Joachims et al. (2009), Optimization Problem 6, with mu = lambda alpha. The norm is computed
    from a triangular factor of the planes, a square matrix with one row a plane.
    """
    factor = np.linalg.qr(planes.T, mode="r") / np.sqrt(regularization)
    mu = cp.Variable(len(offsets), nonneg=True)
    problem = cp.Problem(
        cp.Maximize(offsets @ mu - cp.sum_squares(factor @ mu) / 2), [cp.sum(mu) <= 1]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return float(problem.value)
