"""Elimination orders of graphs, and the tables that they need."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import combinations
from math import prod
from typing import NamedTuple

MOST_NEIGHBOURS = 200
"""A variable with more neighbours is not eliminated: its table would never fit."""


class Elimination(NamedTuple):
    """An order of the variables of a graph.

    Attributes
    ----------
    order : list of int
    above : list of list of int
        For each variable of the order, its neighbours when it is eliminated, in the order of their
        elimination.
    largest : int
        Entries of the largest table, which is over a variable and its neighbours then.
    width : int
        Neighbours in that table.
    """

    order: list[int]
    above: list[list[int]]
    largest: int
    width: int


def min_fill(states: list[int], scopes: list[tuple[int, ...]]) -> Elimination:
    """Eliminate next the variable whose neighbours lack the fewest edges between them.

    Ties are broken by the entries of the table, then by the number of the variable. If a variable
    has more than `MOST_NEIGHBOURS` neighbours, the order ends with it.

    Parameters
    ----------
    states : list of int
        States of each variable.
    scopes : list of tuple of int
        Variables of each factor.
    """
    joined: list[set[int]] = [set() for _ in states]
    for scope in scopes:
        for v in scope:
            joined[v].update(scope)
    for v, others in enumerate(joined):
        others.discard(v)
    order, sets = _eliminated(states, joined)
    place = {v: rank for rank, v in enumerate(order)}
    above = [sorted(own, key=lambda u: place.get(u, len(states))) for own in sets]
    sizes = [
        states[v] * prod(states[u] for u in own) for v, own in zip(order, above, strict=True)
    ]
    at = max(range(len(sizes)), key=sizes.__getitem__, default=-1)
    return Elimination(order, above, *((sizes[at], len(above[at])) if sizes else (1, 0)))


def _eliminated(states: list[int], joined: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """The order, and the neighbours of each variable; `joined` is emptied."""
    heap: list[tuple[int, int, int]] = []
    entries: dict[int, tuple[int, int, int]] = {}

    def put(v: int) -> None:
        others = joined[v]
        if len(others) > MOST_NEIGHBOURS:
            entry = (len(joined) ** 2, len(others), v)
        else:
            lacking = sum(len(others) - 1 - len(others & joined[u]) for u in others) // 2
            entry = (lacking, states[v] * prod(states[u] for u in others), v)
        if entries.get(v) != entry:
            entries[v] = entry
            heappush(heap, entry)

    for v in range(len(states)):
        put(v)
    order: list[int] = []
    sets: list[set[int]] = []
    while heap:
        entry = heappop(heap)
        v = entry[2]
        if entries.get(v) != entry:
            continue
        del entries[v]
        others = joined[v]
        order.append(v)
        sets.append(others)
        if len(others) > MOST_NEIGHBOURS:
            break
        changed = set(others)
        for a, b in combinations(sorted(others), 2):
            if b not in joined[a]:
                changed |= joined[a] & joined[b]
                joined[a].add(b)
                joined[b].add(a)
        for u in others:
            joined[u].discard(v)
        for u in changed - {v}:
            put(u)
    return order, sets
