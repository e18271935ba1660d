"""Sum the losses of instances."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import VECTOR, driver
from structopt.kernels.waist.visit import visit


@driver(types.float64, types.int64, types.int64, VECTOR)
def loss_pass(
    k: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
    theta: Array,
) -> float:
    """Sum of L_i over the instances first <= i < last."""
    total = 0.0
    for i in range(first, last):
        if halted():
            break
        total += visit(k, data, space, i, theta)
    return total
