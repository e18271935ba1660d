"""The sums that the scores of a sentence's edges are made of, and which edges have them.

Anchored rules share most of what they are scored by: a rule has the same weights with the templates
of the group BEGIN wherever a span with it begins at the same word. Rules, steps and labels are
*rows*; the values of the groups of templates that look at one place are *columns*: the words where
spans begin, those where they end, and so on. A *sum* is that of the weights of

    a row and a column;
    a row and a span: of the templates that look at several places of a span, and the sums of the
    span's four columns; a row, a span and a split: of the templates that look at the split and
    other places; a tag and its word.

The score of an anchored rule is a sum of such sums, of the rule and of its label; scores go from
sums to edges, and gradients the same way back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.anchored.hashes import joined, template_hash
from structopt.kernels.features.anchored.record import (
    ANCHOR,
    BEGIN,
    END,
    GROUPS,
    LEFT,
    LENGTH,
    NOTHING,
    RIGHT,
    SINGLE,
    SPAN,
    SPLIT,
    WITH_PARENT,
    WITH_RULE,
    WORD,
)
from structopt.kernels.features.hashing import partial
from structopt.kernels.forest.edges import STEP, TAG, edges_of
from structopt.kernels.grammar.charts import span_number
from structopt.kernels.waist.signatures import inlined

ROW, COLUMN, FIRST, LAST, AT = range(5)
"""Of a sum: its row; its column, `OF_SPAN`, `OF_SPLIT` or `OF_TAG`; begin and end of its span, and
its split.
"""
OF_SPAN, OF_SPLIT, OF_TAG = -1, -2, -3
NONE = 0
"""The sum of nothing."""
OF_EDGE = 10
"""Sums of an edge: of its rule and of its label those of the span, of the split, of both halves'
lengths, and of the anchor.
"""


class Sums(NamedTuple):
    """The sums of one sentence.

    Attributes
    ----------
    firsts : (SINGLE + 1,) the first column of each group
    hashes : (templates of these groups, columns of the widest group) partial hashes
    slot : (rows * columns,) the sum of each row and column; 0: none
    of : (sums, 5) what each sum is of
    parts : (sums, 4) the sums that are added to one of a span; nothing is added to others
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
def column_hashes(x, codes, t, group, hashes):
    """Fill in the partial hashes of a template that looks at one place, at its group's columns:
    words, or bins of lengths.
    """
    templates, atoms, bins = x.templates, x.atoms, x.bins
    for value in range(len(hashes)):
        if group in (NOTHING, BEGIN, END, SPLIT):
            hashes[value] = template_hash(templates, atoms, bins, codes, t, value, value, value)
        else:
            hashes[value] = partial(templates[t, 0], 0, 0) + partial(templates[t, 0], 1, value)


@inlined
def open_sums(x, codes, of_edges, vertices):
    """Make room for the sums of a sentence with so many vertices; `of_edges` becomes those of its
    edges.
    """
    n, f, edges = len(codes), x.forest, len(of_edges)
    firsts, widest = np.zeros(SINGLE + 1, np.int64), 1
    for group in range(SINGLE):
        firsts[group + 1] = firsts[group] + width_of(x, n, group)
        widest = max(widest, firsts[group + 1] - firsts[group])
    hashes = np.empty((x.bounds[SINGLE], widest), np.uint64)
    for group in range(SINGLE):
        for t in range(x.bounds[group], x.bounds[group + 1]):
            column_hashes(x, codes, t, group, hashes[t, : firsts[group + 1] - firsts[group]])
    entries = (len(f.parent) + len(f.step_top) + f.symbols) * firsts[SINGLE]
    room = 1 + min(entries, 10 * edges + 4 * vertices) + edges + vertices
    room += 2 * edges if x.bounds[ANCHOR] < x.bounds[ANCHOR + 1] else 0
    return Sums(
        firsts,
        hashes,
        np.zeros(entries, np.int32),
        np.empty((room, 5), np.int32),
        np.empty((room, 4), np.int32),
        of_edges,
        np.ones(1, np.int64),
    )


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


@inlined
def columns_of(x, y, n):
    """The columns of all words and lengths up to n, by group; -1 where a group has no templates."""
    columns = np.empty((SINGLE, n + 1), np.int64)
    for group in range(SINGLE):
        for value in range(n + 1):
            columns[group, value] = column_of(x, y, group, value)
    return columns


@inlined
def fill_sums(x, g, i, y):
    """Find the sums of all edges of sentence i.

    In inner loops arrays have names of their own, and go to no function: both would be counted as
    references each time.
    """
    f, R, U = x.forest, len(x.forest.parent), len(x.forest.step_top)
    n, spans, symbol = (
        f.tokens[i + 1] - f.tokens[i],
        f.spans[i],
        f.symbol[f.vertices[i] : f.vertices[i + 1]],
    )
    firsts, bottoms, tops, starts, split_of, number_of = (
        f.first,
        f.bottoms,
        f.tops,
        g.edges,
        g.split,
        g.number,
    )
    of, slot, parts, edges, width, count = y.of, y.slot, y.parts, y.edges, y.firsts[SINGLE], 1
    anchors, with_rule, with_label = (
        x.bounds[ANCHOR] < x.bounds[ANCHOR + 1],
        x.joined & WITH_RULE > 0,
        x.joined & WITH_PARENT > 0,
    )
    columns, own, stamp = (
        columns_of(x, y, n),
        np.empty(R + U + f.symbols, np.int64),
        np.zeros(R + U + f.symbols, np.int64),
    )
    rows, now, found, places = (
        np.empty(R + U + f.symbols, np.int64),
        0,
        np.empty(4, np.int64),
        np.empty(4, np.int64),
    )
    edges[:] = NONE
    for b in range(n):
        for e in range(b + 1, n + 1):
            cell = spans + span_number(n, b, e)
            first, last = firsts[cell], firsts[cell] + bottoms[cell] + tops[cell]
            if first == last:
                continue
            now, listed = now + 1, 0
            for v in range(first, last):  # the rows of this span
                label = R + U + symbol[v]
                if split_of[starts[v]] == TAG:
                    (
                        of[count, ROW],
                        of[count, COLUMN],
                        of[count, FIRST],
                        of[count, LAST],
                        of[count, AT],
                    ) = label, OF_TAG, b, e, b
                    edges[starts[v], 0] = count
                    count += 1
                    continue
                if with_label and stamp[label] != now:
                    stamp[label], rows[listed] = now, label
                    listed += 1
                if with_rule:
                    for at in range(starts[v], starts[v + 1]):
                        row = number_of[at] if split_of[at] > STEP else R + number_of[at]
                        if stamp[row] != now:
                            stamp[row], rows[listed] = now, row
                            listed += 1
            places[0], places[1] = columns[NOTHING, 0], columns[BEGIN, b]
            places[2], places[3] = columns[END, e], columns[LENGTH, e - b]
            for r in range(listed):  # the sums of these rows and the span
                row = rows[r]
                for j in range(4):
                    found[j] = NONE
                    if places[j] >= 0:
                        key = row * width + places[j]
                        if slot[key] == NONE:
                            slot[key], of[count, ROW], of[count, COLUMN] = count, row, places[j]
                            count += 1
                        found[j] = slot[key]
                (
                    of[count, ROW],
                    of[count, COLUMN],
                    of[count, FIRST],
                    of[count, LAST],
                    of[count, AT],
                ) = row, OF_SPAN, b, e, b
                for j in range(4):
                    parts[count, j] = found[j]
                own[row] = count
                count += 1
            # those of their splits
            for v in range(first, first + bottoms[cell] if e > b + 1 else first):
                label, split = R + U + symbol[v], -1
                for at in range(starts[v], starts[v + 1]):
                    k = np.int64(split_of[at])
                    places[0], places[1], places[2] = (
                        columns[SPLIT, k],
                        columns[LEFT, k - b],
                        columns[RIGHT, e - k],
                    )
                    for side in range(2):
                        row, mine = (np.int64(number_of[at]), 2) if side == 0 else (label, 6)
                        if not (with_rule if side == 0 else with_label):
                            continue
                        if side == 1 and k == split:
                            for j in range(4):
                                edges[at, 6 + j] = edges[at - 1, 6 + j]
                            continue
                        for j in range(3):
                            if places[j] >= 0:
                                key = row * width + places[j]
                                if slot[key] == NONE:
                                    slot[key], of[count, ROW], of[count, COLUMN] = (
                                        count,
                                        row,
                                        places[j],
                                    )
                                    count += 1
                                edges[at, mine + j] = slot[key]
                        if anchors:
                            of[count, ROW], of[count, COLUMN], of[count, FIRST] = row, OF_SPLIT, b
                            of[count, LAST], of[count, AT], edges[at, mine + 3] = e, k, count
                            count += 1
                    split = k
            for v in range(first, last):
                for at in range(starts[v], starts[v + 1]):
                    if split_of[at] != TAG:
                        if with_rule:
                            edges[at, 0] = own[
                                number_of[at] if split_of[at] > STEP else R + number_of[at]
                            ]
                        if with_label:
                            edges[at, 1] = own[R + U + symbol[v]]
    y.count[0] = count


@inlined
def groups_of(y):
    """The group of every column."""
    groups = np.empty(y.firsts[len(y.firsts) - 1], np.int64)
    for group in range(len(y.firsts) - 1):
        groups[y.firsts[group] : y.firsts[group + 1]] = group
    return groups


@inlined
def sizes_of(x):
    """How many templates each group has."""
    sizes = np.empty(GROUPS, np.int64)
    for group in range(GROUPS):
        sizes[group] = x.bounds[group + 1] - x.bounds[group]
    return sizes


@inlined
def names_of(f):
    """64 bits of the names of all rows: rules, steps, symbols."""
    return np.concatenate((f.rule_names, f.step_names, f.symbol_names))


@inlined
def features_of(x, codes, y, amounts):
    """Where the features of each sum begin, shape (sums + 1,), and the hashes of all of them; of
    sums with amounts alone.
    """
    of, count, groups, sizes, firsts = y.of, y.count[0], groups_of(y), sizes_of(x), y.firsts
    starts, names = np.zeros(count + 1, np.int32), names_of(x.forest)
    for q in range(1, count):
        column = np.int64(of[q, COLUMN])
        group = (
            groups[column]
            if column >= 0
            else SPAN
            if column == OF_SPAN
            else ANCHOR
            if column == OF_SPLIT
            else WORD
        )
        starts[q + 1] = starts[q] + (sizes[group] if amounts[q] != 0.0 else 0)
    z, b, e, own = np.empty(starts[count], np.uint64), -1, -1, np.empty(len(x.templates), np.uint64)
    of_columns, bounds, templates, atoms, bins = y.hashes, x.bounds, x.templates, x.atoms, x.bins
    for q in range(1, count):
        column, name, first = np.int64(of[q, COLUMN]), names[of[q, ROW]], starts[q]
        size = starts[q + 1] - first
        if size == 0:
            continue
        if column >= 0:
            t, place = bounds[groups[column]], column - firsts[groups[column]]
            for j in range(size):
                z[first + j] = joined(of_columns[t + j, place], name)
        elif column == OF_SPAN:
            if of[q, FIRST] != b or of[q, LAST] != e:
                b, e = np.int64(of[q, FIRST]), np.int64(of[q, LAST])
                for j in range(size):
                    own[j] = template_hash(templates, atoms, bins, codes, bounds[SPAN] + j, b, e, b)
            for j in range(size):
                z[first + j] = joined(own[j], name)
        else:
            t = bounds[ANCHOR if column == OF_SPLIT else WORD]
            at, end, split = np.int64(of[q, FIRST]), np.int64(of[q, LAST]), np.int64(of[q, AT])
            for j in range(size):
                z[first + j] = joined(
                    template_hash(templates, atoms, bins, codes, t + j, at, end, split), name
                )
    return starts, z


@inlined
def sums_of(x, i, edges):
    """The sums of sentence i, those of its edges in `edges`, shape (E, OF_EDGE); and the codes of
    its words.
    """
    f = x.forest
    codes, g = x.codes[f.tokens[i] : f.tokens[i + 1]], edges_of(f, i)
    y = open_sums(x, codes, edges, len(g.edges) - 1)
    fill_sums(x, g, i, y)
    of, parts = y.of, y.parts
    for q in range(y.count[0]):
        if of[q, COLUMN] != OF_SPAN:
            parts[q] = NONE
    return y, codes
