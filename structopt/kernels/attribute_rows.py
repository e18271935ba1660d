"""The block *attribute x configuration*: one contiguous row of weights for every attribute, added to the parts of a position.

A position of part group g with attributes a (values v_a) has the scores  s[p, :] = sum_a v_a W_g[a, :].  Node features are
a group of this kind (one position a token, a row of label weights an attribute), transition features another (a row of
label-pair weights), and tied transitions a third: one position an instance with a single attribute that is always on.

A gradient of the block is sparse by rows: `touched` attributes, and one row of the group's width for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.core.signatures import ADD, DOT, FLATTEN, PULLBACK, SCORES, inlined, kernel

SMALLEST = 1e-9  # a residual row below this is taken for zero: its gradient would drown in rounding


class Rows(NamedTuple):
    """The record of the features, opened. G groups, m instances.

    Attributes
    ----------
    widths : (G,) configurations of a position
    ids : attribute numbers of all positions of all groups
    weights : (G + 1,) where each group's weights begin in theta
    attributes : (G + 1,) where each group's attributes begin in a numbering over all groups
    positions : (G * (m + 1),) where the positions of each instance begin, group by group
    starts : (G,) where the offsets of each group begin in `offsets`
    offsets : where the attributes of each position begin in `ids`
    values : the attributes' values, or empty when all are 1
    support : 1 for a weight that may move, 0 for one that stays zero; or empty when all may move
    """

    widths: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    attributes: np.ndarray
    positions: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    support: np.ndarray


class RowGradient(NamedTuple):
    """A sparse gradient, opened: `slot` of an attribute (-1: untouched), touched attributes, rows, and counts a group."""

    slot: np.ndarray
    touched: np.ndarray
    counts: np.ndarray
    rows: np.ndarray


@inlined
def open_rows(features):
    """Open the record of the features."""
    i, n, f, at = features.ints, features.longs, features.floats, features.at
    return Rows(
        i[at[0] : at[1]],
        i[at[1] : at[2]],
        n[at[3] : at[4]],
        n[at[4] : at[5]],
        n[at[5] : at[6]],
        n[at[6] : at[7]],
        n[at[7] : at[8]],
        f[at[9] : at[10]],
        f[at[10] : at[11]],
    )


@inlined
def open_gradient(gradient):
    """Open a gradient record."""
    i, n, f, at = gradient.ints, gradient.longs, gradient.floats, gradient.at
    return RowGradient(i[at[0] : at[1]], i[at[1] : at[2]], n[at[3] : at[4]], f[at[5] : at[6]])


@kernel(SCORES)
def scores(features, theta, i, s):
    """Fill s with the part scores F(x_i)^T theta."""
    x = open_rows(features)
    groups = len(x.widths)
    stride = len(x.positions) // groups
    valued = len(x.values) > 0
    part = 0
    for g in range(groups):
        width, base, start = x.widths[g], x.weights[g], x.starts[g]
        for p in range(x.positions[g * stride + i], x.positions[g * stride + i + 1]):
            row = s[part : part + width]
            row[:] = 0.0
            first, last = x.offsets[start + p], x.offsets[start + p + 1]
            if valued:
                for j in range(first, last):
                    v = x.values[j]
                    w = theta[base + x.ids[j] * width : base + x.ids[j] * width + width]
                    for y in range(width):
                        row[y] += v * w[y]
            else:
                for j in range(first, last):
                    w = theta[base + x.ids[j] * width : base + x.ids[j] * width + width]
                    for y in range(width):
                        row[y] += w[y]
            part += width


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Fill the gradient record with F(x_i) r, restricted to the supported weights; return its squared norm."""
    x, g = open_rows(features), open_gradient(gradient)
    groups = len(x.widths)
    stride = len(x.positions) // groups
    valued, masked = len(x.values) > 0, len(x.support) > 0
    part, touched, place, norm = 0, 0, 0, 0.0
    for k in range(groups):
        width, start, shift = x.widths[k], x.starts[k], x.attributes[k]
        first_touched, first_place = touched, place
        for p in range(x.positions[k * stride + i], x.positions[k * stride + i + 1]):
            row = r[part : part + width]
            part += width
            largest = 0.0
            for y in range(width):
                largest = max(largest, abs(row[y]))
            if largest < SMALLEST:
                continue
            for j in range(x.offsets[start + p], x.offsets[start + p + 1]):
                a = shift + x.ids[j]
                q = g.slot[a]
                if q < 0:
                    q = touched
                    touched += 1
                    g.slot[a] = q
                    g.touched[q] = a
                    target = g.rows[place : place + width]
                    place += width
                    if valued:
                        for y in range(width):
                            target[y] = x.values[j] * row[y]
                    else:
                        for y in range(width):
                            target[y] = row[y]
                else:
                    target = g.rows[first_place + (q - first_touched) * width : first_place + (q - first_touched) * width + width]
                    if valued:
                        for y in range(width):
                            target[y] += x.values[j] * row[y]
                    else:
                        for y in range(width):
                            target[y] += row[y]
        g.counts[k] = touched - first_touched
        for q in range(first_touched, touched):
            a = g.touched[q]
            g.slot[a] = -1
            target = g.rows[first_place + (q - first_touched) * width : first_place + (q - first_touched) * width + width]
            if masked:
                base = x.weights[k] + (a - shift) * width
                allowed = x.support[base : base + width]
                for y in range(width):
                    target[y] *= allowed[y]
            for y in range(width):
                norm += target[y] * target[y]
    return norm


@kernel(ADD)
def add(features, theta, gradient, step):
    """theta += step * gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    place, q = 0, 0
    for k in range(len(x.widths)):
        width, base, shift = x.widths[k], x.weights[k], x.attributes[k]
        for _ in range(g.counts[k]):
            at = base + (g.touched[q] - shift) * width
            w, target = theta[at : at + width], g.rows[place : place + width]
            for y in range(width):
                w[y] += step * target[y]
            place += width
            q += 1


@kernel(DOT)
def dot(features, theta, gradient):
    """Inner product of theta and the gradient, in O(nnz)."""
    x, g = open_rows(features), open_gradient(gradient)
    place, q, total = 0, 0, 0.0
    for k in range(len(x.widths)):
        width, base, shift = x.widths[k], x.weights[k], x.attributes[k]
        for _ in range(g.counts[k]):
            at = base + (g.touched[q] - shift) * width
            for y in range(width):
                total += theta[at + y] * g.rows[place + y]
            place += width
            q += 1
    return total


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Write the gradient's non-zero coordinates as (index into theta, value) pairs, without duplicates; return how many."""
    x, g = open_rows(features), open_gradient(gradient)
    place, q, count = 0, 0, 0
    for k in range(len(x.widths)):
        width, base, shift = x.widths[k], x.weights[k], x.attributes[k]
        for _ in range(g.counts[k]):
            at = base + (g.touched[q] - shift) * width
            for y in range(width):
                if g.rows[place + y] != 0.0:
                    indices[count] = at + y
                    values[count] = g.rows[place + y]
                    count += 1
            place += width
            q += 1
    return count


@inlined
def mark_support(support, offsets, ids, positions, configurations, width):
    """Set support[a, c] = 1 for every attribute a of each given position, c its gold configuration."""
    for k in range(len(positions)):
        p = positions[k]
        for j in range(offsets[p], offsets[p + 1]):
            support[ids[j] * width + configurations[k]] = 1.0
