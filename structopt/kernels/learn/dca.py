"""One pass of dual coordinate ascent."""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import LONGS, VECTOR, Kernels, driver
from structopt.kernels.waist.visit import size, visit

NEGATIVE = -1e-9  # losses between this and 0 are rounding


@driver(types.void, LONGS, VECTOR, VECTOR, types.float64, types.float64, VECTOR)
def dca_pass(kernels, data, space, order, theta, lag, visits, C, totals):
    """Visit the instances in the given order:  theta -= eta * grad L_i,  eta = min(C, L_i / ||grad L_i||^2).

    `lag` collects t * (theta_{t+1} - theta_t) over the visits t, counted from `visits` + 1, so that the average of the
    iterates before each update is theta - lag / t; it is left alone when it is empty. `totals` receives the sum of the
    losses and the number of negative ones, whose instances are skipped.
    """
    k = Kernels(*kernels)
    total, negative, t = 0.0, 0.0, visits
    for i in order:
        t += 1.0
        loss = visit(k, data, space, i, theta)
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        if loss <= 0.0:
            continue
        norm = k.pullback(data.features, i, space.residual[: size(data, i)], space.gradient)
        if norm > 1e-20:
            eta = min(C, loss / norm)
            k.add_both(data.features, theta, lag, space.gradient, -eta, -t * eta)
    totals[0] = total
    totals[1] = negative
