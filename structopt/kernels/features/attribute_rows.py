"""The block *attribute x configuration*: one contiguous row of weights for every attribute, added to the parts of a position.

A position of part group g with attributes a (values v_a) has the scores  s[p, :] = sum_a v_a W_g[a, :].  Node features are
a group of this kind (one position a token, a row of label weights an attribute), transition features another (a row of
label-pair weights), and tied transitions a third: one position an instance with a single attribute that is always on.

Parts of a group without attributes have the score 0; its positions need no offsets.

*Dense* attributes have a number at every position: those of blocks, behind the others of a group. A block keeps a matrix M of
single precision, and of every position the rows of M that are its numbers, K of them one after the other (-1: zeros), so that

    s[p, :] += sum_k M[slots[p, k], :] W_g[first + k D : first + (k + 1) D, :]

A gradient of the block is sparse by rows: `touched` attributes, and one row of the group's width for each of them. All dense
attributes of a group are touched where any position of it has a residual.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from structopt.kernels.waist.fields import Floats, Ints, Longs, Wide
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import ACCUMULATE, ADD, ADD_BOTH, DOT, FLATTEN, PULLBACK, SCORES, SPANS, inlined, kernel
from structopt.kernels.waist.views import part, prefetch, table

TOGETHER = 64  # positions of an instance whose dense attributes are multiplied at a time
AHEAD = 16  # rows of a gradient: how far ahead the memory is asked for that belongs to one
SMALLEST = 1e-9  # a residual row below this is taken for zero: its gradient would drown in rounding


class Rows(NamedTuple):
    """The record of the features, opened. G groups, m instances.

    Attributes
    ----------
    widths : (G,) configurations of a position
    listed : the attributes of each instance, each once, group by group
    lists : (G * (m + 1),) where those of each instance begin in `listed`, group by group
    ids : attributes of all positions of all groups, as indices into the list of their instance
    weights : (G + 1,) where each group's weights begin in theta
    attributes : (G + 1,) where each group's attributes begin in a numbering over all groups
    positions : (G * (m + 1),) where the positions of each instance begin, group by group
    starts : (G,) where the offsets of each group begin in `offsets`
    offsets : where the attributes of each position begin in `ids`
    values : the attributes' values, or empty when all are 1
    masks : (G,) where each group's words begin in `support`
    support : one bit a weight, set when it may move: ceil(width / 64) words an attribute; or empty when all may move
    dense : (G + 1,) where each group's blocks begin in `blocks`
    blocks : (blocks, 5) the first attribute, numbers of a row of M, rows a position, where its `slots` and its M begin
    slots : rows of M of all positions of all blocks; -1: zeros
    bits : the matrices, row by row, as the bits of float32
    """

    widths: Ints
    listed: Ints
    ids: Ints
    weights: Longs
    attributes: Longs
    positions: Longs
    lists: Longs
    starts: Longs
    offsets: Longs
    values: Floats
    masks: Longs
    support: Longs
    dense: Longs
    blocks: Annotated[Longs, Wide(5)]
    slots: Ints
    bits: Ints


ROWS = RecordLayout(Rows)
open_rows = ROWS.compiled


class RowGradient(NamedTuple):
    """A sparse gradient, opened.

    Attributes
    ----------
    slot : row of every attribute in the list of an instance, among the touched of its group; -1: none
    touched : touched attributes, group by group
    counts : how many of each group are touched
    rows : their rows, one after the other
    """

    slot: Ints
    touched: Ints
    counts: Longs
    rows: Floats


GRADIENT = RecordLayout(RowGradient)
open_gradient = GRADIENT.compiled


@inlined
def rows_of(vector, start, count, width):
    """View `count` rows of `width` that begin at `start`; rows, unlike sums of indices, let inner loops be vectorised."""
    return table(vector, start, count, width)


@inlined
def list_of(x, g, i):
    """View the attributes of instance i in group g, each once."""
    at = g * (len(x.lists) // len(x.widths)) + i
    return part(x.listed, x.lists[at], x.lists[at + 1])


@inlined
def add_rows(target, rows, listed, chosen):
    """Add the rows of the chosen of the listed attributes, four at a time: a sum that is stored waits for the one before."""
    whole = len(chosen) - len(chosen) % 4
    for j in range(0, whole, 4):
        a, b = rows[listed[chosen[j]]], rows[listed[chosen[j + 1]]]
        c, d = rows[listed[chosen[j + 2]]], rows[listed[chosen[j + 3]]]
        for y in range(len(target)):
            target[y] += (a[y] + b[y]) + (c[y] + d[y])
    for j in range(whole, len(chosen)):
        a = rows[listed[chosen[j]]]
        for y in range(len(target)):
            target[y] += a[y]


@inlined
def matrix_of(x, b):
    """View the matrix of block b."""
    D, begin = x.blocks[b, 1], x.blocks[b, 4]
    end = x.blocks[b + 1, 4] if b + 1 < len(x.blocks) else len(x.bits)
    return x.bits[begin:end].view(np.float32).reshape((-1, D))


@inlined
def large(row):
    """Whether a row of residuals is not taken for zero."""
    largest = 0.0
    for y in range(len(row)):
        largest = max(largest, abs(row[y]))
    return largest >= SMALLEST


@inlined
def gather_numbers(x, b, M, position, row):
    """Fill a row with the numbers of block b at a position, zeros where it has none."""
    D, K, start = x.blocks[b, 1], x.blocks[b, 2], x.blocks[b, 3]
    for k in range(K):
        r, out = x.slots[start + position * K + k], row[k * D : (k + 1) * D]
        if r < 0:
            out[:] = 0.0
        else:
            values = M[r]
            for d in range(D):
                out[d] = values[d]


@inlined
def add_dense_scores(x, g, first, S, W):
    """Add the scores by the dense attributes of group g to the rows S of its positions, of which `first` is the first."""
    for b in range(x.dense[g], x.dense[g + 1]):
        M, size = matrix_of(x, b), x.blocks[b, 1] * x.blocks[b, 2]
        V = W[x.blocks[b, 0] : x.blocks[b, 0] + size]
        X = np.empty((min(len(S), TOGETHER), size))
        for begin in range(0, len(S), TOGETHER):
            count = min(len(S) - begin, TOGETHER)
            for p in range(count):
                gather_numbers(x, b, M, first + begin + p, X[p])
            product = np.dot(X[:count], V)
            for p in range(count):
                row = S[begin + p]
                for y in range(len(row)):
                    row[y] += product[p, y]


@inlined
def add_dense_gradient(x, b, first, R, G):
    """Add to G, a row an attribute of block b, what it has of the residuals R of some positions; `first` is the first."""
    M, size, width = matrix_of(x, b), x.blocks[b, 1] * x.blocks[b, 2], R.shape[1]
    most, count = min(len(R), TOGETHER), 0
    X, Q = np.empty((most, size)), np.empty((most, width))
    for p in range(len(R)):
        if large(R[p]):
            gather_numbers(x, b, M, first + p, X[count])
            Q[count] = R[p]
            count += 1
        if count == most or (p + 1 == len(R) and count > 0):
            product = np.dot(X[:count].T, Q[:count])
            for d in range(size):
                row = G[d]
                for y in range(width):
                    row[y] += product[d, y]
            count = 0


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Fill s with the part scores F(x_i)^T theta."""
    x = open_rows(features)
    groups = len(x.widths)
    stride = len(x.positions) // groups
    valued = len(x.values) > 0
    begin = 0
    for g in range(groups):
        width, start = np.int64(x.widths[g]), x.starts[g]
        first, last = x.positions[g * stride + i], x.positions[g * stride + i + 1]
        if x.attributes[g] == x.attributes[g + 1]:
            s[begin : begin + (last - first) * width] = 0.0
            begin += (last - first) * width
            continue
        W = rows_of(theta, x.weights[g], x.attributes[g + 1] - x.attributes[g], width)
        S = rows_of(s, begin, last - first, width)
        listed = list_of(x, g, i)
        for p in range(last - first):
            row = S[p]
            row[:] = 0.0
            offset = start + first + p
            if valued:
                for j in range(x.offsets[offset], x.offsets[offset + 1]):
                    v, w = x.values[j], W[listed[x.ids[j]]]
                    for y in range(width):
                        row[y] += v * w[y]
            else:
                add_rows(row, W, listed, part(x.ids, x.offsets[offset], x.offsets[offset + 1]))
        if x.dense[g] < x.dense[g + 1]:
            add_dense_scores(x, g, first, S, W)
        begin += (last - first) * width


@inlined
def squares(row):
    """Return ||row||^2. Sums of single rows wait for one another less than one sum over all of them."""
    total = 0.0
    for y in range(len(row)):
        total += row[y] * row[y]
    return total


@inlined
def add_residuals(x, first, R, listed, slot, chosen, G):
    """Add the residuals R of a group's positions, of which `first` is the first, to the rows of their attributes.

    Returns how many rows there are: of the attributes that `chosen` then has, as indices into the list. Where most positions
    have a residual, as below beta = inf, all attributes of the list get a row, which spares the question at each.
    """
    valued, positions = len(x.values) > 0, 0
    for p in range(len(R)):
        positions += large(R[p])
    if positions == 0:
        return 0
    touched, whole = 0, 2 * positions > len(R)
    if whole:
        touched = len(listed)
        for q in range(touched):
            chosen[q] = q
            row = G[q]
            for y in range(len(row)):
                row[y] = 0.0
    for p in range(len(R)):
        row = R[p]
        if not large(row):
            continue
        entries = range(x.offsets[first + p], x.offsets[first + p + 1])
        if whole:
            for j in entries:
                target, v = G[x.ids[j]], x.values[j] if valued else 1.0
                for y in range(len(row)):
                    target[y] += v * row[y]
            continue
        for j in entries:
            a, v = x.ids[j], x.values[j] if valued else 1.0
            q = slot[a]
            if q < 0:
                q = touched
                touched += 1
                slot[a], chosen[q] = q, a
                target = G[q]
                for y in range(len(row)):
                    target[y] = v * row[y]
            else:
                target = G[q]
                for y in range(len(row)):
                    target[y] += v * row[y]
    return touched


@inlined
def close_rows(x, k, width, touched, listed, slot, chosen, G, norm):
    """Set the weights of group k in its touched rows to 0 that may not move, empty `slot`, and add the squares to `norm`.

    The touched attributes, indices into the list so far, become numbers of attributes.
    """
    masked, words = len(x.support) > 0, (width + 63) // 64
    for q in range(touched):
        target, a, total = G[q], np.int64(listed[chosen[q]]), 0.0
        slot[chosen[q]] = -1
        chosen[q] = a
        if masked and q + AHEAD < touched:
            prefetch(x.support, x.masks[k] + listed[chosen[q + AHEAD]] * words)
        for c in range(words):
            word, cut = x.support[x.masks[k] + a * words + c] if masked else -1, target[64 * c :]
            for y in range(min(64, width - 64 * c)):
                cut[y] *= (word >> y) & 1
                total += cut[y] * cut[y]  # in the walk that masks: a second one would wait for what this one stores
        norm += total
    return norm


@inlined
def close_dense(x, k, first, R, touched, chosen, G):
    """Add the rows of the dense attributes of group k, which all may move; return how many rows there are, and their squares."""
    norm = 0.0
    for b in range(x.dense[k], x.dense[k + 1]):
        size = x.blocks[b, 1] * x.blocks[b, 2]
        for d in range(size):
            chosen[touched + d] = x.blocks[b, 0] + d
        block = G[touched : touched + size]
        block[:] = 0.0
        add_dense_gradient(x, b, first, R, block)
        for d in range(size):
            norm += squares(block[d])
        touched += size
    return touched, norm


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r, restricted to the supported weights; return its squared norm."""
    x, g = open_rows(features), open_gradient(gradient)
    groups = len(x.widths)
    stride = len(x.positions) // groups
    begin, before, row_start, norm = 0, 0, 0, 0.0
    for k in range(groups):
        width = np.int64(x.widths[k])
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        if x.attributes[k] == x.attributes[k + 1]:
            g.counts[k] = 0
            begin += (last - first) * width
            continue
        R = rows_of(r, begin, last - first, width)
        G = rows_of(g.rows, row_start, (len(g.rows) - row_start) // width, width)
        listed, chosen = list_of(x, k, i), part(g.touched, before, len(g.touched))
        touched = add_residuals(x, x.starts[k] + first, R, listed, g.slot, chosen, G)
        norm = close_rows(x, k, width, touched, listed, g.slot, chosen, G, norm)
        if x.dense[k] < x.dense[k + 1]:
            touched, more = close_dense(x, k, first, R, touched, chosen, G)
            norm += more
        g.counts[k] = touched
        begin += (last - first) * width
        row_start += touched * width
        before += touched
    return norm


@kernel(ADD)
def add(features, theta, gradient, step):
    """Theta += step * gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before = 0, 0
    for k in range(len(x.widths)):
        width, count = np.int64(x.widths[k]), g.counts[k]
        W = rows_of(theta, x.weights[k], x.attributes[k + 1] - x.attributes[k], width)
        G = rows_of(g.rows, row_start, count, width)
        for q in range(count):
            w, row = W[g.touched[before + q]], G[q]
            for y in range(width):
                w[y] += step * row[y]
        row_start += count * width
        before += count


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Theta += step * gradient, and unless lag is empty lag += share * gradient, in one walk over the gradient."""
    if len(lag) == 0:
        add(features, theta, gradient, step)
        return
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before = 0, 0
    for k in range(len(x.widths)):
        width, count = np.int64(x.widths[k]), g.counts[k]
        attributes = x.attributes[k + 1] - x.attributes[k]
        W, V = rows_of(theta, x.weights[k], attributes, width), rows_of(lag, x.weights[k], attributes, width)
        G = rows_of(g.rows, row_start, count, width)
        for q in range(count):
            a = g.touched[before + q]
            if q + AHEAD < count:  # the weights are near, since the scores have read them; their mean is not
                line = x.weights[k] + g.touched[before + q + AHEAD] * width
                prefetch(lag, line)
                prefetch(lag, line + width - 1)
            w, v, row = W[a], V[a], G[q]
            for y in range(width):
                w[y] += step * row[y]
            for y in range(width):
                v[y] += share * row[y]
        row_start += count * width
        before += count


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    row_start, before, total = 0, 0, 0.0
    for k in range(len(x.widths)):
        width, count = np.int64(x.widths[k]), g.counts[k]
        W = rows_of(theta, x.weights[k], x.attributes[k + 1] - x.attributes[k], width)
        G = rows_of(g.rows, row_start, count, width)
        for q in range(count):
            w, row, product = W[g.touched[before + q]], G[q], 0.0
            for y in range(width):
                product += w[y] * row[y]
            total += product
        row_start += count * width
        before += count
    return total


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without duplicates; return how many."""
    x, g = open_rows(features), open_gradient(gradient)
    row_start, q, listed = 0, 0, 0
    for k in range(len(x.widths)):
        width = np.int64(x.widths[k])
        for _ in range(g.counts[k]):
            at = x.weights[k] + g.touched[q] * width
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
    groups = len(x.widths)
    stride = len(x.positions) // groups
    valued = len(x.values) > 0
    begin = 0
    for k in range(groups):
        width, start = np.int64(x.widths[k]), x.starts[k]
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        if x.attributes[k] == x.attributes[k + 1]:
            begin += (last - first) * width
            continue
        R = rows_of(r, begin, last - first, width)
        G = rows_of(dense, x.weights[k], x.attributes[k + 1] - x.attributes[k], width)
        listed = list_of(x, k, i)
        for p in range(last - first):
            row = R[p]
            if not large(row):
                continue
            for j in range(x.offsets[start + first + p], x.offsets[start + first + p + 1]):
                target = G[listed[x.ids[j]]]
                v = x.values[j] if valued else 1.0
                for y in range(width):
                    target[y] += v * row[y]
        for b in range(x.dense[k], x.dense[k + 1]):
            at = x.blocks[b, 0]
            add_dense_gradient(x, b, first, R, G[at : at + x.blocks[b, 1] * x.blocks[b, 2]])
        begin += (last - first) * width


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """List the rows of weights that the scores of instance i read: where each begins in theta, and its width."""
    x = open_rows(features)
    runs = 0
    for k in range(len(x.widths)):
        if x.attributes[k] == x.attributes[k + 1]:
            continue
        width = np.int64(x.widths[k])
        for a in list_of(x, k, i):
            starts[runs] = x.weights[k] + a * width
            widths[runs] = width
            runs += 1
        for b in range(x.dense[k], x.dense[k + 1]):
            starts[runs] = x.weights[k] + x.blocks[b, 0] * width
            widths[runs] = x.blocks[b, 1] * x.blocks[b, 2] * width
            runs += 1
    return runs


@inlined
def list_once(ids, offsets, positions, last, listed, starts, indices):
    """List the attributes of every instance of a group, each once; return how many entries `listed` has.

    Instance i has the positions positions[i] <= p < positions[i + 1]. `starts` receives where its list begins, `indices` the
    index of every occurrence in the list of its instance. `last`, one entry an attribute, is -1 everywhere.
    """
    entries = 0
    for i in range(len(positions) - 1):
        starts[i] = entries
        for j in range(offsets[positions[i]], offsets[positions[i + 1]]):
            a = ids[j]
            if last[a] < starts[i]:
                last[a] = entries
                listed[entries] = a
                entries += 1
            indices[j] = last[a] - starts[i]
    starts[len(positions) - 1] = entries
    return entries


@inlined
def mark_support(support, offsets, ids, positions, configurations, width):
    """Set support[a, c] = 1 for every attribute a of each of the positions, c its gold configuration."""
    for k in range(len(positions)):
        p = positions[k]
        for j in range(offsets[p], offsets[p + 1]):
            support[ids[j] * width + configurations[k]] = 1.0
