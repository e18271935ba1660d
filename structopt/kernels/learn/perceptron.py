"""One pass of the averaged perceptron."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.learn.averaging import averaged_step
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver, inlined
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, visit


@inlined
def is_zero(r):
    """Whether a vector is zero everywhere."""
    for value in r:
        if value != 0.0:
            return False
    return True


@driver(types.void, LONGS, VECTOR, VECTOR, types.float64, VECTOR)
def perceptron_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    lag: Array,
    visits: float,
    totals: Array,
) -> None:
    """Visit the instances in the given order:  theta -= F_i (z' - z)  where the best output z' is
    not the gold one.

    Whether it is the gold one is decided by the residual: the loss is also 0 for other outputs with
    the gold one's score. `lag` as in `structopt.learning.averaging`, unless it is empty; `visits`
    were made before this pass. `totals` receives the sum of the losses and the number of mistakes.
    """
    total, mistakes, t = 0.0, 0.0, visits
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        t += 1.0
        total += visit(k, data, space, i, theta)
        residual = part(space.residual, 0, size(data, i))
        if is_zero(residual):
            continue
        mistakes += 1.0
        k.pullback(data.features, i, residual, space.gradient)
        averaged_step(k, data, space, theta, lag, -1.0, t)
    totals[0] = total
    totals[1] = mistakes
