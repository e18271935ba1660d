"""The block *anchored templates*: features of anchored rules, anchored steps and tags, of which
nothing is stored but weights.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.features.anchored.notes import open_scratch
from structopt.kernels.features.anchored.record import open_anchored
from structopt.kernels.features.anchored.walk import list_hashes, sink_of, walk
from structopt.kernels.features.template_gradient import (
    DENSE,
    LISTED,
    SPARSE,
    add_weights,
    clear,
    list_weights,
    no_gradient,
    product_of_weights,
    squared_norm,
)
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import (
    ACCUMULATE,
    ADD,
    ADD_BOTH,
    DOT,
    FLATTEN,
    LONGS,
    PULLBACK,
    RECORD,
    SPANS,
    VECTOR,
    inlined,
    kernel,
)


@inlined
def no_scratch():
    """Return a record without room for notes."""
    return Record(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r; return its squared norm."""
    x, g, none = open_anchored(features), open_scratch(gradient).gradient, np.empty(0, np.int64)
    clear(g)
    walk(x, i, r, sink_of(SPARSE, g, np.empty(0), none, none), gradient)
    return squared_norm(g)


@kernel(ADD)
def add(features, theta, gradient, step):
    """Theta += step * gradient, in O(nnz)."""
    add_weights(theta, open_scratch(gradient).gradient, step)


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Theta += step * gradient, and unless lag is empty lag += share * gradient."""
    add(features, theta, gradient, step)
    if len(lag) > 0:
        add(features, lag, gradient, share)


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    return product_of_weights(theta, open_scratch(gradient).gradient)


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without
    duplicates; return how many.
    """
    return list_weights(open_scratch(gradient).gradient, indices, values)


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Add F(x_i) r to a dense vector."""
    x, none = open_anchored(features), np.empty(0, np.int64)
    walk(x, i, r, sink_of(DENSE, no_gradient(), dense, none, none), no_scratch())


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """List the weights that the scores of instance i read; all as one run where they are too
    many.
    """
    x, g = open_anchored(features), no_gradient()
    ones = np.ones(x.forest.edges[i + 1] - x.forest.edges[i])
    walk(x, i, ones, sink_of(LISTED, g, np.empty(0), starts, widths), scratch)
    if g.counts[0] >= 0:
        return g.counts[0]
    starts[0], widths[0] = 0, x.gold + x.others
    return 1


@kernel(types.int64(RECORD, types.int64, VECTOR, LONGS))
def hashes(features, i, chosen, found):
    """List the hashes of the features of chosen edges, which are not 0, some perhaps more than
    once; return how many.
    """
    return list_hashes(open_anchored(features), i, chosen, found)
