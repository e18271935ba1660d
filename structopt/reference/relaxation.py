"""Linear and quadratic problems over local polytopes, solved by cvxpy: what `lp` and `ad3` must find."""

from __future__ import annotations

from math import inf
from typing import Any

import cvxpy
import numpy as np

from structopt.inference.polytopes import Polytope
from structopt.kernels.record import Array

cp: Any = cvxpy  # its type hints are incomplete


def relaxed_maximum(polytope: Polytope, s: Array) -> tuple[float, Array]:
    """max s^T z over a polytope, whose first columns are z, and a maximiser; -inf and zeros where it is empty.

    Parameters
    ----------
    polytope : Polytope
    s : float64, shape (parts,)
        -inf fixes a part to 0.
    """
    x = cp.Variable(polytope.matrix.shape[1], nonneg=True)
    forbidden = np.flatnonzero(s == -inf)
    constraints = [x <= 1, polytope.matrix @ x <= np.where(np.isfinite(polytope.upper), polytope.upper, 1e3)]
    constraints += [polytope.matrix @ x >= np.where(np.isfinite(polytope.lower), polytope.lower, -1e3)]
    if len(forbidden):
        constraints.append(x[forbidden] == 0)
    problem = cp.Problem(cp.Maximize(np.where(s == -inf, 0.0, s) @ x[: len(s)]), constraints)
    problem.solve(solver=cp.CLARABEL)
    if problem.status == cp.INFEASIBLE:
        return -inf, np.zeros(len(s))
    return float(problem.value), np.asarray(x.value)[: len(s)]


def quadratic_step(vertices: Array, heights: Array, a: Array) -> Array:
    """Maximise a^T q + heights^T mu - ||q||^2 / 2 over the distributions mu on the vertices, q = vertices^T mu; returns q.

    Parameters
    ----------
    vertices : float64, shape (configurations, k)
    heights : float64, shape (configurations,)
    a : float64, shape (k,)
    """
    mu = cp.Variable(len(vertices), nonneg=True)
    q = vertices.T @ mu
    objective = cp.Maximize(heights @ mu - cp.sum_squares(q - a) / 2)
    cp.Problem(objective, [cp.sum(mu) == 1]).solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return np.asarray(q.value)
