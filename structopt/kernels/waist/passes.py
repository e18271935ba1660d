"""Drivers over the instances that every learner and every prediction needs: losses, residuals, best
outputs, marginals.

A driver calls only the kernels among its arguments. Un-compiled (``driver.py_func``) it takes plain
Python functions.
"""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, Kernels, driver
from structopt.kernels.waist.target import is_set, list_parts, open_target, restrict
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, size, solve, visit, visit_into

LEAST = -1e300
"""The value of an inference is above it where there is an output."""


@driver(types.float64, types.int64, types.int64, VECTOR)
def loss_pass(
    kernels: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
    theta: Array,
) -> float:
    """Sum of L_i over the instances first <= i < last."""
    k, total = Kernels(*kernels), 0.0
    for i in range(first, last):
        if halted():
            break
        total += visit(k, data, space, i, theta)
    return total


@driver(types.float64, types.int64, types.int64, VECTOR, VECTOR)
def residual_pass(
    kernels: Any,
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
    k, total = Kernels(*kernels), 0.0
    for i in range(first, last):
        if halted():
            break
        total += visit_into(
            k, data, space, i, theta, part(residuals, data.parts[i], data.parts[i + 1])
        )
    return total


@driver(types.float64, LONGS, VECTOR, VECTOR)
def minibatch_pass(
    kernels: Any,
    data: Any,
    space: Any,
    instances: Array,
    scores: Array,
    residuals: Array,
) -> float:
    """Sum of L_i over some instances, whose scores stand one after the other (and are overwritten);
    so do their residuals.
    """
    k, total, begin = Kernels(*kernels), 0.0, 0
    for i in instances:
        if halted():
            break
        end = begin + size(data, i)
        total += evaluate(k, data, space, i, scores[begin:end], residuals[begin:end])
        begin = end
    return total


@driver(types.int64, types.float64, types.int64, types.int64, VECTOR, LONGS, INTS, VECTOR)
def output_pass(
    kernels: Any,
    data: Any,
    space: Any,
    temperature: float,
    first: int,
    last: int,
    theta: Array,
    offsets: Array,
    parts: Array,
    counts: Array,
) -> int:
    """List the parts of the best outputs of the instances first <= i < last, or of as many as
    `parts` has room for.

    Above temperature 0 an output is the graph's rounding of the marginals. Output number q, which
    is that of instance first + q, has the parts parts[offsets[q] : offsets[q + 1]]. Returns the
    first instance without an output: `last` if all have one; -1 - i if the hard constraints allow
    none for instance i.
    """
    k = Kernels(*kernels)
    offsets[0] = 0
    for i in range(first, last):
        if halted():
            break
        n = size(data, i)
        if offsets[i - first] + n > len(parts):
            return i
        s, z = part(space.scores, 0, n), part(space.residual, 0, n)
        k.scores(data.features, theta, i, s, space.gradient)
        if not solve(k, data, space, i, s, temperature, z) > LEAST:
            return -1 - i
        k.round(data.structure, i, z, space.work)
        offsets[i - first + 1] = list_parts(z, offsets[i - first], parts, counts)
    return last


@driver(types.int64, types.float64, types.int64, types.int64, VECTOR, LONGS, LONGS, VECTOR)
def marginal_pass(
    kernels: Any,
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
    """Write the marginals of the instances first <= i < last: of instance i those of the parts from
    begins[i] on.

    They go to marginals[offsets[i] : offsets[i + 1]]. Returns `last`; -1 - i if the hard
    constraints allow no output of instance i.
    """
    k = Kernels(*kernels)
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


@driver(types.int64, types.int64, types.int64)
def target_pass(
    kernels: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
) -> int:
    """Return the first of the instances first <= i < last whose set of allowed outputs is empty;
    `last` if none is.
    """
    k, t = Kernels(*kernels), open_target(data.target)
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
