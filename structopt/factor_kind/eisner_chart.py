"""Eisner's chart as a hypergraph, whose derivations are the projective trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array


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


def _arc_items(n: int, number: Callable[[str, int, int], int]) -> Array:
    """Return the item of every arc, as `Chart.arcs` orders them; `number` numbers items."""
    arcs = np.zeros(n * n, np.int64)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                arcs[(m - 1) * n + (h or m) - 1] = (
                    number("->", h, m) if h < m else number("<-", m, h)
                )
    return arcs


@lru_cache(maxsize=64)
def chart(n: int) -> Chart:
    """Return the chart over n tokens."""
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
    arcs = _arc_items(n, number)
    return Chart(len(numbers), np.array(results), np.array(users), np.array(used), arcs)
