"""List the best outputs of instances."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.passes import LEAST
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, driver
from structopt.kernels.waist.target import list_parts
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, solve


@driver(types.int64, types.float64, types.int64, types.int64, VECTOR, LONGS, INTS, VECTOR, VECTOR)
def output_pass(
    k: Any,
    data: Any,
    space: Any,
    temperature: float,
    first: int,
    last: int,
    theta: Array,
    offsets: Array,
    parts: Array,
    counts: Array,
    values: Array,
) -> int:
    """List the parts of the best outputs of the instances first <= i < last, or of as many as
    `parts` has room for.

    Above temperature 0 an output is the graph's rounding of the marginals. Output number q, which
    is that of instance first + q, has the parts parts[offsets[q] : offsets[q + 1]], and unless
    `values` is empty, values[q] becomes the value of its inference. Returns the first instance
    without an output: `last` if all have one; -1 - i if the hard constraints allow none for
    instance i.
    """
    offsets[0] = 0
    for i in range(first, last):
        if halted():
            break
        n = size(data, i)
        if offsets[i - first] + n > len(parts):
            return i
        s, z = part(space.scores, 0, n), part(space.residual, 0, n)
        k.scores(data.features, theta, i, s, space.gradient)
        value = solve(k, data, space, i, s, temperature, z)
        if not value > LEAST:
            return -1 - i
        if len(values) > 0:
            values[i - first] = value
        k.round(data.structure, i, z, space.work)
        offsets[i - first + 1] = list_parts(z, offsets[i - first], parts, counts)
    return last
