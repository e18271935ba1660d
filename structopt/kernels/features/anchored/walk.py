"""From weights to the scores of edges, and from the residuals of edges to the weights, by way of their sums."""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.anchored.hashes import joined, template_hash, weight_of
from structopt.kernels.features.anchored.record import ANCHOR, GROUPS, SPAN, WORD
from structopt.kernels.features.anchored.sums import (
    AT,
    COLUMN,
    FIRST,
    LAST,
    OF_EDGE,
    OF_SPAN,
    OF_SPLIT,
    ROW,
    fill_sums,
    open_sums,
)
from structopt.kernels.features.template_gradient import SPARSE, Sink, put_weights
from structopt.kernels.forest.edges import edges_of
from structopt.kernels.waist.signatures import inlined

HASHES = 3
"""Mode of a sink that lists the hashes of features in `starts`; the count is that of its gradient."""
SMALLEST = 1e-9
"""A residual below this is taken for zero in sparse gradients: its gradient would drown in rounding."""
CHUNK = 512


@inlined
def names_of(f):
    """64 bits of the names of all rows: rules, steps, symbols."""
    return np.concatenate((f.rule_names, f.step_names, f.symbol_names))


@inlined
def groups_of(y):
    """The group of every column."""
    groups = np.empty(y.firsts[len(y.firsts) - 1], np.int64)
    for group in range(len(y.firsts) - 1):
        groups[y.firsts[group] : y.firsts[group + 1]] = group
    return groups


@inlined
def sums_of(x, i):
    """The edges of sentence i, the codes of its words, and the sums of its edges."""
    f = x.forest
    codes, g = x.codes[f.tokens[i] : f.tokens[i + 1]], edges_of(f, i)
    y = open_sums(x, codes, len(g.left), len(g.edges) - 1)
    fill_sums(x, g, i, y)
    return g, codes, y


@inlined
def span_hashes(x, codes, b, e, hashes):
    """Fill in the partial hashes of the templates that look at several places of a span."""
    for t in range(x.bounds[SPAN], x.bounds[SPAN + 1]):
        hashes[t - x.bounds[SPAN]] = template_hash(x, codes, t, b, e, b)


@inlined
def other_hashes(x, codes, group, b, e, k, hashes):
    """Fill in the partial hashes of the templates of a split, or of a word."""
    for t in range(x.bounds[group], x.bounds[group + 1]):
        hashes[t - x.bounds[group]] = template_hash(x, codes, t, b, e, k)


@inlined
def all_hashes(x, codes, y):
    """Where the partial hashes of each sum's templates begin in a list, shape (sums, 2) with their number, and the list.

    Those of a column or of a span are in it once for all sums of the same column or span.
    """
    of, count, groups, columns = y.of, y.count[0], groups_of(y), y.firsts[len(y.firsts) - 1]
    where, most, wide = np.zeros((count, 2), np.int64), len(x.templates), 0
    of_column, b, e = np.empty(columns, np.int64), -1, -1
    for q in range(1, count):
        if of[q, COLUMN] < 0 and (of[q, COLUMN] != OF_SPAN or of[q, FIRST] != b or of[q, LAST] != e):
            wide += 1
            if of[q, COLUMN] == OF_SPAN:
                b, e = of[q, FIRST], of[q, LAST]
    found, at, of_span, b, e = np.empty((columns + wide) * most, np.uint64), 0, 0, -1, -1
    for column in range(columns):
        first, group = y.firsts[groups[column]], groups[column]
        of_column[column] = at
        for t in range(x.bounds[group], x.bounds[group + 1]):
            found[at] = y.hashes[t, column - first]
            at += 1
    sizes = np.empty(GROUPS, np.int64)
    for group in range(GROUPS):
        sizes[group] = x.bounds[group + 1] - x.bounds[group]
    for q in range(1, count):
        column = np.int64(of[q, COLUMN])
        if column >= 0:
            where[q, 0], where[q, 1] = of_column[column], sizes[groups[column]]
        elif column == OF_SPAN:
            if of[q, FIRST] != b or of[q, LAST] != e:
                b, e, of_span = of[q, FIRST], of[q, LAST], at
                span_hashes(x, codes, np.int64(b), np.int64(e), found[at:])
                at += sizes[SPAN]
            where[q, 0], where[q, 1] = of_span, sizes[SPAN]
        else:
            group = ANCHOR if column == OF_SPLIT else WORD
            other_hashes(x, codes, group, np.int64(of[q, FIRST]), np.int64(of[q, LAST]), np.int64(of[q, AT]), found[at:])
            where[q, 0], where[q, 1] = at, sizes[group]
            at += sizes[group]
    return where, found


@inlined
def fill_scores(x, theta, i, s):
    """Fill s with the scores of the edges of sentence i, and zeros for its vertices."""
    g, codes, y = sums_of(x, i)
    where, hashes = all_hashes(x, codes, y)
    names, values, of, parts, edges = names_of(x.forest), np.zeros(y.count[0]), y.of, y.parts, y.edges
    seen, ranks, shift, gold, others = x.seen, x.ranks, np.uint64(64 - x.hash_bits), x.gold, x.others
    for q in range(1, len(values)):
        name, total = names[of[q, ROW]], 0.0
        for t in range(where[q, 0], where[q, 0] + where[q, 1]):
            w = weight_of(seen, ranks, shift, gold, others, joined(hashes[t], name))
            if w >= 0:
                total += theta[w]
        if of[q, COLUMN] == OF_SPAN:
            for j in range(4):
                total += values[parts[q, j]]
        values[q] = total
    s[len(edges) :] = 0.0
    for edge in range(len(edges)):
        total = 0.0
        for j in range(OF_EDGE):
            total += values[edges[edge, j]]
        s[edge] = total


@inlined
def sink_of(mode, gradient, dense, starts, widths, templates):
    """Make a sink, with scratch for a chunk of features and those of one sum more."""
    return Sink(mode, gradient, dense, starts, widths, np.empty(CHUNK + templates, np.uint64), np.empty(CHUNK + templates))


@inlined
def walk(x, i, r, sink):
    """Hand every feature of sentence i to the sink, with the sum of the residuals of the edges that have it."""
    g, codes, y = sums_of(x, i)
    where, hashes = all_hashes(x, codes, y)
    names, values, of, parts, edges = names_of(x.forest), np.zeros(y.count[0]), y.of, y.parts, y.edges
    seen, ranks, shift, gold, others = x.seen, x.ranks, np.uint64(64 - x.hash_bits), x.gold, x.others
    least, waiting, indices, amounts = SMALLEST if sink.mode == SPARSE else 0.0, 0, sink.indices, sink.amounts
    found, listed, listing = sink.starts, 0, sink.mode == HASHES
    for edge in range(len(edges)):
        amount = r[edge]
        if abs(amount) > least:
            for j in range(OF_EDGE):
                values[edges[edge, j]] += amount
    for q in range(len(values) - 1, 0, -1):
        amount = values[q]
        if amount == 0.0:
            continue
        if of[q, COLUMN] == OF_SPAN:
            for j in range(4):
                values[parts[q, j]] += amount
        name = names[of[q, ROW]]
        for t in range(where[q, 0], where[q, 0] + where[q, 1]):
            z = joined(hashes[t], name)
            if listing:
                found[listed] = np.int64(z)
                listed += 1
                continue
            w = weight_of(seen, ranks, shift, gold, others, z)
            if w >= 0:
                indices[waiting], amounts[waiting] = w, amount
                waiting += 1
        if waiting > CHUNK:
            put_weights(sink, waiting)
            waiting = 0
    if listing:
        sink.g.counts[0] = listed
    else:
        put_weights(sink, waiting)
