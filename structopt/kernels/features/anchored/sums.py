"""The sums that the scores of a sentence's edges are made of, and which edges have them.

Anchored rules share most of what they are scored by: a rule has the same weights with the templates of the group BEGIN wherever
a span with it begins at the same word. Rules, steps and labels are *rows*; the values of the groups of templates that look at
one place are *columns*: the words where spans begin, those where they end, and so on. A *sum* is that of the weights of

    a row and a column;
    a row and a span: of the templates that look at several places of a span, and the sums of the span's four columns;
    a row, a span and a split: of the templates that look at the split and other places;
    a tag and its word.

The score of an anchored rule is a sum of such sums, of the rule and of its label; scores go from sums to edges, and gradients
the same way back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.anchored.hashes import template_hash
from structopt.kernels.features.anchored.record import (
    ANCHOR,
    BEGIN,
    END,
    LEFT,
    LENGTH,
    NOTHING,
    RIGHT,
    SINGLE,
    SPLIT,
    WITH_PARENT,
    WITH_RULE,
)
from structopt.kernels.features.hashing import partial
from structopt.kernels.forest.edges import STEP, TAG
from structopt.kernels.grammar.charts import span_number
from structopt.kernels.waist.signatures import inlined, merged

ROW, COLUMN, FIRST, LAST, AT = range(5)
"""Of a sum: its row; its column, `OF_SPAN`, `OF_SPLIT` or `OF_TAG`; begin and end of its span, and its split."""
OF_SPAN, OF_SPLIT, OF_TAG = -1, -2, -3
NONE = 0
"""The sum of nothing."""
OF_EDGE = 10
"""Sums of an edge: of its rule and of its label those of the span, of the split, of both halves' lengths, and of the anchor."""


class Sums(NamedTuple):
    """The sums of one sentence.

    Attributes
    ----------
    firsts : (SINGLE + 1,) the first column of each group
    hashes : (templates of these groups, columns of the widest group) partial hashes
    slot : (rows * columns,) the sum of each row and column; 0: none
    of : (sums, 5) what each sum is of
    parts : (sums, 4) the sums that are added to one of a span
    edges : (E, OF_EDGE) the sums of each edge
    count : (1,) how many sums there are, with that of nothing
    """

    firsts: np.ndarray
    hashes: np.ndarray
    slot: np.ndarray
    of: np.ndarray
    parts: np.ndarray
    edges: np.ndarray
    count: np.ndarray


@inlined
def width_of(x, n, group):
    """How many columns a group has; none where no template is in it."""
    if x.bounds[group] == x.bounds[group + 1]:
        return 0
    if group == NOTHING:
        return 1
    return n + 1 if group in (BEGIN, END, SPLIT) else x.bins[len(x.bins) - 1] + 1


@inlined
def column_hash(x, codes, t, group, value):
    """Partial hash of a template that looks at one place, given its column within the group: a word, or the bin of a length."""
    if group in (NOTHING, BEGIN, END, SPLIT):
        return template_hash(x, codes, t, value, value, value)
    return partial(x.templates[t, 0], 0, 0) + partial(x.templates[t, 0], 1, value)


@inlined
def open_sums(x, codes, edges, vertices):
    """Make room for the sums of a sentence with so many edges and vertices."""
    n, f = len(codes), x.forest
    firsts, widest = np.zeros(SINGLE + 1, np.int64), 1
    for group in range(SINGLE):
        firsts[group + 1] = firsts[group] + width_of(x, n, group)
        widest = max(widest, firsts[group + 1] - firsts[group])
    hashes = np.empty((x.bounds[SINGLE], widest), np.uint64)
    for group in range(SINGLE):
        for t in range(x.bounds[group], x.bounds[group + 1]):
            for value in range(firsts[group + 1] - firsts[group]):
                hashes[t, value] = column_hash(x, codes, t, group, value)
    entries = (len(f.parent) + len(f.step_top) + f.symbols) * firsts[SINGLE]
    room = 1 + min(entries, 10 * edges + 4 * vertices) + edges + vertices
    room += 2 * edges if x.bounds[ANCHOR] < x.bounds[ANCHOR + 1] else 0
    of_edges = np.empty((edges, OF_EDGE), np.int32)
    return Sums(
        firsts, hashes, np.zeros(entries, np.int32), np.empty((room, 5), np.int32), np.empty((room, 4), np.int32), of_edges,
        np.ones(1, np.int64),
    )  # fmt: skip


@inlined
def column_of(x, y, group, value):
    """The column of a word, or of a length; -1 where the group has no templates."""
    if y.firsts[group] == y.firsts[group + 1]:
        return np.int64(-1)
    if group == NOTHING:
        return y.firsts[group]
    if group in (BEGIN, END, SPLIT):
        return y.firsts[group] + value
    return y.firsts[group] + x.bins[min(value, len(x.bins) - 1)]


@merged
def new_sum(of, count, row, column, b, e, k):
    """Add a sum, and return its number."""
    q = count[0]
    count[0] = q + 1
    of[q, ROW], of[q, COLUMN], of[q, FIRST], of[q, LAST], of[q, AT] = row, column, b, e, k
    return q


@merged
def sum_at(of, count, slot, width, row, column):
    """The sum of a row and a column; that of nothing where the column is -1."""
    q = NONE
    if column >= 0:
        q = np.int64(slot[row * width + column])
        if q == NONE:
            q = count[0]
            count[0] = q + 1
            of[q, ROW], of[q, COLUMN] = row, column
            slot[row * width + column] = q
    return q


@merged
def sum_of_span(of, count, slot, width, parts, columns, row, b, e):
    """Add the sum of a row and a span, after those that are added to it."""
    nothing, begin = sum_at(of, count, slot, width, row, columns[0]), sum_at(of, count, slot, width, row, columns[1])
    end, length = sum_at(of, count, slot, width, row, columns[2]), sum_at(of, count, slot, width, row, columns[3])
    q = new_sum(of, count, row, OF_SPAN, b, e, 0)
    parts[q, 0], parts[q, 1], parts[q, 2], parts[q, 3] = nothing, begin, end, length
    return q


@inlined
def fill_sums(x, g, i, y):
    """Find the sums of all edges of sentence i. Arrays have names of their own, which inner loops read faster than fields."""
    f = x.forest
    n, R, U, symbol = f.tokens[i + 1] - f.tokens[i], len(f.parent), len(f.step_top), f.symbol[f.vertices[i] : f.vertices[i + 1]]
    spans, firsts, bottoms, tops = f.spans[i], f.first, f.bottoms, f.tops
    starts, split_of, number_of = g.edges, g.split, g.number
    of, count, slot, parts, edges, width = y.of, y.count, y.slot, y.parts, y.edges, y.firsts[SINGLE]
    of_rule, stamp, now = np.empty(R, np.int64), np.zeros(R, np.int64), 0
    anchors, with_rule, with_label = x.bounds[ANCHOR] < x.bounds[ANCHOR + 1], x.joined & WITH_RULE, x.joined & WITH_PARENT
    lefts, rights = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    splits, columns = np.empty(n + 1, np.int64), np.empty(4, np.int64)
    for value in range(n + 1):
        splits[value] = column_of(x, y, SPLIT, value)
        lefts[value], rights[value] = column_of(x, y, LEFT, value), column_of(x, y, RIGHT, value)
    edges[:] = NONE
    for b in range(n):
        for e in range(b + 1, n + 1):
            cell = spans + span_number(n, b, e)
            first, last = firsts[cell], firsts[cell] + bottoms[cell] + tops[cell]
            if first == last:
                continue
            now += 1
            columns[0], columns[1] = column_of(x, y, NOTHING, 0), column_of(x, y, BEGIN, b)
            columns[2], columns[3] = column_of(x, y, END, e), column_of(x, y, LENGTH, e - b)
            for v in range(first, last):
                label, of_label, split = R + U + symbol[v], NONE, -1
                of_split, of_left, of_right, of_anchor = NONE, NONE, NONE, NONE
                if with_label and split_of[starts[v]] != TAG:
                    of_label = sum_of_span(of, count, slot, width, parts, columns, label, b, e)
                for at in range(starts[v], starts[v + 1]):
                    k, number = np.int64(split_of[at]), np.int64(number_of[at])
                    if k == TAG:
                        edges[at, 0] = new_sum(of, count, label, OF_TAG, b, e, b)
                        continue
                    edges[at, 1] = of_label
                    if k == STEP:
                        if with_rule:
                            edges[at, 0] = sum_of_span(of, count, slot, width, parts, columns, R + number, b, e)
                        continue
                    if with_label:
                        if k != split:
                            split, of_split = k, sum_at(of, count, slot, width, label, splits[k])
                            of_left = sum_at(of, count, slot, width, label, lefts[k - b])
                            of_right = sum_at(of, count, slot, width, label, rights[e - k])
                            if anchors:
                                of_anchor = new_sum(of, count, label, OF_SPLIT, b, e, k)
                        edges[at, 6], edges[at, 7], edges[at, 8], edges[at, 9] = of_split, of_left, of_right, of_anchor
                    if with_rule:
                        if stamp[number] != now:
                            stamp[number] = now
                            of_rule[number] = sum_of_span(of, count, slot, width, parts, columns, number, b, e)
                        edges[at, 0] = of_rule[number]
                        edges[at, 2] = sum_at(of, count, slot, width, number, splits[k])
                        edges[at, 3] = sum_at(of, count, slot, width, number, lefts[k - b])
                        edges[at, 4] = sum_at(of, count, slot, width, number, rights[e - k])
                        if anchors:
                            edges[at, 5] = new_sum(of, count, number, OF_SPLIT, b, e, k)
