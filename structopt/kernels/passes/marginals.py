"""Write the marginals of instances."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.passes import LEAST
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, solve


@driver(types.int64, types.float64, types.int64, types.int64, VECTOR, LONGS, LONGS, VECTOR)
def marginal_pass(
    k: Any,
    data: Any,
    space: Any,
    temperature: float,
    first: int,
    last: int,
    theta: Array,
    begins: Array,
    offsets: Array,
    marginals: Array,
) -> int:
    """Write the marginals of the instances first <= i < last: of instance i the marginals of the
    parts from begins[i] on.

    They go to marginals[offsets[i] : offsets[i + 1]]. Returns `last`; -1 - i if the hard
    constraints allow no output of instance i.
    """
    for i in range(first, last):
        if halted():
            break
        n = size(data, i)
        s, z = part(space.scores, 0, n), part(space.residual, 0, n)
        k.scores(data.features, theta, i, s, space.gradient)
        if not solve(k, data, space, i, s, temperature, z) > LEAST:
            return -1 - i
        chosen = part(marginals, offsets[i], offsets[i + 1])
        set_row(chosen, part(z, begins[i], begins[i] + len(chosen)))
    return last
