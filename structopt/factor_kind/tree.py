"""TREE factors: their linked binary variables are candidate arcs, of which exactly a tree is on."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.factor_kind.eisner_chart import chart
from structopt.kernels.waist.record import Array


class Tree(FactorKind):
    """Exactly a tree of the candidate arcs is on; no private parts.

    Extra: n, single_root, projective, then for each linked arc its modifier and its head (the
    modifier itself for the root). Rows over n tokens with k arcs: O(nk), projective O(n^3); both
    are the convex hull.
    """

    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Whether the arcs that are on are such a tree."""
        n, on = int(extra[0]), x > 0
        heads = dict(zip(extra[3::2][on].tolist(), extra[4::2][on].tolist(), strict=True))
        return int(on.sum()) == n and _is_tree(heads, n, bool(extra[1]), bool(extra[2]))

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """One head a token, one root if asked, and a flow."""
        n, single_root, projective = (int(number) for number in extra[:3])
        modifiers, heads = extra[3::2].astype(np.int64), extra[4::2].astype(np.int64)
        rows.add(1.0, 1.0, (modifiers, z, 1.0), count=n)
        if single_root:
            roots = z[heads == modifiers]
            rows.add(1.0, 1.0, (np.zeros(len(roots), np.int64), roots, 1.0), count=1)
        (_chart_flow if projective else _arborescence_flow)(rows, z, n, modifiers, heads)

    def exclusive(self, extra: Array) -> list[Array] | None:
        """The arcs to each token."""
        return [np.flatnonzero(extra[3::2] == m) for m in range(int(extra[0]))]


def _is_tree(heads: dict[int, int], n: int, single_root: bool, projective: bool) -> bool:
    roots = sum(m == h for m, h in heads.items())
    if len(heads) < n or roots < 1 or (single_root and roots > 1):
        return False
    for m in range(n):
        climbed = 0
        while heads[m] != m and climbed <= n:
            m, climbed = heads[m], climbed + 1
        if climbed > n:
            return False
    spans = [(min(m, h), max(m, h)) if m != h else (-1, m) for m, h in heads.items()]
    return not projective or not any(a < c < b < d for a, b in spans for c, d in spans)


def _arborescence_flow(rows: Rows, z: Array, n: int, modifiers: Array, heads: Array) -> None:
    """From the root to every token k runs a unit of its own commodity, on each arc at most the
    arc's mass.

    With one head a token this is the convex hull of the arborescences (Martins, Smith and Xing
    2009, section 3; Wong 1984). Commodity k enters k on all the arcs to k, at their full mass, and
    does not leave it: those flows have no columns.
    """
    root = heads == modifiers
    token = np.arange(n)[:, None]
    k, arc = np.nonzero((modifiers != token) & ((heads != token) | root))
    flow = rows.more_columns(len(k))
    entering = k * n + modifiers[arc]
    inner = ~root[arc]
    leaving = k[inner] * n + heads[arc[inner]]
    last = np.flatnonzero(~root)  # the arc into k itself takes all of its mass from its head
    lasting = modifiers[last] * n + heads[last]
    entries = (entering, flow, 1.0), (leaving, flow[inner], -1.0), (lasting, z[last], -1.0)
    rows.add(0.0, 0.0, *entries, count=n * n)
    each = np.arange(len(flow))
    rows.add(-np.inf, 0.0, (each, flow, 1.0), (each, z[arc], -1.0), count=len(flow))


def _chart_flow(rows: Rows, z: Array, n: int, modifiers: Array, heads: Array) -> None:
    """Every item of Eisner's chart is derived as often as it is used, the goal once: derivations
    are the vertices.

    Flows on the hypergraph of a dynamic programme are integral (Martin, Rardin and Campbell 1990).
    """
    c = chart(n)
    flow = rows.more_columns(len(c.results))
    goal = (np.arange(c.items) == 0).astype(float)
    rows.add(goal, goal, (c.results, flow, 1.0), (c.used, flow[c.users], -1.0), count=c.items)
    row = np.full(c.items, -1)
    row[c.arcs] = np.arange(n * n)
    derives = np.flatnonzero(row[c.results] >= 0)
    entries = (row[c.results[derives]], flow[derives], 1.0), (modifiers * n + heads, z, -1.0)
    rows.add(0.0, 0.0, *entries, count=n * n)
