"""One pass of stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.learn.scaled_weights import fold, scaled_step, scaled_visit, shrink
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size


@driver(types.float64, LONGS, VECTOR, VECTOR, types.float64, types.float64, types.float64)
def sgd_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    total: Array,
    visits: float,
    eta: float,
    regularization: float,
) -> float:
    """Visit the instances in the given order:  theta <- theta - eta_t (grad L_i + lambda theta),
    eta_t = eta / (1 + t / m).

    t counts the visits before this one, `visits` of them before this pass; m = len(order). `total`,
    unless it is empty, collects the sum of the iterates before each update. Returns the sum of the
    losses.
    """
    m = len(order)
    losses, scale, scale_sum, t = 0.0, 1.0, 0.0, visits
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        r, rate = part(space.residual, 0, size(data, i)), eta / (1.0 + t / m)
        losses += scaled_visit(k, data, space, i, theta, scale, r)
        scale, scale_sum = shrink(
            theta, total, scale, scale_sum + scale, 1.0 - rate * regularization
        )
        k.pullback(data.features, i, r, space.gradient)
        scaled_step(k, data, space, theta, total, scale, scale_sum, -rate)
        t += 1.0
    fold(theta, total, scale, scale_sum)
    return losses
