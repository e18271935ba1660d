"""From weights to the scores of edges, and from the residuals of edges to the weights, by way of their sums."""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.anchored.hashes import joined, template_hash, weights_of
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
def sizes_of(x):
    """How many templates each group has."""
    sizes = np.empty(GROUPS, np.int64)
    for group in range(GROUPS):
        sizes[group] = x.bounds[group + 1] - x.bounds[group]
    return sizes


@inlined
def features_of(x, codes, y, amounts):
    """Where the features of each sum begin, shape (sums + 1,), and the hashes of all of them; of sums with amounts alone."""
    of, count, groups, sizes, firsts = y.of, y.count[0], groups_of(y), sizes_of(x), y.firsts
    starts, names = np.zeros(count + 1, np.int64), names_of(x.forest)
    for q in range(1, count):
        column = np.int64(of[q, COLUMN])
        group = groups[column] if column >= 0 else SPAN if column == OF_SPAN else ANCHOR if column == OF_SPLIT else WORD
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
                z[first + j] = joined(template_hash(templates, atoms, bins, codes, t + j, at, end, split), name)
    return starts, z


@inlined
def sums_of(x, i):
    """The sums of the edges of sentence i, and the codes of its words."""
    f = x.forest
    codes, g = x.codes[f.tokens[i] : f.tokens[i + 1]], edges_of(f, i)
    y = open_sums(x, codes, len(g.left), len(g.edges) - 1)
    fill_sums(x, g, i, y)
    return y, codes


@inlined
def fill_scores(x, theta, i, s):
    """Fill s with the scores of the edges of sentence i, and zeros for its vertices."""
    y, codes = sums_of(x, i)
    starts, z = features_of(x, codes, y, np.ones(y.count[0]))
    weights, values, of, parts, edges = weights_of(x, z), np.zeros(y.count[0]), y.of, y.parts, y.edges
    for q in range(1, len(values)):
        total = 0.0
        for t in range(starts[q], starts[q + 1]):
            if weights[t] >= 0:
                total += theta[weights[t]]
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
def amounts_of(y, r, least):
    """The residual of each sum, given those of edges, of which those up to `least` count as zero."""
    amounts, of, parts, edges = np.zeros(y.count[0]), y.of, y.parts, y.edges
    for edge in range(len(edges)):
        amount = r[edge]
        if abs(amount) > least:
            for j in range(OF_EDGE):
                amounts[edges[edge, j]] += amount
    for q in range(len(amounts) - 1, 0, -1):
        if of[q, COLUMN] == OF_SPAN:
            for j in range(4):
                amounts[parts[q, j]] += amounts[q]
    return amounts


@inlined
def sink_of(mode, gradient, dense, starts, widths):
    """Make a sink, with scratch for a chunk of features."""
    return Sink(mode, gradient, dense, starts, widths, np.empty(CHUNK, np.uint64), np.empty(CHUNK))


@inlined
def walk(x, i, r, sink):
    """Hand every feature of sentence i to the sink, with the sum of the residuals of the edges that have it."""
    y, codes = sums_of(x, i)
    amounts = amounts_of(y, r, SMALLEST if sink.mode == SPARSE else 0.0)
    starts, z = features_of(x, codes, y, amounts)
    weights, waiting, indices, waiting_amounts = weights_of(x, z), 0, sink.indices, sink.amounts
    for q in range(1, len(amounts)):
        for t in range(starts[q], starts[q + 1]):
            if weights[t] >= 0:
                if waiting == CHUNK:
                    put_weights(sink, waiting)
                    waiting = 0
                indices[waiting], waiting_amounts[waiting] = weights[t], amounts[q]
                waiting += 1
    put_weights(sink, waiting)


@inlined
def list_hashes(x, i, r, found):
    """List the hashes of the features of edges whose residual is not 0, some perhaps more than once; return how many."""
    y, codes = sums_of(x, i)
    _, z = features_of(x, codes, y, amounts_of(y, r, 0.0))
    found[: len(z)] = z.view(np.int64)
    return len(z)
