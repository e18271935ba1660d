"""Vector operations of OWL-QN (Andrew and Gao, 2007), over the weights that may move: `moving`
holds their indices in theta.

The objective is f(theta) + level ||theta||_1 with f smooth, and `gradient` is that of f. Loops
instead of numpy's operations, for the reasons of `structopt.kernels.quasi_newton.lbfgs`.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.quasi_newton.lbfgs import inner
from structopt.kernels.waist.signatures import LONGS, VECTOR, kernel


@kernel(types.UniTuple(types.float64, 2)(VECTOR, LONGS, VECTOR, types.float64, VECTOR))
def pseudo_gradient(theta, moving, gradient, level, pseudo):
    """Fill `pseudo` with the subgradient of least norm; return ||theta||^2 and its squared norm.

    At theta_q = 0 both one-sided derivatives g_q - level and g_q + level count: if g_q is within
    [-level, level] zero is the minimum along q, and the subgradient is 0.
    """
    square = 0.0
    for q in range(len(moving)):
        weight, g = theta[moving[q]], gradient[q]
        square += weight * weight
        if weight < 0.0 or (weight == 0.0 and g > level):
            pseudo[q] = g - level
        elif weight > 0.0 or g < -level:
            pseudo[q] = g + level
        else:
            pseudo[q] = 0.0
    return square, inner(pseudo, pseudo)


@kernel(types.float64(VECTOR, VECTOR))
def align(direction, pseudo):
    """Set a direction to 0 where it does not go down by itself; return the derivative of the
    objective along it.
    """
    for q in range(len(direction)):
        if direction[q] * pseudo[q] >= 0.0:
            direction[q] = 0.0
    return inner(direction, pseudo)


@kernel(types.UniTuple(types.float64, 3)(VECTOR, LONGS, VECTOR, VECTOR, VECTOR, types.float64))
def move_within(theta, moving, start, direction, pseudo, t):
    """Set theta to start + t * direction, projected on the orthant of start; where it is 0, of the
    negative pseudo-gradient.

    Return ||theta||^2, ||theta||_1, and pseudo^T (theta - start).
    """
    square, absolute, product = 0.0, 0.0, 0.0
    for q in range(len(moving)):
        side = start[q] if start[q] != 0.0 else -pseudo[q]
        weight = start[q] + t * direction[q]
        if weight * side <= 0.0:
            weight = 0.0
        theta[moving[q]] = weight
        square += weight * weight
        absolute += abs(weight)
        product += pseudo[q] * (weight - start[q])
    return square, absolute, product


@kernel(types.void(VECTOR, LONGS, VECTOR, VECTOR))
def take_step(theta, moving, start, step):
    """step = theta - start."""
    for q in range(len(moving)):
        step[q] = theta[moving[q]] - start[q]


@kernel(types.UniTuple(types.float64, 3)(VECTOR, LONGS, VECTOR, types.float64, types.float64))
def excess(theta, moving, gradient, decay, level):
    """Measure the gradient g = gradient - decay * theta of the losses alone.

    Return theta^T g, the largest |g_q|, and the sum of max(0, |g_q| - level)^2.
    """
    product, largest, total = 0.0, 0.0, 0.0
    for q in range(len(moving)):
        weight = theta[moving[q]]
        g = gradient[q] - decay * weight
        product += weight * g
        largest = max(largest, abs(g))
        beyond = max(0.0, abs(g) - level)
        total += beyond * beyond
    return product, largest, total
