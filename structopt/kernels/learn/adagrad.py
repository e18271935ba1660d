"""One pass of AdaGrad over batches."""

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

DELTA = 1e-6  # the squares that every coordinate begins with


@driver(types.float64, LONGS, LAZY, RULE, SLOTS, TEAM, VECTOR, types.float64)
def adagrad_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    x: Lazy,
    rule: Rule,
    slots: Slots,
    team: Array,
    squares: Array,
    eta: float,
) -> float:
    """Visit the instances in batches of one size; make the step of
    `structopt.kernels.learn.lazy_regularization` after each.

    With g the mean gradient of the batch, the rates are

        squares_f <- squares_f + g_f^2,    r_f = eta / sqrt(DELTA + squares_f).

    Returns the sum of the losses.
    """
    losses, now = 0.0, 0
    for f in range(len(squares)):
        if x.theta[f] != 0.0:
            x.rates[f] = eta / sqrt(DELTA + squares[f])
    for first in range(0, len(order), rule.batch):
        if halted():
            break
        losses, count = visit_batch(k, data, space, order, first, x, rule, slots, team, losses)
        for j in range(count):
            f = x.touched[j]
            squares[f] += x.dense[f] * x.dense[f]
            x.rates[f] = eta / sqrt(DELTA + squares[f])
            step(x, rule, f)
        now += 1
    catch_up_all(x, rule, now)
    return losses
