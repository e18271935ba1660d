"""Linear and integer programs over polytopes of parts, handed to HiGHS."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np

from structopt.errors import CompatibilityError, ConfigError
from structopt.inference.polytopes import Polytope
from structopt.kernels.record import Array

OPTIMAL, LIMIT, INFEASIBLE = 0, 1, 2  # statuses of scipy.optimize.milp


class Answer(NamedTuple):
    """An upper bound on the maximum of s^T z, the maximum itself where the search was finished, and the best z found."""

    bound: float
    z: Array


def best_point(polytope: Polytope, s: Array) -> Answer:
    """Maximise s^T z over a polytope.

    Parameters
    ----------
    polytope : Polytope
    s : float64, shape (parts,)
        Scores of its first columns; the others have none. -inf fixes a part to 0.

    Returns
    -------
    Answer
        The maximum; where there is no point, the bound is -inf and z is zero.
    """
    found = _solve(polytope, s, 0, {})
    if found.status == INFEASIBLE:
        return Answer(-inf, np.zeros(len(s)))
    return Answer(-float(found.fun), np.clip(found.x[: len(s)], 0.0, 1.0))


def best_output(polytope: Polytope, s: Array, limits: Mapping[str, Any]) -> Answer:
    """Maximise s^T z over the integral points of a polytope.

    Parameters
    ----------
    polytope : Polytope
    s : float64, shape (parts,)
    limits : mapping
        Options of `scipy.optimize.milp`.

    Returns
    -------
    Answer
        As of `best_point`; where a limit was met, the bound proved so far and the best point found so far, or the
        relaxation's where none was.
    """
    found = _solve(polytope, s, polytope.shared, limits)
    if found.status == INFEASIBLE:
        return Answer(-inf, np.zeros(len(s)))
    if found.x is None:
        return best_point(polytope, s)
    z = np.round(np.clip(found.x[: len(s)], 0.0, 1.0))  # private parts are integers where the variables are
    value = float(np.where(s == -inf, 0.0, s) @ z)
    return Answer(max(value, -float(found.mip_dual_bound)) if found.mip_gap > 0 else value, z)


def _solve(polytope: Polytope, s: Array, integral: int, limits: Mapping[str, Any]) -> Any:
    """What HiGHS finds when the first `integral` columns are to be 0 or 1."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    columns, forbidden = polytope.matrix.shape[1], s == -inf
    objective, highest, kinds = np.zeros(columns), np.ones(columns), np.zeros(columns)
    objective[: len(s)] = -np.where(forbidden, 0.0, s)
    highest[: len(s)][forbidden] = 0.0
    kinds[:integral] = 1
    rows = LinearConstraint(polytope.matrix, polytope.lower, polytope.upper)
    found = milp(objective, integrality=kinds, bounds=Bounds(0.0, highest), constraints=rows, options=dict(limits))
    if found.status not in (OPTIMAL, LIMIT, INFEASIBLE):
        raise ConfigError(f"inference: HiGHS gave up: {found.message} Look for scores that are huge or not numbers.")
    return found


def check_kind(name: str, structure_kind: str) -> None:
    """Refuse structures that are no factor graphs of variables and factors."""
    if structure_kind != "factors":
        raise CompatibilityError(
            f"inference={name} knows no linear description of factor graphs of kind '{structure_kind}', only of kind "
            "'factors'. Use inference=exact."
        )


def check_temperature(name: str, temperature: float) -> None:
    """Refuse to give marginals."""
    if temperature != 0.0:
        raise ConfigError(f"inference={name} only maximises: it has no marginals at temperature {temperature:g}.")
