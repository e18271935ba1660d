"""Linear descriptions of factor graphs: each factor's local polytope as rows over parts and auxiliary columns.

The local polytope of a factor is the convex hull of its configurations; that of the graph is their intersection over the
shared variables, which contains every output and, unless the graph is a tree of factors, fractional points besides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from structopt.kernels.factors import (
    AUTOMATON,
    BUDGET,
    EXACTLY_ONE,
    FACTORS,
    PAIRS,
    TABLE,
    TREE,
    Factors,
    private_start,
)
from structopt.kernels.record import Array, Record


class Polytope(NamedTuple):
    """{x in [0, 1]^columns : lower <= matrix x <= upper}; its first columns are the parts of an instance.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (rows, columns)
    lower, upper : float64, shape (rows,)
    shared : int
        How many parts, from the first, belong to variables; where these are integers, so are all parts.
    """

    matrix: Any
    lower: Array
    upper: Array
    shared: int


class Rows:
    """Rows of a sparse matrix as they are gathered, and how many columns they use so far."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.count = 0
        self._entries: list[tuple[Array, Array, Array]] = []
        self._bounds: list[tuple[Array, Array]] = []

    def more_columns(self, count: int) -> Array:
        """Take further columns, and return their numbers."""
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add(self, lower: Any, upper: Any, *entries: tuple[Array, Array, float], count: int) -> None:
        """Add `count` rows lower <= A x <= upper, where each of `entries` is rows (from 0), columns and their coefficient.

        Coefficients of the same row and column add up.
        """
        for rows, columns, value in entries:
            self._entries.append((self.count + np.asarray(rows), np.asarray(columns), np.full(len(rows), value)))
        self._bounds.append((np.broadcast_to(lower, count), np.broadcast_to(upper, count)))
        self.count += count

    def polytope(self, shared: int) -> Polytope:
        """Put all rows together."""
        from scipy.sparse import coo_array

        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        rows, columns, values = (np.concatenate(one) for one in zip(nothing, *self._entries, strict=True))
        lower, upper = (np.concatenate([np.zeros(0), *one]) for one in zip(*self._bounds, strict=True))
        matrix = coo_array((values, (rows, columns)), shape=(self.count, self.columns)).tocsr()
        return Polytope(matrix, lower, upper, shared)


def local_polytope(structure: Record, i: int, parts: int) -> Polytope:
    """Describe the local polytope of instance i, which has `parts` parts; O(rows) time and space.

    Rows and columns of a factor with k links: TREE over n tokens O(nk), and projective O(n^3); AUTOMATON O(k) rows; PAIRS 3
    rows a pair; EXACTLY_ONE and BUDGET one; TABLE K + K' rows.
    """
    f = FACTORS.open(structure)
    widths = f.widths[f.variables[i] : f.variables[i + 1]]
    return described(f, i, parts, widths > 1, np.arange(f.factors[i], f.factors[i + 1])).polytope(int(f.shared[i]))


def described(f: Factors, i: int, parts: int, listed: Array, factors: Array) -> Rows:
    """Rows of some factors of instance i, and of its `listed` variables: bool, those of which one of several parts is on."""
    first, last = f.variables[i], f.variables[i + 1]
    starts, widths = f.starts[first:last], f.widths[first:last].astype(np.int64)
    rows = Rows(parts)
    states = _ranges(starts[listed], widths[listed])
    rows.add(1.0, 1.0, (np.repeat(np.arange(listed.sum()), widths[listed]), states, 1.0), count=int(listed.sum()))
    for factor in factors.tolist():
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        extra = f.extra[f.extras[factor] : f.extras[factor + 1]].astype(np.int64)
        own = private_start.py_func(f, i, factor) + np.arange(f.privates[factor + 1] - f.privates[factor])
        shared = _ranges(starts[linked], widths[linked])
        DESCRIPTIONS[int(f.kinds[factor])](rows, shared, own, widths[linked], extra)
    return rows


def _ranges(starts: Array, lengths: Array) -> Array:
    """Concatenate the ranges that begin at `starts`."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(lengths.sum()), dtype=np.int64)


def _tree(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    n, single_root, projective = (int(number) for number in extra[:3])
    modifiers, heads = extra[3::2], extra[4::2]
    rows.add(1.0, 1.0, (modifiers, z, 1.0), count=n)
    if single_root:
        roots = z[heads == modifiers]
        rows.add(1.0, 1.0, (np.zeros(len(roots), np.int64), roots, 1.0), count=1)
    (_chart_flow if projective else _arborescence_flow)(rows, z, n, modifiers, heads)


def _arborescence_flow(rows: Rows, z: Array, n: int, modifiers: Array, heads: Array) -> None:
    """From the root to every token k runs a unit of its own commodity, on each arc at most the arc's mass.

    With one head a token this is the convex hull of the arborescences (Martins, Smith and Xing 2009, section 3; Wong 1984).
    Commodity k enters k on all the arcs to k, at their full mass, and does not leave it: those flows have no columns.
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


class Chart(NamedTuple):
    """Eisner's chart over n tokens and the root at position 0, as a hypergraph.

    Attributes
    ----------
    items : number of items that are derived (empty spans are not); item 0 is the goal
    results : item that each edge derives
    users, used : edges and the items they are made of, one pair each
    arcs : item of the arc from head h to modifier m at m * n + h, h = m standing for the root
    """

    items: int
    results: Array
    users: Array
    used: Array
    arcs: Array


@lru_cache(maxsize=64)
def _chart(n: int) -> Chart:
    numbers: dict[tuple[str, int, int], int] = {(">", 0, n): 0}
    results: list[int] = []
    users: list[int] = []
    used: list[int] = []

    def number(shape: str, s: int, t: int) -> int:
        return numbers.setdefault((shape, s, t), len(numbers))

    def edge(result: tuple[str, int, int], *tails: tuple[str, int, int]) -> None:
        for tail in tails:
            if tail[1] < tail[2]:
                users.append(len(results))
                used.append(number(*tail))
        results.append(number(*result))

    for s in range(n + 1):
        for t in range(s + 1, n + 1):
            for r in range(s, t):
                for arc in ("->", "<-") if s else ("->",):
                    edge((arc, s, t), (">", s, r), ("<", r + 1, t))
                edge((">", s, t), ("->", s, r + 1), (">", r + 1, t))
                if s:
                    edge(("<", s, t), ("<", s, r), ("<-", r, t))
    arcs = np.zeros(n * n, np.int64)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                arcs[(m - 1) * n + (h or m) - 1] = number("->", h, m) if h < m else number("<-", m, h)
    return Chart(len(numbers), np.array(results), np.array(users), np.array(used), arcs)


def _chart_flow(rows: Rows, z: Array, n: int, modifiers: Array, heads: Array) -> None:
    """Every item of Eisner's chart is derived as often as it is used, the goal once: derivations are the vertices.

    Flows on the hypergraph of a dynamic programme are integral (Martin, Rardin and Campbell 1990).
    """
    chart = _chart(n)
    flow = rows.more_columns(len(chart.results))
    goal = (np.arange(chart.items) == 0).astype(float)
    rows.add(goal, goal, (chart.results, flow, 1.0), (chart.used, flow[chart.users], -1.0), count=chart.items)
    row = np.full(chart.items, -1)
    row[chart.arcs] = np.arange(n * n)
    derives = np.flatnonzero(row[chart.results] >= 0)
    entries = (row[chart.results[derives]], flow[derives], 1.0), (modifiers * n + heads, z, -1.0)
    rows.add(0.0, 0.0, *entries, count=n * n)


def _automaton(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    """One unit flows from 0 to k + 1 along the pairs, and through the variables that are on."""
    k = len(z)
    before, after = np.triu_indices(k + 2, 1)
    entering, leaving = after <= k, before >= 1
    every, first = np.arange(k), before == 0
    rows.add(0.0, 0.0, (after[entering] - 1, own[entering], 1.0), (every, z, -1.0), count=k)
    rows.add(0.0, 0.0, (before[leaving] - 1, own[leaving], 1.0), (every, z, -1.0), count=k)
    rows.add(1.0, 1.0, (np.zeros(k + 1, np.int64), own[first], 1.0), count=1)


def _pairs(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    each, a, b = np.arange(len(own)), z[::2], z[1::2]
    for one in (a, b):
        rows.add(-np.inf, 0.0, (each, own, 1.0), (each, one, -1.0), count=len(own))
    rows.add(-1.0, np.inf, (each, own, 1.0), (each, a, -1.0), (each, b, -1.0), count=len(own))


def _exactly_one(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    rows.add(1.0, 1.0, (np.zeros(len(z), np.int64), z, 1.0), count=1)


def _budget(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    rows.add(-np.inf, float(extra[0]), (np.zeros(len(z), np.int64), z, 1.0), count=1)


def _table(rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
    a, b = (int(width) for width in widths)
    first, second = np.divmod(np.arange(a * b), b)
    rows.add(0.0, 0.0, (first, own, 1.0), (np.arange(a), z[:a], -1.0), count=a)
    rows.add(0.0, 0.0, (second, own, 1.0), (np.arange(b), z[a:], -1.0), count=b)


DESCRIPTIONS = {
    TREE: _tree,
    AUTOMATON: _automaton,
    PAIRS: _pairs,
    EXACTLY_ONE: _exactly_one,
    BUDGET: _budget,
    TABLE: _table,
}
"""What adds the rows of a factor: given columns of its links and of its own parts, widths of its variables, and `extra`."""
