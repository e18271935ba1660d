"""Sum the losses of instances, and write their residuals."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import VECTOR, driver
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import visit_into


@driver(types.float64, types.int64, types.int64, VECTOR, VECTOR)
def residual_pass(
    k: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
    theta: Array,
    residuals: Array,
) -> float:
    """Sum of L_i over the instances first <= i < last; `residuals`, over the parts of all
    instances, receives theirs.
    """
    total = 0.0
    for i in range(first, last):
        if halted():
            break
        total += visit_into(
            k, data, space, i, theta, part(residuals, data.parts[i], data.parts[i + 1])
        )
    return total
