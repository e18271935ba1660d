"""Scores of links from tables of the document, and residuals of links to the weights by way of the
same tables.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.hashing import finish, partial
from structopt.kernels.features.mentions.classes import (
    document_of,
    measure_hashes,
    measure_pairs,
    mention_hashes,
    values_of_table,
)
from structopt.kernels.features.mentions.record import ANTECEDENT, MENTION
from structopt.kernels.features.template_gradient import DENSE, SPARSE, put_weights
from structopt.kernels.waist.signatures import inlined

SMALLEST = 1e-9
"""A residual below this is taken for zero in sparse gradients: its gradient would drown in
rounding.
"""
CHUNK = 512
LEAST = 64
"""Cells that a table may have in any document."""


@inlined
def is_dense(x, d, table):
    """Whether a table has no more cells than there are links: else templates are looked up link by
    link. So are all templates of a single mention.
    """
    if d.own > 0:
        return False
    cells = d.counts[x.tables[table, 0]] * d.counts[x.tables[table, 1]] * values_of_table(x, table)
    return cells <= max(d.starts[len(d.starts) - 1], LEAST)


@inlined
def hashes_of(x, d, t, table, mentions, antecedents):
    """Partial hashes of template t at the classes of its sets, and at the values of its
    measures.
    """
    first, second = np.empty(len(mentions), np.uint64), np.empty(len(antecedents), np.uint64)
    third = np.empty(values_of_table(x, table), np.uint64)
    mention_hashes(x, t, MENTION, d.begin, mentions, first)
    mention_hashes(x, t, ANTECEDENT, d.begin, antecedents, second)
    measure_hashes(x, t, table, third)
    return first, second, third


@inlined
def examples_of(d, number):
    """A mention of each class of a set."""
    return d.examples[number, : d.counts[number]]


@inlined
def classes_of(d, wide, narrow):
    """The class in the set `narrow` of each class in the set `wide`, which tells more apart."""
    out = np.empty(d.counts[wide], np.int64)
    for c in range(len(out)):
        out[c] = d.of[narrow, d.examples[wide, c]]
    return out


@inlined
def fill_table(x, d, theta, table):
    """Return the scores of a table's cells: shape (classes of the mention, classes of the
    antecedent, values of measures).
    """
    wide, wide_too, values = x.tables[table, 0], x.tables[table, 1], values_of_table(x, table)
    out, shift = np.zeros((d.counts[wide], d.counts[wide_too], values)), np.uint64(64 - x.hash_bits)
    for q in range(x.tables[table, 2], x.tables[table, 3]):
        narrow, narrow_too = x.lists[q, 0], x.lists[q, 1]
        mentions, antecedents = examples_of(d, narrow), examples_of(d, narrow_too)
        own = np.zeros((len(mentions), len(antecedents), values))
        for t in range(x.lists[q, 2], x.lists[q, 3]):
            first, second, third = hashes_of(x, d, t, table, mentions, antecedents)
            for c in range(len(first)):
                for e in range(len(second)):
                    row, both = own[c, e], first[c] + second[e]
                    for v in range(len(row)):
                        row[v] += theta[finish(both + third[v]) >> shift]
        classes, classes_too = classes_of(d, wide, narrow), classes_of(d, wide_too, narrow_too)
        for c in range(len(classes)):
            for e in range(len(classes_too)):
                row, target = own[classes[c], classes_too[e]], out[c, e]
                for v in range(len(row)):
                    target[v] += row[v]
    return out


@inlined
def score_links(x, d, theta, s):
    """Add the scores of all links of a document to s."""
    n, room, shift = (
        len(d.starts) - 1,
        np.empty(len(d.starts), np.int64),
        np.uint64(64 - x.hash_bits),
    )
    for table in range(len(x.tables)):
        dense, of, of_too = (
            is_dense(x, d, table),
            d.of[x.tables[table, 0]],
            d.of[x.tables[table, 1]],
        )
        if dense:
            cells = fill_table(x, d, theta, table)
            values = cells.shape[2]
            for m in range(d.own, n):
                links = d.starts[m + 1] - d.starts[m] - 1
                first, value, at = m - links, room[:links], d.starts[m] + 1
                measure_pairs(x, d, table, m, first, value)
                row = cells[of[m]].reshape(cells.shape[1] * values)
                for k in range(links):
                    s[np.uint64(at + k)] += row[
                        np.uint64(of_too[np.uint64(first + k)] * values + value[np.uint64(k)])
                    ]
            continue
        every = np.arange(n)
        for q in range(x.tables[table, 2], x.tables[table, 3]):
            for t in range(x.lists[q, 2], x.lists[q, 3]):
                a, b, c = hashes_of(x, d, t, table, every[d.own :], every)
                for m in range(d.own, n):
                    links = d.starts[m + 1] - d.starts[m] - 1
                    first, value, at = m - links, room[:links], d.starts[m] + 1
                    measure_pairs(x, d, table, m, first, value)
                    for k in range(links):
                        s[at + k] += theta[
                            finish(a[m - d.own] + b[first + k] + c[value[k]]) >> shift
                        ]


@inlined
def fill_scores(x, theta, i, s):
    """Fill s with the scores of the parts of document i."""
    d, shift = document_of(x, i), np.uint64(64 - x.hash_bits)
    s[:] = 0.0
    every = np.arange(d.own, len(d.starts) - 1)
    hashes = np.empty(len(every), np.uint64)
    for t in range(x.new[0], x.new[1]):
        mention_hashes(x, t, MENTION, d.begin, every, hashes)
        constant = partial(x.templates[t, 0], 0, 0)
        for m in range(len(every)):
            s[d.starts[every[m]]] += theta[finish(hashes[m] + constant) >> shift]
    score_links(x, d, theta, s)


@inlined
def moves(free, support, w):
    """Whether a weight may move."""
    return free or (support[w >> np.uint64(6)] >> (w & np.uint64(63))) & np.uint64(1) == np.uint64(
        1
    )


@inlined
def put_table(x, d, table, amounts, sink, waiting):
    """Hand the features of a table's cells to the sink, given the residuals of the cells."""
    wide, wide_too, shift = x.tables[table, 0], x.tables[table, 1], np.uint64(64 - x.hash_bits)
    support, indices, waiting_amounts = x.support, sink.indices, sink.amounts
    free = len(support) == 0 or sink.mode == DENSE
    for q in range(x.tables[table, 2], x.tables[table, 3]):
        narrow, narrow_too = x.lists[q, 0], x.lists[q, 1]
        mentions, antecedents = examples_of(d, narrow), examples_of(d, narrow_too)
        own = np.zeros((len(mentions), len(antecedents), amounts.shape[2]))
        classes, classes_too = classes_of(d, wide, narrow), classes_of(d, wide_too, narrow_too)
        for c in range(len(classes)):
            for e in range(len(classes_too)):
                row, target = amounts[c, e], own[classes[c], classes_too[e]]
                for v in range(len(row)):
                    target[v] += row[v]
        for t in range(x.lists[q, 2], x.lists[q, 3]):
            first, second, third = hashes_of(x, d, t, table, mentions, antecedents)
            for c in range(len(first)):
                for e in range(len(second)):
                    row, both = own[c, e], first[c] + second[e]
                    for v in range(len(row)):
                        w = finish(both + third[v]) >> shift
                        if row[v] != 0.0 and moves(free, support, w):
                            if waiting == CHUNK:
                                put_weights(sink, waiting)
                                waiting = np.int64(0)
                            indices[np.uint64(waiting)], waiting_amounts[np.uint64(waiting)] = (
                                w,
                                row[v],
                            )
                            waiting += 1
    return waiting


@inlined
def put_links(x, d, r, sink, waiting):
    """Hand the features of all links of a document to the sink, given the residuals of its
    parts.
    """
    n, room, least = (
        len(d.starts) - 1,
        np.empty(len(d.starts), np.int64),
        SMALLEST if sink.mode == SPARSE else 0.0,
    )
    support, indices, waiting_amounts, shift = (
        x.support,
        sink.indices,
        sink.amounts,
        np.uint64(64 - x.hash_bits),
    )
    free = len(support) == 0 or sink.mode == DENSE
    for table in range(len(x.tables)):
        dense, of, of_too = (
            is_dense(x, d, table),
            d.of[x.tables[table, 0]],
            d.of[x.tables[table, 1]],
        )
        if dense:
            values = values_of_table(x, table)
            amounts = np.zeros((d.counts[x.tables[table, 0]], d.counts[x.tables[table, 1]], values))
            for m in range(d.own, n):
                links = d.starts[m + 1] - d.starts[m] - 1
                first, value, at = m - links, room[:links], d.starts[m] + 1
                measure_pairs(x, d, table, m, first, value)
                row = amounts[of[m]].reshape(amounts.shape[1] * values)
                for k in range(links):
                    amount = r[np.uint64(at + k)]
                    if abs(amount) > least:
                        row[
                            np.uint64(of_too[np.uint64(first + k)] * values + value[np.uint64(k)])
                        ] += amount
            waiting = put_table(x, d, table, amounts, sink, waiting)
            continue
        every = np.arange(n)
        for q in range(x.tables[table, 2], x.tables[table, 3]):
            for t in range(x.lists[q, 2], x.lists[q, 3]):
                a, b, c = hashes_of(x, d, t, table, every[d.own :], every)
                for m in range(d.own, n):
                    links = d.starts[m + 1] - d.starts[m] - 1
                    first, value, at = m - links, room[:links], d.starts[m] + 1
                    measure_pairs(x, d, table, m, first, value)
                    for k in range(links):
                        w = finish(a[m - d.own] + b[first + k] + c[value[k]]) >> shift
                        if abs(r[at + k]) > least and moves(free, support, w):
                            if waiting == CHUNK:
                                put_weights(sink, waiting)
                                waiting = np.int64(0)
                            indices[waiting], waiting_amounts[waiting] = w, r[at + k]
                            waiting += 1
    return waiting


@inlined
def walk(x, i, r, sink):
    """Hand every feature of document i to the sink, with the residuals of the parts that have
    it.
    """
    d, waiting, least = document_of(x, i), np.int64(0), SMALLEST if sink.mode == SPARSE else 0.0
    every, shift = np.arange(d.own, len(d.starts) - 1), np.uint64(64 - x.hash_bits)
    hashes, support, free = (
        np.empty(len(every), np.uint64),
        x.support,
        len(x.support) == 0 or sink.mode == DENSE,
    )
    for t in range(x.new[0], x.new[1]):
        mention_hashes(x, t, MENTION, d.begin, every, hashes)
        constant = partial(x.templates[t, 0], 0, 0)
        for m in range(len(every)):
            w, residual = finish(hashes[m] + constant) >> shift, r[d.starts[every[m]]]
            if abs(residual) > least and moves(free, support, w):
                if waiting == CHUNK:
                    put_weights(sink, waiting)
                    waiting = np.int64(0)
                sink.indices[waiting], sink.amounts[waiting] = w, residual
                waiting += 1
    put_weights(sink, put_links(x, d, r, sink, waiting))
