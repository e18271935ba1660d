"""Write the losses and the residuals of instances whose scores are given."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.visit import evaluate, size


@driver(types.void, LONGS, VECTOR, VECTOR, VECTOR)
def minibatch_pass(
    k: Any,
    data: Any,
    space: Any,
    instances: Array,
    scores: Array,
    residuals: Array,
    losses: Array,
) -> None:
    """Write L_i of some instances, whose scores follow one another (and are overwritten), as do
    their residuals.
    """
    begin = 0
    for n, i in enumerate(instances):
        if halted():
            break
        end = begin + size(data, i)
        losses[n] = evaluate(k, data, space, i, scores[begin:end], residuals[begin:end])
        begin = end
