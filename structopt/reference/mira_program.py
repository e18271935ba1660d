"""The quadratic program of k-best MIRA by cvxpy: several planes with a common slack variable.

`structopt.kernels.learn.mira_program` solves the same by pair steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cvxpy
import numpy as np

from structopt.core.objective import Objective
from structopt.kernels.waist.record import Array

cp: Any = cvxpy  # its type hints are incomplete


def k_best_step(theta: Array, rows: Array, offsets: Array, C: float) -> Array:
    """Minimise 1/2 ||theta' - theta||^2 + C xi  over theta' and xi >= 0, with xi >= rows theta' +
    offsets.

    Parameters
    ----------
    theta : float64, shape (dimension,)
    rows : float64, shape (planes, dimension)
        a_j = F(z'_j - z).
    offsets : float64, shape (planes,)
        b_j, such as gamma * cost(z'_j).
    C : float

    Notes
    -----
    Problem (17) of Martins et al. (2010) with finitely many half-spaces, here called planes. The
    step is in the span of the rows, and is computed in an orthonormal basis of that span.
    """
    if not rows.any():
        return theta.copy()
    basis, coordinates = np.linalg.qr(rows.T)
    return np.asarray(theta + basis @ solve_step(coordinates, rows @ theta + offsets, C))


def solve_step(coordinates: Array, heights: Array, C: float) -> Array:
    """Minimise 1/2 ||x||^2 + C max(0, max_j x^T coordinates[:, j] + heights[j]).

    The solver guesses the active set and solves for it. An interior-point method is less accurate
    where a plane is only just active.
    """
    problem, move, parameters = _program(*coordinates.shape)
    # x = y / scale keeps the solver's numbers near 1
    scale = max(1.0, float(np.abs(coordinates).max()))
    values = coordinates / scale, heights, np.array(C * scale * scale)
    for parameter, value in zip(parameters, values, strict=True):
        parameter.value = value
    problem.solve(solver=cp.OSQP, eps_abs=1e-9, eps_rel=1e-9, max_iter=200_000)
    return np.asarray(move.value) / scale


@lru_cache
def _program(size: int, planes: int) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """Compile the program, once for all programs of the same sizes."""
    move, slack = cp.Variable(size), cp.Variable(nonneg=True)
    coordinates, heights, C = (
        cp.Parameter((size, planes)),
        cp.Parameter(planes),
        cp.Parameter(nonneg=True),
    )
    objective = cp.Minimize(cp.sum_squares(move) / 2 + C * slack)
    return (
        cp.Problem(objective, [coordinates.T @ move + heights <= slack]),
        move,
        (coordinates, heights, C),
    )


def step_difference(
    problem: Objective,
    i: int,
    before: Array,
    after: Array,
    residuals: Array,
    heights: Array,
    C: float,
) -> float:
    """Compare a step of instance i with the solution of its program, on the weights that its planes
    read.

    Parameters
    ----------
    problem : Objective
    i : int
    before, after : float64, shape (dimension,)
    residuals : float64, shape (planes, parts)
        r_j, with a_j = F r_j.
    heights : float64, shape (planes,)
        a_j^T before + b_j.
    C : float

    Returns
    -------
    float
        The largest difference of a weight, divided by the largest weight where that is above 1.
    """
    touched, rows = planes_over_weights(problem, i, residuals)
    expected = before.copy()
    expected[touched] = k_best_step(before[touched], rows, heights - rows @ before[touched], C)
    largest = float(np.abs(expected).max(initial=1.0))
    return float(np.abs(after - expected).max(initial=0.0)) / largest


def planes_over_weights(problem: Objective, i: int, residuals: Array) -> tuple[Array, Array]:
    """Return the indices of the weights that some planes of instance i read, and a_j = F r_j on
    them, one row a plane.
    """
    gradients = [_gradient(problem, i, r) for r in residuals]
    touched = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(indices for indices, _ in gradients)])
    )
    rows = np.zeros((len(gradients), len(touched)))
    for row, (indices, values) in zip(rows, gradients, strict=True):
        row[np.searchsorted(touched, indices)] = values
    return touched, rows


def _gradient(problem: Objective, i: int, residual: Array) -> tuple[Array, Array]:
    """Return F_i r on the weights that may move: indices and values."""
    k, features, space = problem.kernels, problem.data.features, problem.space
    k.pullback(features, i, np.ascontiguousarray(residual), space.gradient)
    count = k.flatten(features, space.gradient, space.indices, space.values)
    return space.indices[:count].copy(), space.values[:count].copy()
