"""One pass of projected subgradient steps."""

from __future__ import annotations

from math import sqrt

from numba import types

from structopt.kernels.scaled import fold, scaled_step, scaled_visit, shrink
from structopt.kernels.signatures import LONGS, VECTOR, Kernels, driver
from structopt.kernels.visit import size


@driver(types.float64, LONGS, types.int64, VECTOR, VECTOR, types.float64, types.float64, types.float64, VECTOR)
def pegasos_pass(kernels, data, space, order, batch, theta, total, steps, regularization, radius, residuals):
    """Visit the instances in batches, `steps` of them before this pass, and step by the mean gradient g of each.

    With t counting the batches from 1,

        theta <- (1 - 1/t) theta - g / (lambda t),    theta <- min(1, radius / ||theta||) theta.

    The squared norm is kept by ||theta + c g_i||^2 = ||theta||^2 + 2 c theta^T g_i + c^2 ||g_i||^2, which rounding may
    spoil a little; every pass begins with a fresh one. `total`, unless it is empty, collects the sum of the iterates
    before each update, one a visit; `residuals` has room for those of a batch. Returns the sum of the losses.
    """
    k = Kernels(*kernels)
    losses, scale, scales, t, norm = 0.0, 1.0, 0.0, steps, 0.0
    for j in range(len(theta)):
        norm += theta[j] * theta[j]
    for first in range(0, len(order), batch):
        chosen, end = order[first : first + batch], 0
        for i in chosen:
            losses += scaled_visit(k, data, space, i, theta, scale, residuals[end : end + size(data, i)])
            end += size(data, i)
        t += 1.0
        scale, scales = shrink(theta, total, scale, scales + len(chosen) * scale, 1.0 - 1.0 / t)
        norm *= (1.0 - 1.0 / t) ** 2
        step, end = -1.0 / (regularization * t * len(chosen)), 0
        for i in chosen:
            squared = k.pullback(data.features, i, residuals[end : end + size(data, i)], space.gradient)
            norm += 2.0 * step * scale * k.dot(data.features, theta, space.gradient) + step * step * squared
            scaled_step(k, data, space, theta, total, scale, scales, step)
            end += size(data, i)
        if norm > radius * radius:
            scale, scales = shrink(theta, total, scale, scales, radius / sqrt(norm))
            norm = radius * radius
    fold(theta, total, scale, scales)
    return losses
