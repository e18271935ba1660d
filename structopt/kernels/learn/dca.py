"""One pass of dual coordinate ascent."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.learn.averaging import averaged_step
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, visit

NEGATIVE = -1e-9  # losses between this and 0 are rounding
SMALLEST = 1e-20  # squared norms of gradients up to this are zero


@driver(types.void, LONGS, VECTOR, VECTOR, types.float64, types.float64, VECTOR)
def dca_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    lag: Array,
    visits: float,
    C: float,
    totals: Array,
) -> None:
    """Visit the instances in the given order:  theta -= eta * grad L_i,  eta = min(C, L_i / ||grad
    L_i||^2).

    `lag` as in `structopt.learning.averaging`, unless it is empty; `visits` were made before this
    pass. `totals` receives the sum of the losses and the number of negative ones, whose instances
    are skipped.
    """
    total, negative, t = 0.0, 0.0, visits
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        t += 1.0
        loss = visit(k, data, space, i, theta)
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        if loss <= 0.0:
            continue
        norm = k.pullback(data.features, i, part(space.residual, 0, size(data, i)), space.gradient)
        if norm > SMALLEST:
            averaged_step(k, data, space, theta, lag, -min(C, loss / norm), t)
    totals[0] = total
    totals[1] = negative
