"""The operations of the block *attribute x configuration*: scores, sparse gradients, and what is
done with these.

One contiguous row of weights for every attribute is added to the parts of each position that has
it, or one weight to one of these parts (`structopt.kernels.features.attributes.record`).
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.arrays.row_tables import add_to_each
from structopt.kernels.arrays.rows import (
    add_scaled,
    add_scaled_to_both,
    keep_bits,
    product,
    set_scaled,
)
from structopt.kernels.features.attributes.dense import (
    add_dense_gradient,
    close_dense,
)
from structopt.kernels.features.attributes.record import (
    large,
    list_of,
    open_gradient,
    open_rows,
    positions_of,
    rows_of,
)
from structopt.kernels.features.attributes.row_scores import fill_scores
from structopt.kernels.features.attributes.singles import (
    accumulate_singles,
    single_gradient,
)
from structopt.kernels.waist.bits import bits_from
from structopt.kernels.waist.signatures import (
    ACCUMULATE,
    ADD,
    ADD_BOTH,
    DOT,
    FLATTEN,
    PULLBACK,
    SCORES,
    SPANS,
    embedded,
    kernel,
)
from structopt.kernels.waist.views import part, prefetch, prefetch_run


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Fill s with the part scores F(x_i)^T theta."""
    fill_scores(open_rows(features), theta, i, s)


@embedded
def add_residuals(x, first, R, listed, slot, chosen, G):
    """Add the residuals R of a group's positions, of which `first` is the first, to the rows of
    their attributes.

    Returns how many rows there are: of the attributes that `chosen` then has, as indices into the
    list. Where most positions have a residual, as below beta = inf, all attributes of the list get
    a row, which spares the question at each.
    """
    valued, positions = len(x.values) > 0, 0
    for p in range(len(R)):
        positions += large(R[p])
    if positions == 0:
        return 0
    touched, whole = 0, 2 * positions > len(R)
    if whole:
        touched = len(listed)
        G[:touched] = 0.0
        for q in range(touched):
            chosen[q] = q
    for p in range(len(R)):
        row = R[p]
        if not large(row):
            continue
        begin, end = x.offsets[first + p], x.offsets[first + p + 1]
        if whole:
            if valued:
                for j in range(begin, end):
                    add_scaled(G[x.ids[j]], x.values[j], row)
            else:
                add_to_each(G, part(x.ids, begin, end), row)
            continue
        for j in range(begin, end):
            a, v = x.ids[j], x.values[j] if valued else 1.0
            q = slot[a]
            if q < 0:
                q = touched
                touched += 1
                slot[a], chosen[q] = q, a
                set_scaled(G[q], v, row)
            else:
                add_scaled(G[q], v, row)
    return touched


@embedded
def close_rows(x, t, width, touched, listed, slot, chosen, G, norm):
    """Set the weights of table t in its touched rows to 0 that may not move, empty `slot`, and add
    the squares to `norm`.

    The touched attributes, indices into the list so far, become numbers of attributes.
    """
    masked, begin = len(x.support) > 0, x.weights[t]
    for q in range(touched):
        target, a = G[q], np.int64(listed[chosen[q]])
        slot[chosen[q]] = -1
        chosen[q] = a
        if not masked:
            continue
        for y in range(0, width, 64):
            keep_bits(
                part(target, y, min(y + 64, width)), bits_from(x.support, begin + a * width + y)
            )
    all_rows = part(G, 0, touched * width)
    return norm + product(all_rows, all_rows)


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r, restricted to the supported weights; return its
    squared norm.
    """
    x, g = open_rows(features), open_gradient(gradient)
    begin, above, before, row_start, norm = 0, 0, 0, 0, 0.0
    for t in range(len(x.widths)):
        width = np.int64(x.widths[t])
        first, last = positions_of(x, t, i)
        if x.lengths[t] < width:
            chosen, G = (
                part(g.touched, before, len(g.touched)),
                part(g.rows, row_start, len(g.rows)),
            )
            g.counts[t], more = single_gradient(x, t, i, part(r, above, begin), chosen, G)
            norm += more
            row_start += g.counts[t]
            before += g.counts[t]
            continue
        above = begin
        if x.attributes[t] == x.attributes[t + 1]:
            g.counts[t] = 0
            begin += (last - first) * width
            continue
        R = rows_of(r, begin, last - first, width)
        G = rows_of(g.rows, row_start, (len(g.rows) - row_start) // width, width)
        listed, chosen = list_of(x, t, i), part(g.touched, before, len(g.touched))
        if len(x.support) > 0:
            for a in listed:  # all at once, before there is other work: `close_rows` reads them
                prefetch(x.support, (x.weights[t] + a * width) >> 6)
        touched = add_residuals(x, x.starts[t] + first, R, listed, g.slot, chosen, G)
        norm = close_rows(x, t, width, touched, listed, g.slot, chosen, G, norm)
        if x.dense[t] < x.dense[t + 1]:
            touched, more = close_dense(x, t, first, R, touched, chosen, G)
            norm += more
        g.counts[t] = touched
        begin += (last - first) * width
        row_start += touched * width
        before += touched
    return norm


@kernel(ADD)
def add(features, theta, gradient, step):
    """Theta += step * gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before = 0, 0
    for t in range(len(x.widths)):
        width, count = np.int64(x.lengths[t]), g.counts[t]
        W = rows_of(theta, x.weights[t], x.attributes[t + 1] - x.attributes[t], width)
        G = rows_of(g.rows, row_start, count, width)
        for q in range(count):
            add_scaled(W[g.touched[before + q]], step, G[q])
        row_start += count * width
        before += count


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Theta += step * gradient, and unless lag is empty lag += share * gradient, in one walk over
    the gradient.
    """
    if len(lag) == 0:
        add(features, theta, gradient, step)
        return
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before = 0, 0
    for t in range(len(x.widths)):
        width, count = np.int64(x.lengths[t]), g.counts[t]
        attributes = x.attributes[t + 1] - x.attributes[t]
        W, V = (
            rows_of(theta, x.weights[t], attributes, width),
            rows_of(lag, x.weights[t], attributes, width),
        )
        G = rows_of(g.rows, row_start, count, width)
        # the weights are near, since the scores have read them; their mean is not
        for q in range(count):
            line = x.weights[t] + g.touched[before + q] * width
            prefetch_run(lag, line, line + width)
        for q in range(count):
            a = g.touched[before + q]
            add_scaled_to_both(W[a], V[a], step, share, G[q])
        row_start += count * width
        before += count


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before, total = 0, 0, 0.0
    for t in range(len(x.widths)):
        width, count = np.int64(x.lengths[t]), g.counts[t]
        W = rows_of(theta, x.weights[t], x.attributes[t + 1] - x.attributes[t], width)
        G = rows_of(g.rows, row_start, count, width)
        for q in range(count):
            total += product(W[g.touched[before + q]], G[q])
        row_start += count * width
        before += count
    return total


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without
    duplicates; return how many.
    """
    x, g = open_rows(features), open_gradient(gradient)
    row_start, q, listed = 0, 0, 0
    for t in range(len(x.widths)):
        width = np.int64(x.lengths[t])
        for _ in range(g.counts[t]):
            at = x.weights[t] + g.touched[q] * width
            for y in range(width):
                if g.rows[row_start + y] != 0.0:
                    indices[listed] = at + y
                    values[listed] = g.rows[row_start + y]
                    listed += 1
            row_start += width
            q += 1
    return listed


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Add F(x_i) r to a dense vector, coordinates that may not move included."""
    x = open_rows(features)
    valued = len(x.values) > 0
    begin = above = 0
    for t in range(len(x.widths)):
        width, start = np.int64(x.widths[t]), x.starts[t]
        first, last = positions_of(x, t, i)
        if x.lengths[t] < width:
            accumulate_singles(x, t, i, part(r, above, begin), dense)
            continue
        above = begin
        if x.attributes[t] == x.attributes[t + 1]:
            begin += (last - first) * width
            continue
        R = rows_of(r, begin, last - first, width)
        G = rows_of(dense, x.weights[t], x.attributes[t + 1] - x.attributes[t], width)
        listed = list_of(x, t, i)
        for p in range(last - first):
            row = R[p]
            if not large(row):
                continue
            for j in range(x.offsets[start + first + p], x.offsets[start + first + p + 1]):
                add_scaled(G[listed[x.ids[j]]], x.values[j] if valued else 1.0, row)
        for b in range(x.dense[t], x.dense[t + 1]):
            at = x.blocks[b, 0]
            add_dense_gradient(x, b, first, R, G[at : at + x.blocks[b, 1] * x.blocks[b, 2]])
        begin += (last - first) * width


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """List the rows of weights that the scores of instance i read: where each begins in theta, and
    its width.
    """
    x = open_rows(features)
    runs = 0
    for t in range(len(x.widths)):
        if x.attributes[t] == x.attributes[t + 1]:
            continue
        width = np.int64(x.lengths[t])
        for a in list_of(x, t, i):
            starts[runs] = x.weights[t] + a * width
            widths[runs] = width
            runs += 1
        for b in range(x.dense[t], x.dense[t + 1]):
            starts[runs] = x.weights[t] + x.blocks[b, 0] * width
            widths[runs] = x.blocks[b, 1] * x.blocks[b, 2] * width
            runs += 1
    return runs
