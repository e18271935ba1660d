"""The planes that bound the losses of all instances from below, kept sparse over the parts.

A plane of instance i is a residual r = z' - z and an offset b = gamma * cost^T r:  L_i(theta) >=
r^T F_i^T theta + b. Row 0 of every instance is the null plane (r = 0, b = 0). No plane is ever a
vector over the weights: with s = F_i^T theta its value is r^T s + b, and a_j^T a_k = r_k^T (F_i^T
F_i r_j), so that a plane costs one product with F_i^T F_i for the Gram matrix.

The rows of an instance are consecutive, with free slots behind them. When these are used up, the
rows move to the end of the arrays and leave a hole. Nothing here allocates arrays: `fits` says
whether there is space for a plane, and `structopt.learning.plane_cache` makes larger arrays where
there is none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from structopt.kernels.waist.signatures import VECTOR, inlined, kernel

FRESH = -1  # `idle` of a plane that no step has used yet


class Planes(NamedTuple):
    """All planes of m instances, in arrays of R rows, G entries of Gram matrices and E entries of
    residuals.

    Attributes
    ----------
    counts, rooms : (m,) rows of each instance, and rows that it has slots for
    firsts, corners : (m,) where its rows begin, and its Gram matrix of rooms^2 entries
    used : (4,) rows, Gram entries and residual entries in use, holes included; residual entries of
    a plane that did not fit starts, lengths : (R,) where the entries of a residual begin, and how
    many they are idle : (R,) rounds since the plane last had alpha > 0, or `FRESH` alpha, offsets :
    (R,) dual variables, which sum to the cap for each instance, and b gram : (G,) parts, values :
    (E,) residuals
    """

    counts: np.ndarray
    rooms: np.ndarray
    firsts: np.ndarray
    corners: np.ndarray
    used: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    idle: np.ndarray
    alpha: np.ndarray
    offsets: np.ndarray
    gram: np.ndarray
    parts: np.ndarray
    values: np.ndarray


_N, _V = np.zeros(0, np.int64), np.zeros(0)
PLANES: Any = numba.typeof(Planes(*[_N] * 8, _V, _V, _V, np.zeros(0, np.int32), _V))  # type: ignore[no-untyped-call]


@inlined
def square(planes, i):
    """View the Gram matrix of instance i; its first ``counts[i]`` rows and columns are in use."""
    room = planes.rooms[i]
    return planes.gram[planes.corners[i] : planes.corners[i] + room * room].reshape((room, room))


@inlined
def duals(planes, i):
    """View the dual variables of instance i."""
    return planes.alpha[planes.firsts[i] : planes.firsts[i] + planes.counts[i]]


@inlined
def wider(room):
    """How many rows an instance gets slots for when `room` were too few."""
    return room + room // 2 + 1


@inlined
def values_at(planes, i, s, out):
    """Fill out[j] with r_j^T s + b_j for every row of instance i; return the largest."""
    first, top = planes.firsts[i], 0.0
    for j in range(planes.counts[i]):
        value = planes.offsets[first + j]
        for e in range(
            planes.starts[first + j], planes.starts[first + j] + planes.lengths[first + j]
        ):
            value += planes.values[e] * s[planes.parts[e]]
        out[j] = value
        top = max(top, value)
    return top


@inlined
def combine(planes, i, weights, r):
    """Fill r with sum_j weights_j r_j over the rows of instance i."""
    first = planes.firsts[i]
    r[:] = 0.0
    for j in range(1, planes.counts[i]):
        if weights[j] != 0.0:
            for e in range(
                planes.starts[first + j], planes.starts[first + j] + planes.lengths[first + j]
            ):
                r[planes.parts[e]] += weights[j] * planes.values[e]


@inlined
def fits(planes, i, r):
    """Whether there is space for one more plane of instance i; ``used[3]`` becomes the number of
    its residual's entries.
    """
    entries, rows = 0, 0
    for value in r:
        if value != 0.0:
            entries += 1
    if planes.counts[i] == planes.rooms[i]:
        rows = wider(planes.rooms[i])
    planes.used[3] = entries
    return (
        planes.used[0] + rows <= len(planes.alpha)
        and planes.used[1] + rows * rows <= len(planes.gram)
        and planes.used[2] + entries <= len(planes.values)
    )


@inlined
def append(planes, i, r, offset):
    """Add a plane that fits to instance i, with alpha = 0; its Gram entries are left to
    `relate`.
    """
    if planes.counts[i] == planes.rooms[i]:
        move_rows(planes, planes, i, wider(planes.rooms[i]))
    at = planes.firsts[i] + planes.counts[i]
    planes.counts[i] += 1
    planes.starts[at], planes.idle[at], planes.alpha[at], planes.offsets[at] = (
        planes.used[2],
        FRESH,
        0.0,
        offset,
    )
    planes.lengths[at] = write(planes, planes.used[2], r)
    planes.used[2] += planes.lengths[at]


@inlined
def write(planes, start, r):
    """Write the non-zero entries of r from `start` on; return how many they are."""
    end = start
    for part in range(len(r)):
        if r[part] != 0.0:
            planes.parts[end], planes.values[end] = part, r[part]
            end += 1
    return end - start


@inlined
def relate(planes, i, u, norm):
    """Fill the Gram entries of the last row r of instance i from u = F^T F r and norm = ||F
    r||^2.
    """
    gram, last, first = square(planes, i), planes.counts[i] - 1, planes.firsts[i]
    gram[0, last] = gram[last, 0] = 0.0
    for j in range(1, last):
        total = 0.0
        for e in range(
            planes.starts[first + j], planes.starts[first + j] + planes.lengths[first + j]
        ):
            total += planes.values[e] * u[planes.parts[e]]
        gram[j, last] = gram[last, j] = total
    gram[last, last] = norm


@inlined
def copy_row(source, at, target, to):
    """Copy a row, all but the entries of its residual."""
    target.starts[to], target.lengths[to], target.idle[to] = (
        source.starts[at],
        source.lengths[at],
        source.idle[at],
    )
    target.alpha[to], target.offsets[to] = source.alpha[at], source.offsets[at]


@inlined
def move_rows(source, target, i, room):
    """Move the rows and the Gram matrix of instance i to the end of the target's arrays, which may
    be those of the source.
    """
    count, first, old = source.counts[i], source.firsts[i], square(source, i)
    for j in range(count):
        copy_row(source, first + j, target, target.used[0] + j)
    target.counts[i], target.rooms[i] = count, room
    target.firsts[i], target.corners[i] = target.used[0], target.used[1]
    target.used[0] += room
    target.used[1] += room * room
    new = square(target, i)
    for j in range(count):
        for q in range(count):
            new[j, q] = old[j, q]


@inlined
def remove(planes, i, j):
    """Take row j out of instance i; the others keep their order."""
    gram, first = square(planes, i), planes.firsts[i]
    last = planes.counts[i] - 1
    for q in range(j, last):
        copy_row(planes, first + q + 1, planes, first + q)
        for p in range(last + 1):
            gram[q, p] = gram[q + 1, p]
    for q in range(last):
        for p in range(j, last):
            gram[q, p] = gram[q, p + 1]
    planes.counts[i] = last


@inlined
def drop(planes, i, least):
    """Remove the rows of instance i with alpha = 0 that were idle for at least so many rounds."""
    first = planes.firsts[i]
    for j in range(planes.counts[i] - 1, 0, -1):
        if planes.alpha[first + j] == 0.0 and planes.idle[first + j] >= least:
            remove(planes, i, j)


@kernel(types.void(PLANES, types.int64))
def drop_all(planes, least):
    """Remove the rows of all instances with alpha = 0 that were idle for at least so many
    rounds.
    """
    for i in range(len(planes.counts)):
        drop(planes, i, least)


@kernel(types.void(PLANES))
def grow_older(planes):
    """Count one more idle round of every row with alpha = 0, and none of the others."""
    for i in range(len(planes.counts)):
        for at in range(planes.firsts[i] + 1, planes.firsts[i] + planes.counts[i]):
            planes.idle[at] = 0 if planes.alpha[at] > 0.0 else planes.idle[at] + 1


@kernel(types.void(PLANES, types.int64, VECTOR))
def merge_all(planes, most, scratch):
    """Merge the oldest rows of every instance with more than `most` rows: theta and the dual stay
    as they are.

    Two active rows become their convex combination (alpha_1 r_1 + alpha_2 r_2) / (alpha_1 +
    alpha_2), a lower bound of the loss again. The residuals of an instance must be in the order of
    its rows, as `rebuild` leaves them; then the new one fits where the two were. `scratch` is as
    long as the largest instance has parts.
    """
    for i in range(len(planes.counts)):
        first, gram = planes.firsts[i], square(planes, i)
        while (
            planes.counts[i] > max(most, 2)
            and planes.alpha[first + 1] > 0.0
            and planes.alpha[first + 2] > 0.0
        ):
            total = planes.alpha[first + 1] + planes.alpha[first + 2]
            a, b = planes.alpha[first + 1] / total, planes.alpha[first + 2] / total
            size = 0
            for at in (first + 1, first + 2):
                for e in range(planes.starts[at], planes.starts[at] + planes.lengths[at]):
                    size = max(size, planes.parts[e] + 1)
            r = scratch[:size]
            r[:] = 0.0
            for at, weight in ((first + 1, a), (first + 2, b)):
                for e in range(planes.starts[at], planes.starts[at] + planes.lengths[at]):
                    r[planes.parts[e]] += weight * planes.values[e]
            planes.lengths[first + 1] = write(planes, planes.starts[first + 1], r)
            planes.alpha[first + 1] = total
            planes.offsets[first + 1] = (
                a * planes.offsets[first + 1] + b * planes.offsets[first + 2]
            )
            norm = a * a * gram[1, 1] + 2.0 * a * b * gram[1, 2] + b * b * gram[2, 2]
            for q in range(planes.counts[i]):
                gram[1, q] = gram[q, 1] = a * gram[1, q] + b * gram[2, q]
            gram[1, 1] = norm
            remove(planes, i, 2)


@kernel(types.void(PLANES, PLANES))
def rebuild(source, target):
    """Copy all planes into empty arrays without holes, with a free slot for one more row of every
    instance.
    """
    for i in range(len(source.counts)):
        move_rows(source, target, i, source.counts[i] + 1)
        first, old = target.firsts[i], source.firsts[i]
        for j in range(source.counts[i]):
            to, start = target.used[2], source.starts[old + j]
            for e in range(source.lengths[old + j]):
                target.parts[to + e], target.values[to + e] = (
                    source.parts[start + e],
                    source.values[start + e],
                )
            target.starts[first + j] = to
            target.used[2] += source.lengths[old + j]


@kernel(types.int64(PLANES))
def entries_in_use(planes):
    """Return the number of residual entries, holes left out."""
    total = 0
    for i in range(len(planes.counts)):
        for at in range(planes.firsts[i], planes.firsts[i] + planes.counts[i]):
            total += planes.lengths[at]
    return total


@kernel(types.float64(PLANES))
def offsets_in_use(planes):
    """Return sum_ij alpha_ij b_ij."""
    total = 0.0
    for i in range(len(planes.counts)):
        for at in range(planes.firsts[i], planes.firsts[i] + planes.counts[i]):
            total += planes.alpha[at] * planes.offsets[at]
    return total
