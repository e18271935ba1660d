"""Linear, quadratic and entropic problems over local polytopes, solved by cvxpy: what `lp`, `ad3`
and `trw_bp` must find.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import cvxpy
import numpy as np

from structopt.core.data.polytope import Polytope
from structopt.kernels.waist.record import Array

cp: Any = cvxpy  # its type hints are incomplete


def relaxed_maximum(polytope: Polytope, s: Array) -> tuple[float, Array]:
    """max s^T z over a polytope, whose first columns are z, and a maximiser; -inf and zeros where
    it is empty.

    Parameters
    ----------
    polytope : Polytope
    s : float64, shape (parts,)
        -inf fixes a part to 0.
    """
    x = cp.Variable(polytope.matrix.shape[1], nonneg=True)
    forbidden = np.flatnonzero(s == -inf)
    constraints = [
        x <= 1,
        polytope.matrix @ x <= np.where(np.isfinite(polytope.upper), polytope.upper, 1e3),
    ]
    constraints += [
        polytope.matrix @ x >= np.where(np.isfinite(polytope.lower), polytope.lower, -1e3)
    ]
    if len(forbidden):
        constraints.append(x[forbidden] == 0)
    problem = cp.Problem(cp.Maximize(np.where(s == -inf, 0.0, s) @ x[: len(s)]), constraints)
    problem.solve(solver=cp.CLARABEL)
    if problem.status == cp.INFEASIBLE:
        return -inf, np.zeros(len(s))
    return float(problem.value), np.asarray(x.value)[: len(s)]


def quadratic_step(vertices: Array, heights: Array, a: Array) -> Array:
    """Maximise a^T q + heights^T mu - ||q||^2 / 2 over the distributions mu on the vertices, q =
    vertices^T mu; returns q.

    Parameters
    ----------
    vertices : float64, shape (configurations, k)
    heights : float64, shape (configurations,)
    a : float64, shape (k,)
    """
    mu = cp.Variable(len(vertices), nonneg=True)
    q = vertices.T @ mu
    objective = cp.Maximize(heights @ mu - cp.sum_squares(q - a) / 2)
    cp.Problem(objective, [cp.sum(mu) == 1]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    return np.asarray(q.value)


def tree_weighted(
    widths: Sequence[int],
    edges: Array,
    forests: Sequence[Sequence[int]],
    s: Array,
    temperature: float,
) -> tuple[float, Array]:
    """max s^T z + temperature * (mean of the entropies of forests with marginals z), over the local
    polytope; and a maximiser.

    The entropy of a forest is that of a root of each tree and of every other variable given its
    parent.

    Parameters
    ----------
    widths : sequence of int
        States of each variable.
    edges : int array, shape (edges, 2)
    forests : sequence of sequences of edge numbers
        Every edge in one of them at least.
    s : float64, shape (parts,)
        Finite; variables state by state, then edges pair by pair of states, rows by the first
        variable.
    temperature : float
        Positive.
    """
    nodes = [cp.Variable(K, nonneg=True) for K in widths]
    tables = [cp.Variable((widths[a], widths[b]), nonneg=True) for a, b in edges]
    constraints = [cp.sum(node) == 1 for node in nodes]
    for (a, b), table in zip(edges, tables, strict=True):
        constraints += [cp.sum(table, axis=1) == nodes[a], cp.sum(table, axis=0) == nodes[b]]
    z = cp.hstack([*nodes, *(cp.vec(table, order="C") for table in tables)])
    entropy = sum(_forest_entropy(nodes, tables, edges, forest) for forest in forests) / len(
        forests
    )
    problem = cp.Problem(cp.Maximize(s @ z + temperature * entropy), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value), np.asarray(z.value)


def _forest_entropy(
    nodes: Sequence[Any], tables: Sequence[Any], edges: Array, forest: Sequence[int]
) -> Any:
    """H of a forest: edges are directed away from the first variable of their tree that is met."""
    total, parts = 0.0, set(range(len(nodes)))
    while parts:
        reached = [parts.pop()]
        total += cp.sum(cp.entr(nodes[reached[0]]))
        for v in reached:
            for e in forest:
                a, b = (int(end) for end in edges[e])
                u = b if a == v else a
                if v in (a, b) and u in parts:
                    parts.remove(u)
                    reached.append(u)
                    table = tables[e] if a == v else tables[e].T
                    total -= cp.sum(
                        cp.rel_entr(table, nodes[v][:, None] @ np.ones((1, table.shape[1])))
                    )
    return total
