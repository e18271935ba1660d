"""Bundles: sets of attributes that always occur together in a corpus, and sums of weights and
gradients over them.

An attribute a *implies* those that occur at every position where a occurs: ``word=Oslo`` implies
``suffix=lo``. Where a position has a, one bundle stands for all that a implies.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.arrays.rows import add_row
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, kernel
from structopt.kernels.waist.views import part, prefetch_run

# attributes of a position; those that first occur where there are more are not looked at
MOST = 4096
AHEAD = 8  # positions whose attributes are asked for ahead


@kernel(types.int64(LONGS, INTS, LONGS, INTS, types.int64, LONGS, INTS))
def implied(offsets, ids, columns, positions, least, starts, members):
    """List what every attribute with at least `least` positions implies, itself included.

    `ids[offsets[p] : offsets[p + 1]]` are the attributes of position p in ascending order,
    `positions[columns[a] : columns[a + 1]]` the positions of attribute a. The list of a goes to
    `members[starts[a] : starts[a + 1]]`, and is empty where it would be a alone; `members` must
    have room for as many numbers as `ids`. Returns how many it took.
    """
    common, used, places = np.empty(MOST, np.int32), 0, len(offsets) - 1
    for a in range(len(columns) - 1):
        starts[a] = used
        times = columns[a + 1] - columns[a]
        if times < least:
            continue
        p, n, sure = positions[columns[a]], 0, 0
        if offsets[p + 1] - offsets[p] > MOST:
            continue
        for j in range(offsets[p], offsets[p + 1]):
            own = columns[ids[j] + 1] - columns[ids[j]]
            if own >= times:  # what is implied occurs as often
                common[n] = ids[j]
                n += 1
                sure += own == places and ids[j] != a
        for q in range(columns[a] + 1, columns[a + 1]):
            if n - sure <= 1:  # the rest is at every position
                break
            if q + AHEAD < columns[a + 1]:
                ahead = positions[q + AHEAD]
                prefetch_run(ids, offsets[ahead], offsets[ahead + 1])
            p = positions[q]
            j, end, kept = offsets[p], offsets[p + 1], 0
            for x in range(n):
                while j < end and ids[j] < common[x]:
                    j += 1
                if j < end and ids[j] == common[x]:
                    common[kept] = common[x]
                    kept += 1
            n = kept
        if n > 1 and used + n <= len(members):
            members[used : used + n] = common[:n]
            used += n
    starts[len(columns) - 1] = used
    return used


@kernel(types.int64(LONGS, INTS, LONGS, INTS, types.boolean[::1], LONGS, LONGS, INTS))
def cover(offsets, ids, starts, members, allowed, uses, new_offsets, new_ids):
    """Rewrite every position's attributes as disjoint bundles, the largest first, and the
    attributes that are left.

    The bundle that a stands for is written as a + (number of attributes). `allowed` says which
    attributes may stand for theirs; `uses` counts how often each did. Returns the number of entries
    written.
    """
    count, written = len(starts) - 1, 0
    covered = np.full(count, -1)
    for p in range(len(offsets) - 1):
        new_offsets[p] = written
        row = ids[offsets[p] : offsets[p + 1]]
        sizes = np.empty(len(row), np.int64)
        for j in range(len(row)):
            sizes[j] = starts[row[j]] - starts[row[j] + 1] if allowed[row[j]] else 0
        for j in np.argsort(sizes, kind="mergesort"):
            a = row[j]
            if covered[a] == p:
                continue
            free = sizes[j] < 0
            for q in range(starts[a], starts[a + 1]):
                free = free and covered[members[q]] != p
            if free:
                for q in range(starts[a], starts[a + 1]):
                    covered[members[q]] = p
                uses[a] += 1
            covered[a] = p
            new_ids[written] = a + count if free else a
            written += 1
    new_offsets[len(offsets) - 1] = written
    return written


@kernel(types.void(LONGS, INTS, types.int64, VECTOR, VECTOR))
def widen(starts, members, width, rows, sums):
    """Row b of `sums` becomes the sum of the rows of the bundle's members."""
    for b in range(len(starts) - 1):
        target = part(sums, b * width, (b + 1) * width)
        target[:] = 0.0
        for q in range(starts[b], starts[b + 1]):
            add_row(target, part(rows, members[q] * width, (members[q] + 1) * width))


@kernel(types.void(LONGS, INTS, types.int64, VECTOR, VECTOR))
def fold(starts, members, width, sums, rows):
    """Add row b of `sums` to the rows of the bundle's members."""
    for b in range(len(starts) - 1):
        source = part(sums, b * width, (b + 1) * width)
        for q in range(starts[b], starts[b + 1]):
            add_row(part(rows, members[q] * width, (members[q] + 1) * width), source)
