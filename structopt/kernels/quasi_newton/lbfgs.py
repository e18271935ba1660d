"""Vector operations of L-BFGS, over the weights that may move: `moving` holds their indices in
theta.

They are loops instead of BLAS calls for three reasons: BLAS would pass several times over vectors
that no cache holds, where a loop passes once; its threads would compete with those of the
evaluations; and its last bits depend on how many threads it has.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import types

from structopt.kernels.waist.signatures import LONGS, VECTOR, inlined, kernel

MATRIX = types.float64[:, ::1]
LANES = 8  # partial sums of an inner product: independent of each other, they keep the adders busy


@inlined
def inner(a, b):
    """Inner product, in the same order whatever the machine."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(a) - len(a) % LANES
    for q in range(0, whole, LANES):
        s0 += a[q] * b[q]
        s1 += a[q + 1] * b[q + 1]
        s2 += a[q + 2] * b[q + 2]
        s3 += a[q + 3] * b[q + 3]
        s4 += a[q + 4] * b[q + 4]
        s5 += a[q + 5] * b[q + 5]
        s6 += a[q + 6] * b[q + 6]
        s7 += a[q + 7] * b[q + 7]
    for q in range(whole, len(a)):
        s0 += a[q] * b[q]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@kernel(types.void(VECTOR, LONGS, VECTOR))
def take(theta, moving, start):
    """Copy the weights that may move out of theta."""
    for q in range(len(moving)):
        start[q] = theta[moving[q]]


@kernel(types.float64(VECTOR, LONGS, VECTOR, VECTOR, types.float64))
def move(theta, moving, start, direction, t):
    """Set theta to start + t * direction; return its squared norm."""
    square = 0.0
    for q in range(len(moving)):
        weight = start[q] + t * direction[q]
        theta[moving[q]] = weight
        square += weight * weight
    return square


@kernel(types.void(VECTOR, VECTOR, LONGS, types.float64, types.float64, VECTOR))
def add_ridge(sums, theta, moving, m, decay, gradient):
    """Gradient of P: the mean sums/m of the losses' gradients, plus decay * theta."""
    share = 1.0 / m
    for q in range(len(moving)):
        gradient[q] = share * sums[moving[q]] + decay * theta[moving[q]]


@kernel(types.float64(VECTOR, VECTOR))
def dot(a, b):
    """Inner product of two vectors over the weights that may move."""
    return inner(a, b)


@kernel(types.UniTuple(types.float64, 3)(VECTOR, LONGS, VECTOR))
def sizes(theta, moving, gradient):
    """||theta||^2, theta^T gradient and ||gradient||^2."""
    square, product = 0.0, 0.0
    for q in range(len(moving)):
        weight = theta[moving[q]]
        square += weight * weight
        product += weight * gradient[q]
    return square, product, inner(gradient, gradient)


@kernel(types.void(MATRIX, MATRIX, MATRIX, types.int64, types.float64, VECTOR, VECTOR, VECTOR))
def remember(steps, changes, curvature, slot, t, direction, before, after):
    """Store the pair s = t * direction, y = after - before, with s^T y and y^T y."""
    s, y = steps[slot], changes[slot]
    for q in range(len(direction)):
        s[q] = t * direction[q]
        y[q] = after[q] - before[q]
    curvature[slot, 0] = inner(s, y)
    curvature[slot, 1] = inner(y, y)


@kernel(types.void(MATRIX, MATRIX, MATRIX, types.int64, VECTOR, VECTOR))
def two_loop(steps, changes, curvature, pairs, gradient, direction):
    """direction = -H gradient by the two-loop recursion (Nocedal and Wright, Algorithm 7.4).

    The newest of the `pairs` stored so far is in row (pairs - 1) mod memory; H_0 is its s^T y / y^T
    y. Without pairs the direction is the unit vector down the gradient.
    """
    memory = len(steps)
    count = min(memory, pairs)
    newest, shares = (pairs - 1) % memory, np.empty(count)
    for q in range(len(direction)):
        direction[q] = -gradient[q]
    for age in range(count):
        j = (newest - age) % memory
        shares[age] = inner(steps[j], direction) / curvature[j, 0]
        share, y = shares[age], changes[j]
        for q in range(len(direction)):
            direction[q] -= share * y[q]
    scale = (
        curvature[newest, 0] / curvature[newest, 1]
        if count > 0
        else 1.0 / sqrt(inner(gradient, gradient))
    )
    for q in range(len(direction)):
        direction[q] *= scale
    for age in range(count - 1, -1, -1):
        j = (newest - age) % memory
        share, s = shares[age] - inner(changes[j], direction) / curvature[j, 0], steps[j]
        for q in range(len(direction)):
            direction[q] += share * s[q]
