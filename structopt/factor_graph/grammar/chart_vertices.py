"""All trees of a grammar's chart, listed: slow, obvious, and what inference is compared with."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from structopt.core.structure_kind import check_count
from structopt.kernels.waist.record import Array, Record

Parts = Counter[int]
"""How often a tree has each part."""


def chart_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all trees of sentence i."""
    from structopt.kernels.grammar.charts import CHARTS

    trees = _Trees(CHARTS.open(structure), i, most).of_root()
    vertices = np.zeros((len(trees), parts))
    for tree, vertex in zip(trees, vertices, strict=True):
        vertex[list(tree)] = list(tree.values())
    return vertices


class _Trees:
    """The trees of a chart, span by span."""

    def __init__(self, chart: Any, i: int, most: int) -> None:
        self.c, self.i, self.most = chart, i, most
        self.n = int(chart.tokens[i + 1] - chart.tokens[i])
        self.nodes = chart.rules + chart.steps + self.n * chart.tags
        last = int(chart.spans[i + 1]) - 1
        first_anchor = self.nodes + int(chart.node[last] + chart.bottoms[last] + chart.tops[last])
        begin, end = int(chart.anchors[i]), int(chart.anchors[i + 1])
        columns = chart.anchor_span, chart.anchor_split, chart.anchor_rule
        places = zip(*(one[begin:end].tolist() for one in columns), strict=True)
        self.anchors = {place: first_anchor + k for k, place in enumerate(places)}
        self.at = cache(self._at)

    def of_root(self) -> list[Parts]:
        """The trees of the whole sentence."""
        return self.at(0, self.n)[1].get(self.c.root, [])

    def _at(self, b: int, e: int) -> tuple[dict[int, list[Parts]], dict[int, list[Parts]]]:
        """The trees below and above the step of a span, by symbol."""
        c, span = self.c, b * self.n - b * (b - 1) // 2 + e - b - 1
        cell = int(c.spans[self.i]) + span
        first, node = int(c.first[cell]), self.nodes + int(c.node[cell])
        symbols, bottoms = (
            c.node_symbols[first : first + c.bottoms[cell] + c.tops[cell]].tolist(),
            int(c.bottoms[cell]),
        )
        below: dict[int, list[Parts]] = {}
        for k, symbol in enumerate(symbols[:bottoms]):
            own = self._words(b, symbol) if e == b + 1 else self._rules(b, e, span, symbol)
            below[symbol] = [tree + Counter({node + k: 1}) for tree in own]
        above: dict[int, list[Parts]] = {symbol: [] for symbol in symbols[bottoms:]}
        for k, symbol in enumerate(symbols[bottoms:], bottoms):
            for bottom, trees in below.items():
                for u in range(c.bottom_steps[bottom], c.bottom_steps[bottom + 1]):
                    if c.step_top[u] == symbol:
                        used = self._used(c.rules + u, span, 0, u) + Counter({node + k: 1})
                        above[symbol] += [tree + used for tree in trees]
        check_count(self.i, sum(map(len, above.values())), "trees of a span", self.most)
        return below, above

    def _words(self, b: int, symbol: int) -> list[Parts]:
        tags = np.flatnonzero(self.c.tag_symbol == symbol).tolist()
        return [Counter({self.c.rules + self.c.steps + b * self.c.tags + tag: 1}) for tag in tags]

    def _rules(self, b: int, e: int, span: int, symbol: int) -> list[Parts]:
        c, trees = self.c, []
        for k in range(b + 1, e):
            left, right = self.at(b, k)[1], self.at(k, e)[1]
            for r in np.flatnonzero(c.parent == symbol).tolist():
                pair = c.pair[r]
                used = self._used(r, span, k, r)
                pairs = (
                    (x, y)
                    for x in left.get(int(c.left[pair]), [])
                    for y in right.get(int(c.right[pair]), [])
                )
                trees += [x + y + used for x, y in pairs]
        check_count(self.i, len(trees), "trees of a span", self.most)
        return trees

    def _used(self, part: int, span: int, split: int, number: int) -> Parts:
        """A use of a rule or a step, with its anchor where it has one."""
        anchor = self.anchors.get((span, split, number))
        return Counter({part: 1}) if anchor is None else Counter({part: 1, anchor: 1})
