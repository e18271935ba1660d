"""Vectors over some coordinates of longer ones: gathered, scattered, and added.

Sources may be read-only arrays, such as those in memory that several processes share.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import LONGS, VECTOR, kernel

READ_ONLY = types.Array(types.float64, 1, "C", readonly=True)


@kernel(types.void(READ_ONLY, LONGS, VECTOR))
def take(source, indices, target):
    """target_q = source_{indices_q}."""
    for q in range(len(indices)):
        target[q] = source[indices[q]]


@kernel(types.void(READ_ONLY, LONGS, LONGS, VECTOR))
def carry(source, indices, to, target):
    """target_{to_q} = source_{indices_q}."""
    for q in range(len(indices)):
        target[to[q]] = source[indices[q]]


@kernel(types.void(READ_ONLY, LONGS, VECTOR))
def add(source, indices, target):
    """target_{indices_q} += source_q."""
    for q in range(len(indices)):
        target[indices[q]] += source[q]
