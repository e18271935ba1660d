"""Gradients of hashed templates: sparse or dense, or the list of their weights, filled feature by
feature.

A sparse gradient lists the weights that are touched, and their values; a hash table, as small as
their number allows, has their indices in the list: much of it stays in the second cache, where a
table of all weights would not. It has open addressing with linear probing; a weight's number is its
hash, since it is one already. Rows of label weights are a sparse set (Briggs and Torczon, 1993),
which needs no clearing: row w is in it at index q = row_slot[w] if q is below the count and
row_touched[q] = w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.hashing import rotated
from structopt.kernels.features.template_parts import GROUP
from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined

FEWEST = 4096  # slots of the smallest table
COUNTS = 4
SPARSE, DENSE, LISTED = np.arange(3)
"""Modes of a sink: a sparse gradient, a dense one, or a list of runs of weights."""


class SparseGradient(NamedTuple):
    """A sparse gradient, opened: sets of weights and of rows of label weights, and their values.

    Attributes
    ----------
    slot, touched, values : table of the indices of weights in the list, -1 where free; weights;
    their values row_slot, row_touched, rows : indices of rows in the list; rows; their values one
    after the other counts : (COUNTS,) how many weights (of a list: runs) and rows are in it; how
    much of the table is in use, a power of 2;
        how many weights are noted

    The same vectors hold a note (`structopt.kernels.features.template_notes`): weights in
    `touched`, and in `slot` the cell that each counts to.
    """

    slot: Ints
    touched: Ints
    row_slot: Ints
    row_touched: Ints
    counts: Longs
    values: Floats
    rows: Floats


GRADIENT = RecordLayout(SparseGradient)
open_gradient = GRADIENT.compiled


class Sink(NamedTuple):
    """What a walk over features fills: a sparse gradient, a dense one, or a list of runs.

    Attributes
    ----------
    mode : SPARSE, DENSE or LISTED
    g : SparseGradient
    dense : all weights
    starts, widths : runs; the count is that of `g`
    indices, amounts : scratch, the weights (or rows) of a chunk and the amount to be added to each
    """

    mode: int
    g: SparseGradient
    dense: np.ndarray
    starts: np.ndarray
    widths: np.ndarray
    indices: np.ndarray
    amounts: np.ndarray


@inlined
def put(x, sink, hashes, variants, r):
    """Add each part's residual to its feature's weights, plain and of the part's variant."""
    shift, entries = np.uint64(64 - x.hash_bits), np.int64(0)
    indices, amounts = sink.indices, sink.amounts
    if len(x.support) > 0 and sink.mode != DENSE:
        for k in range(len(r)):
            z = hashes[k] >> shift
            y = rotated(z, variants[k], GROUP)
            word = x.support[z >> np.uint64(6)]  # a group of weights has its bits in one word
            indices[entries] = z
            amounts[entries] = r[k]
            entries += np.int64((word >> (z & np.uint64(63))) & np.uint64(1))
            indices[entries] = y
            amounts[entries] = r[k]
            entries += np.int64((word >> (y & np.uint64(63))) & np.uint64(1))
    else:
        for k in range(len(r)):
            z = hashes[k] >> shift
            indices[entries] = z
            amounts[entries] = r[k]
            indices[entries + 1] = rotated(z, variants[k], GROUP)
            amounts[entries + 1] = r[k]
            entries += 2
    put_weights(sink, entries)


@inlined
def put_weights(sink, entries):
    """Add the first amounts of the scratch to their weights."""
    indices, amounts, g = sink.indices, sink.amounts, sink.g
    if sink.mode == SPARSE:
        slot, touched, values, count = g.slot, g.touched, g.values, g.counts[0]
        if 2 * (count + entries) > g.counts[2]:
            enlarge(g, 2 * (count + entries))
        last = np.uint64(g.counts[2] - 1)
        for k in range(entries):
            w = indices[k]
            at = w & last
            while True:
                q = slot[at]
                if q < 0:
                    slot[at] = count
                    touched[count] = w
                    values[count] = amounts[k]
                    count += 1
                    break
                if touched[np.uint64(q)] == np.int64(w):
                    values[np.uint64(q)] += amounts[k]
                    break
                at = (at + np.uint64(1)) & last
        g.counts[0] = count
    elif sink.mode == DENSE:
        for k in range(entries):
            sink.dense[indices[k]] += amounts[k]
    else:
        list_weights_as_runs(sink, entries)


@inlined
def clear(g):
    """Empty a sparse gradient."""
    g.counts[:] = 0


@inlined
def squared_norm(g):
    """Sum of the squares of the values of the weights."""
    norm = 0.0
    for q in range(g.counts[0]):
        norm += g.values[q] * g.values[q]
    return norm


@inlined
def add_weights(theta, g, step):
    """Theta += step * g, of the weights."""
    for q in range(g.counts[0]):
        theta[np.uint64(g.touched[q])] += step * g.values[q]


@inlined
def product_of_weights(theta, g):
    """Inner product of theta and g, of the weights."""
    total = 0.0
    for q in range(g.counts[0]):
        total += theta[np.uint64(g.touched[q])] * g.values[q]
    return total


@inlined
def list_weights(g, indices, values):
    """Write the weights whose values are not 0, and these, as pairs; return how many."""
    listed = 0
    for q in range(g.counts[0]):
        if g.values[q] != 0.0:
            indices[listed], values[listed] = g.touched[q], g.values[q]
            listed += 1
    return listed


@inlined
def no_gradient():
    """Return an empty gradient, of no use but for its counts."""
    i, f = np.empty(0, np.int32), np.empty(0)
    return SparseGradient(i, i, i, i, np.zeros(COUNTS, np.int64), f, f)


@inlined
def enlarge(g, least):
    """Use at least so many slots of the table, or all of it, which is more than the list may
    need.
    """
    size = max(g.counts[2], FEWEST)
    while size < least:
        size *= 2
    size = min(size, len(g.slot))
    if size == g.counts[2]:
        return
    g.counts[2] = size
    g.slot[:size] = -1
    for q in range(g.counts[0]):
        at = np.int64(g.touched[q]) & (size - 1)
        while g.slot[at] >= 0:
            at = (at + 1) & (size - 1)
        g.slot[at] = q


@inlined
def allowed(support, w):
    """Whether a weight may move."""
    return len(support) == 0 or (support[w >> np.uint64(6)] >> (w & np.uint64(63))) & np.uint64(
        1
    ) == np.uint64(1)


@inlined
def put_rows(x, sink, entries, owner, R):
    """Add rows of residuals R[owner[k]], of which the first L count, to the first rows of label
    weights of the scratch.
    """
    g, L, indices = sink.g, x.labels, sink.indices
    rows = g.rows if sink.mode == SPARSE else sink.dense[np.int64(1) << x.hash_bits :]
    for k in range(entries):
        w, row = np.int64(indices[k]), R[owner[k]]
        if sink.mode == SPARSE:
            q, new = place_of_row(g, w)
            if new:
                rows[q * L : (q + 1) * L] = 0.0
            w = q
        target = rows[w * L : (w + 1) * L]
        for y in range(L):
            target[y] += row[y]


@inlined
def place_of_row(g, w):
    """Return the index of a row in the set, and whether it was not in it and is now."""
    q, count = np.int64(g.row_slot[w]), g.counts[1]
    if q < count and g.row_touched[q] == w:
        return q, False
    g.row_slot[w] = count
    g.row_touched[count] = w
    g.counts[1] = count + 1
    return count, True


@inlined
def list_weights_as_runs(sink, entries):
    """List the first weights of the scratch as runs, as long as there is room; else the count
    becomes -1.
    """
    count = sink.g.counts[0]
    if count < 0 or count + entries > len(sink.starts):
        sink.g.counts[0] = -1
        return
    for k in range(entries):
        sink.starts[count + k] = np.int64(sink.indices[k])
        sink.widths[count + k] = 1
    sink.g.counts[0] = count + entries
