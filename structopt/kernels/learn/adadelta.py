"""One pass of AdaDelta over batches."""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba import types

from structopt.kernels.learn.lazy_regularization import (
    LAZY,
    RULE,
    SLOTS,
    Lazy,
    Rule,
    Slots,
    catch_up_all,
    step,
    visit_batch,
)
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.team import TEAM


@driver(types.float64, LONGS, LAZY, RULE, SLOTS, TEAM, VECTOR, VECTOR, types.float64, types.float64)
def adadelta_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    x: Lazy,
    rule: Rule,
    slots: Slots,
    team: Array,
    squares: Array,
    moves: Array,
    rho: float,
    epsilon: float,
) -> float:
    """Visit the instances in batches of one size; make the step of
    `structopt.kernels.learn.lazy_regularization` after each.

    Where the mean gradient g of the batch is not 0, the step has the rate

        squares_f <- rho squares_f + (1 - rho) g_f^2
        r_f = sqrt(moves_f + epsilon) / sqrt(squares_f + epsilon)
        moves_f <- rho moves_f + (1 - rho) (r_f g_f)^2

    elsewhere the rate r_f of the present `moves` and `squares`. Returns the sum of the losses.
    """
    losses, now = 0.0, 0
    for f in range(len(squares)):
        if x.theta[f] != 0.0:
            x.rates[f] = sqrt((moves[f] + epsilon) / (squares[f] + epsilon))
    for first in range(0, len(order), rule.batch):
        if halted():
            break
        losses, count = visit_batch(k, data, space, order, first, x, rule, slots, team, losses)
        for j in range(count):
            f = x.touched[j]
            g = x.dense[f]
            if g == 0.0:
                step(x, rule, f)
                continue
            squares[f] = rho * squares[f] + (1.0 - rho) * g * g
            rate = sqrt((moves[f] + epsilon) / (squares[f] + epsilon))
            x.rates[f] = rate
            step(x, rule, f)
            moves[f] = rho * moves[f] + (1.0 - rho) * rate * rate * g * g
            x.rates[f] = sqrt((moves[f] + epsilon) / (squares[f] + epsilon))
        now += 1
    catch_up_all(x, rule, now)
    return losses
