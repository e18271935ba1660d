"""Elimination orders of graphs, and the tables that they need."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

MOST_NEIGHBOURS = 64
"""A variable with more neighbours is not eliminated: its table would never fit."""
SMALL = 1 << 10
"""Entries of a table up to which no other order is tried."""


class Elimination(NamedTuple):
    """An order of the variables of a graph.

    Attributes
    ----------
    order : list of int
    above : list of list of int
        For each variable of the order, its neighbours when it is eliminated, in the order of their
        elimination.
    entries : int
        Entries of all tables together.
    largest : int
        Entries of the largest table, which is over a variable and its neighbours then.
    width : int
        Neighbours in that table.
    """

    order: list[int]
    above: list[list[int]]
    entries: int
    largest: int
    width: int


def elimination(states: list[int], scopes: list[tuple[int, ...]], most: int) -> Elimination:
    """Return the min-fill order, or a sweep over the graph if its tables are smaller.

    Min-fill eliminates next the variable whose neighbours lack the fewest edges between them. Ties
    are broken by the entries of the table, then by the number of the variable. On large grids the
    largest table of a sweep (reverse Cuthill-McKee) is smaller. If a variable has more than
    `MOST_NEIGHBOURS` neighbours, an order ends with it.

    Parameters
    ----------
    states : list of int
        States of each variable.
    scopes : list of tuple of int
        Variables of each factor.
    most : int
        The most entries that a table should have.
    """
    joined: list[set[int]] = [set() for _ in states]
    for scope in scopes:
        for v in scope:
            joined[v].update(scope)
    for v, others in enumerate(joined):
        others.discard(v)
    least = _elimination(states, *_by_fill(states, [set(others) for others in joined]))
    if least.largest > SMALL and len(joined) > least.width + 1:
        swept = _elimination(states, *_in_order(_sweep(joined), joined))
        least = min(least, swept, key=lambda one: (max(one.largest, most), one.entries))
    return least


def _elimination(states: list[int], order: list[int], sets: list[set[int]]) -> Elimination:
    """Measure the tables of an order, given the neighbours of each variable."""
    place = {v: rank for rank, v in enumerate(order)}
    above = [sorted(own, key=lambda u: place.get(u, len(states))) for own in sets]
    sizes = [states[v] * prod(states[u] for u in own) for v, own in zip(order, above, strict=True)]
    at = max(range(len(sizes)), key=sizes.__getitem__, default=-1)
    largest, width = (sizes[at], len(above[at])) if sizes else (1, 0)
    return Elimination(order, above, sum(sizes), largest, width)


def _sweep(joined: list[set[int]]) -> list[int]:
    """The variables in an order in which neighbours are near each other."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ends = np.cumsum([0, *map(len, joined)])
    indices = np.array([u for others in joined for u in sorted(others)], np.int32)
    graph = csr_array((np.ones(len(indices)), indices, ends), shape=(len(joined),) * 2)
    order: list[int] = reverse_cuthill_mckee(graph, symmetric_mode=True).tolist()
    return order


def _in_order(order: list[int], joined: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Eliminate the variables in an order; return it, and the neighbours of each."""
    sets: list[set[int]] = []
    for v in order:
        others = joined[v]
        sets.append(others)
        if len(others) > MOST_NEIGHBOURS:
            break
        for u in others:
            joined[u] |= others
            joined[u] -= {u, v}
    return order[: len(sets)], sets


class _Fill:
    """Variables that wait for their elimination, by the edges that their neighbours lack.

    Entries of the heap whose variable has another entry by now are skipped.
    """

    def __init__(self, states: list[int], joined: list[set[int]]) -> None:
        self.states, self.joined = states, joined
        self.heap: list[tuple[int, int, int]] = []
        self.entries: dict[int, tuple[int, int, int]] = {}
        for v in range(len(states)):
            self.put(v)

    def put(self, v: int) -> None:
        """Measure the neighbours of a variable."""
        others = self.joined[v]
        if len(others) > MOST_NEIGHBOURS:
            entry = (len(self.joined) ** 2, len(others), v)
        else:
            lacking = sum(len(others) - 1 - len(others & self.joined[u]) for u in others) // 2
            entry = (lacking, self.states[v] * prod(self.states[u] for u in others), v)
        if self.entries.get(v) != entry:
            self.entries[v] = entry
            heappush(self.heap, entry)

    def take(self) -> int:
        """Take out the next variable; -1: none is left."""
        while self.heap:
            entry = heappop(self.heap)
            if self.entries.get(entry[2]) == entry:
                del self.entries[entry[2]]
                return entry[2]
        return -1

    def eliminate(self, v: int) -> None:
        """Join the neighbours of a variable, and remove it from theirs."""
        others = self.joined[v]
        changed = set(others)
        for a, b in combinations(sorted(others), 2):
            if b not in self.joined[a]:
                changed |= self.joined[a] & self.joined[b]
                self.joined[a].add(b)
                self.joined[b].add(a)
        for u in others:
            self.joined[u].discard(v)
        for u in changed - {v}:
            self.put(u)


def _by_fill(states: list[int], joined: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """The min-fill order, and the neighbours of each variable; `joined` is changed."""
    waiting, order, sets = _Fill(states, joined), list[int](), list[set[int]]()
    while (v := waiting.take()) >= 0:
        order.append(v)
        sets.append(joined[v])
        if len(joined[v]) > MOST_NEIGHBOURS:
            break
        waiting.eliminate(v)
    return order, sets
