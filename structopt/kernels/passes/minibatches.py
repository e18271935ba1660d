"""Sum the losses of instances whose scores are given, and write their residuals."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, Kernels, driver
from structopt.kernels.waist.visit import evaluate, size


@driver(types.float64, LONGS, VECTOR, VECTOR)
def minibatch_pass(
    kernels: Any,
    data: Any,
    space: Any,
    instances: Array,
    scores: Array,
    residuals: Array,
) -> float:
    """Sum of L_i over some instances, whose scores follow one another (and are overwritten), as do
    their residuals.
    """
    k, total, begin = Kernels(*kernels), 0.0, 0
    for i in instances:
        if halted():
            break
        end = begin + size(data, i)
        total += evaluate(k, data, space, i, scores[begin:end], residuals[begin:end])
        begin = end
    return total
