"""The block *mention templates*: features of mentions and of links to antecedents, of which nothing
is stored but weights.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.mentions.record import open_mentions
from structopt.kernels.features.mentions.tables import CHUNK, walk
from structopt.kernels.features.template_gradient import (
    DENSE,
    LISTED,
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
from structopt.kernels.waist.signatures import (
    ACCUMULATE,
    ADD,
    ADD_BOTH,
    DOT,
    FLATTEN,
    PULLBACK,
    SPANS,
    inlined,
    kernel,
)


@inlined
def sink_of(mode, gradient, dense, starts, widths):
    """Make a sink, with scratch for a chunk of features."""
    return Sink(mode, gradient, dense, starts, widths, np.empty(CHUNK, np.uint64), np.empty(CHUNK))


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r, restricted to the supported weights; return its
    squared norm.
    """
    x, g, none = open_mentions(features), open_gradient(gradient), np.empty(0, np.int64)
    clear(g)
    walk(x, i, r, sink_of(SPARSE, g, np.empty(0), none, none))
    return squared_norm(g)


@kernel(ADD)
def add(features, theta, gradient, step):
    """Theta += step * gradient, in O(nnz)."""
    add_weights(theta, open_gradient(gradient), step)


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Theta += step * gradient, and unless lag is empty lag += share * gradient."""
    add(features, theta, gradient, step)
    if len(lag) > 0:
        add(features, lag, gradient, share)


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    return product_of_weights(theta, open_gradient(gradient))


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without
    duplicates; return how many.
    """
    return list_weights(open_gradient(gradient), indices, values)


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Add F(x_i) r to a dense vector, coordinates that may not move included."""
    none = np.empty(0, np.int64)
    walk(open_mentions(features), i, r, sink_of(DENSE, no_gradient(), dense, none, none))


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """List the weights that may move and that the scores of document i read; all as one run where
    they are too many.
    """
    x, g = open_mentions(features), no_gradient()
    parts = x.graph.parts[x.graph.variables[i + 1]] - x.graph.parts[x.graph.variables[i]]
    walk(x, i, np.ones(parts), sink_of(LISTED, g, np.empty(0), starts, widths))
    if g.counts[0] >= 0:
        return g.counts[0]
    starts[0], widths[0] = 0, np.int64(1) << x.hash_bits
    return 1
