"""A few forests that together hold every edge of a graph, for bounds that are convex combinations
of those on forests.

    complete, n variables:  n/2 paths t, t+1, t-1, t+2, t-2, ... (mod n), each edge in one of them
    (Walecki's; Lucas, 1892); where
                            n is odd, those of n + 1 variables, from which the last one is left out;
    grid, row by row:       its rows, and its columns;
    without cycles:         the graph itself;
    other graphs:           edges, one after another, go to the forest with the fewest of those
    where they close no cycle, and
                            then every forest is completed with edges, first those that the fewest
                            forests have.

All forests weigh the same, so that an edge appears in a share `copies / forests` of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array, Record

LEAST = 4
"""Forests of a graph with cycles that is neither complete nor a grid: with fewer, some edges would
appear in too few.
"""


class Forests(NamedTuple):
    """F forests over n variables, every tree with a root.

    Attributes
    ----------
    order : int32, shape (n,)
        Order to visit the variables in: in every forest, those that follow each other are near each
        other.
    copies : int32, shape (edges,)
        In how many forests each edge is; at least 1.
    downwards : int32, shape (F, n)
        The variables, parents before their children.
    nodes : int32, shape (F, n, 6)
        Of each variable: its parent and the edge to it, -1 at a root; how far the root is, and
        which it is; its first child, and the next child of its parent, -1 where there is none.
    """

    order: Array
    copies: Array
    downwards: Array
    nodes: Array

    def packed(self) -> Array:
        """The arrays one after the other, after the number of forests, as the kernel reads them."""
        return np.concatenate([[len(self.nodes)], *(field.ravel() for field in self)]).astype(
            np.int32
        )


def spanning_forests(n: int, edges: Array) -> Forests:
    """Choose forests for the graph of n variables with these edges, shape (edges, 2). O(F (n +
    edges)).
    """
    pairs = [(int(a), int(b)) for a, b in edges]
    number = {frozenset(pair): e for e, pair in enumerate(pairs)}
    columns = _columns(n, number)
    if n > 3 and len(number) == len(pairs) == n * (n - 1) // 2:
        return _rooted(n, pairs, [[number[pair] for pair in path] for path in _paths(n)], range(n))
    if len(number) == len(pairs) and columns:
        rows = [e for e, (a, b) in enumerate(pairs) if abs(a - b) == 1]
        return _rooted(n, pairs, [rows, sorted(set(range(len(pairs))) - set(rows))], range(n))
    forests = _rooted(n, pairs, _greedy(n, pairs), range(n))
    return forests._replace(order=forests.downwards[0])


def forests_of(record: Record) -> tuple[list[Forests], Array]:
    """Choose forests for every different graph of pairs in a record of factor graphs.

    Returns
    -------
    forests : list of Forests
    graph : int64, shape (instances,)
        Index of the forests of each instance; -1 if it is not a graph of pairs.
    """
    from structopt.kernels.loopy.factors import FACTORS, TABLE

    f = FACTORS.open(record)
    others = (
        np.cumsum([0, *(f.kinds != TABLE)])[f.factors],
        np.cumsum([0, *(f.widths < 2)])[f.variables],
    )
    numbers: dict[tuple[int, bytes], int] = {}
    forests: list[Forests] = []
    graph = np.full(len(f.shared), -1)
    for i in np.flatnonzero((np.diff(others[0]) == 0) & (np.diff(others[1]) == 0)).tolist():
        n, linked = (
            int(f.variables[i + 1] - f.variables[i]),
            f.linked[f.links[f.factors[i]] : f.links[f.factors[i + 1]]],
        )
        key = n, linked.tobytes()
        if key not in numbers:
            numbers[key] = len(forests)
            forests.append(spanning_forests(n, linked.reshape(-1, 2)))
        graph[i] = numbers[key]
    return forests, graph


def _paths(n: int) -> Iterator[list[frozenset[int]]]:
    """Hamiltonian paths that have each pair of n variables, once where n is even, else (n - 1)/2 of
    the pairs twice.
    """
    even = n + n % 2
    for t in range(even // 2):
        path = [(t + (step + 1) // 2 * (1 if step % 2 else -1)) % even for step in range(even)]
        yield [frozenset(pair) for pair in pairwise(v for v in path if v < n)]


def _columns(n: int, number: dict[frozenset[int], int]) -> int:
    """How many columns the graph has as a grid of more than one row and column; 0 if it is none."""
    for columns in {max(pair) - min(pair) for pair in number} - {1}:
        right = {frozenset((v, v + 1)) for v in range(n - 1) if (v + 1) % columns}
        down = {frozenset((v, v + columns)) for v in range(n - columns)}
        if n % columns == 0 and number.keys() == right | down:
            return columns
    return 0


class _Trees:
    """The trees of a forest: which variables are connected (union-find)."""

    def __init__(self, n: int) -> None:
        self.above = list(range(n))
        self.edges: list[int] = []

    def top(self, v: int) -> int:
        while self.above[v] != v:
            self.above[v] = self.above[self.above[v]]
            v = self.above[v]
        return v

    def join(self, e: int, a: int, b: int) -> bool:
        """Add an edge unless it closes a cycle; whether it was added."""
        a, b = self.top(a), self.top(b)
        if a != b:
            self.above[a] = b
            self.edges.append(e)
        return a != b


def _greedy(n: int, pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Maximal forests that together have every edge: `LEAST` or more where there are cycles, else
    one.
    """
    single = _Trees(n)
    if all(single.join(e, a, b) for e, (a, b) in enumerate(pairs)):
        return [single.edges]
    forests = [_Trees(n) for _ in range(LEAST)]
    for e, (a, b) in enumerate(pairs):
        if not any(
            forest.join(e, a, b) for forest in sorted(forests, key=lambda forest: len(forest.edges))
        ):
            forests.append(_Trees(n))
            forests[-1].join(e, a, b)
    copies = np.ones(len(pairs), np.int64)
    for forest in forests:
        for e in np.argsort(copies, kind="stable").tolist():
            copies[e] += forest.join(e, *pairs[e])
    return [forest.edges for forest in forests]


def _rooted(
    n: int, pairs: list[tuple[int, int]], forests: list[list[int]], order: range
) -> Forests:
    """Root every tree at the first of its variables that is an end of it, and go through it depth
    first.
    """
    nodes, downwards = (
        np.full((len(forests), n, 6), -1, np.int32),
        np.zeros((len(forests), n), np.int32),
    )
    copies = np.bincount([e for forest in forests for e in forest], minlength=len(pairs)).astype(
        np.int32
    )
    for T, forest in enumerate(forests):
        near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for e in forest:
            a, b = pairs[e]
            near[a].append((b, e))
            near[b].append((a, e))
        seen, count = [False] * n, 0
        for first in sorted(order, key=lambda v: len(near[v]) > 1):
            stack = [] if seen[first] else [first]
            nodes[T, stack, 2:4] = 0, first
            while stack:
                v = stack.pop()
                seen[v], downwards[T, count] = True, v
                count += 1
                for u, e in near[v]:
                    if not seen[u]:
                        nodes[T, u] = v, e, nodes[T, v, 2] + 1, first, -1, nodes[T, v, 4]
                        nodes[T, v, 4] = u
                        stack.append(u)
    return Forests(np.asarray(order, np.int32), copies, downwards, nodes)
