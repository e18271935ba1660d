"""Find instances whose set of allowed outputs is empty."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.passes import LEAST
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import driver
from structopt.kernels.waist.target import is_set, open_target, restrict
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, solve


@driver(types.int64, types.int64, types.int64)
def target_pass(
    k: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
) -> int:
    """Return the first of the instances first <= i < last whose set of allowed outputs is empty;
    `last` if none is.
    """
    t = open_target(data.target)
    for i in range(first, last):
        if halted():
            break
        n = size(data, i)
        if is_set(t, i):
            s, z = part(space.scores, 0, n), part(space.residual, 0, n)
            s[:] = 0.0
            restrict(t, i, s, part(space.second_scores, 0, n))
            if not solve(k, data, space, i, part(space.second_scores, 0, n), 0.0, z) > LEAST:
                return i
    return last
