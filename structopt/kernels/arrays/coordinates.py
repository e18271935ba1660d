"""Vectors over some coordinates of longer ones: gathered, scattered, and added up where they stand.

What is only read may be a read-only array, such as one that lies in the memory of several processes.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import LONGS, VECTOR, kernel

GIVEN = types.Array(types.float64, 1, "C", readonly=True)


@kernel(types.void(GIVEN, LONGS, VECTOR))
def take(source, places, target):
    """target_q = source_{places_q}."""
    for q in range(len(places)):
        target[q] = source[places[q]]


@kernel(types.void(GIVEN, LONGS, LONGS, VECTOR))
def carry(source, places, to, target):
    """target_{to_q} = source_{places_q}."""
    for q in range(len(places)):
        target[to[q]] = source[places[q]]


@kernel(types.void(GIVEN, LONGS, VECTOR))
def put(source, places, target):
    """target_{places_q} = source_q."""
    for q in range(len(places)):
        target[places[q]] = source[q]


@kernel(types.void(GIVEN, LONGS, VECTOR))
def add(source, places, target):
    """target_{places_q} += source_q."""
    for q in range(len(places)):
        target[places[q]] += source[q]
