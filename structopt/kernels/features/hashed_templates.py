"""The block *hashed templates*: features of dependency arcs, labels, siblings and grandparents,
computed where they are needed.

Nothing is stored of a feature but its weight, whose index is the hash of a template and of the
tokens' interned codes (see `structopt.kernels.features.hashing`). A feature of an arc, of siblings
or of grandparents has one weight, plain, and one for each variant (direction and distance; sides);
one of the labels on an arc a row of L weights. The weights are 2^hash_bits of the former and then
2^label_bits rows.

A gradient is sparse: weights that are touched and their values, and likewise rows.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.template_gradient import (
    DENSE,
    SPARSE,
    Sink,
    add_weights,
    clear,
    list_weights,
    no_gradient,
    open_gradient,
    product_of_weights,
    squared_norm,
)
from structopt.kernels.features.template_parts import CHUNK, open_hashed
from structopt.kernels.features.template_walk import walk
from structopt.kernels.waist.signatures import (
    ACCUMULATE,
    ADD,
    ADD_BOTH,
    DOT,
    FLATTEN,
    PULLBACK,
    inlined,
    kernel,
)


@inlined
def sink(mode, gradient, dense, starts, widths):
    """Make a sink, with scratch for a chunk of features and those of one token more."""
    size = 2 * CHUNK + 32
    return Sink(mode, gradient, dense, starts, widths, np.empty(size, np.uint64), np.empty(size))


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r, restricted to the supported weights; return its
    squared norm.
    """
    x, g, none = open_hashed(features), open_gradient(gradient), np.empty(0, np.int64)
    clear(g)
    walk(x, i, r, sink(SPARSE, g, np.empty(0), none, none))
    norm, L, words = squared_norm(g), x.labels, (x.labels + 63) // 64
    for q in range(g.counts[1]):
        row, first = g.rows[q * L : (q + 1) * L], np.int64(g.row_touched[q]) * words
        if len(x.row_support) > 0:
            for y in range(L):
                word = x.row_support[first + y // 64]
                row[y] = (
                    row[y] if (word >> np.uint64(y % 64)) & np.uint64(1) == np.uint64(1) else 0.0
                )
        for y in range(L):
            norm += row[y] * row[y]
    return norm


@kernel(ADD)
def add(features, theta, gradient, step):
    """Theta += step * gradient, in O(nnz)."""
    x, g = open_hashed(features), open_gradient(gradient)
    hash_bits, L = x.hash_bits, x.labels
    add_weights(theta, g, step)
    for q in range(g.counts[1]):
        row_start = (np.int64(1) << hash_bits) + np.int64(g.row_touched[q]) * L
        target, row = theta[row_start : row_start + L], g.rows[q * L : (q + 1) * L]
        for y in range(L):
            target[y] += step * row[y]


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Theta += step * gradient, and unless lag is empty lag += share * gradient."""
    add(features, theta, gradient, step)
    if len(lag) > 0:
        add(features, lag, gradient, share)


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    x, g = open_hashed(features), open_gradient(gradient)
    hash_bits, L, total = x.hash_bits, x.labels, product_of_weights(theta, g)
    for q in range(g.counts[1]):
        row_start = (np.int64(1) << hash_bits) + np.int64(g.row_touched[q]) * L
        w, row = theta[row_start : row_start + L], g.rows[q * L : (q + 1) * L]
        for y in range(L):
            total += w[y] * row[y]
    return total


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without
    duplicates; return how many.
    """
    x, g = open_hashed(features), open_gradient(gradient)
    hash_bits, L, listed = x.hash_bits, x.labels, list_weights(g, indices, values)
    for q in range(g.counts[1]):
        row_start = (np.int64(1) << hash_bits) + np.int64(g.row_touched[q]) * L
        for y in range(L):
            if g.rows[q * L + y] != 0.0:
                indices[listed] = row_start + y
                values[listed] = g.rows[q * L + y]
                listed += 1
    return listed


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Add F(x_i) r to a dense vector, coordinates that may not move included."""
    x, none = open_hashed(features), np.empty(0, np.int64)
    walk(x, i, r, sink(DENSE, no_gradient(), dense, none, none))
