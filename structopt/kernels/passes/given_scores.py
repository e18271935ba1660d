"""Drivers over instances whose scores are given: values, marginals, and losses of each."""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import FROZEN, VECTOR, driven, driver
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, size, solve


@driven
def infer_one(k, data, space, i, temperature, scores, values, marginals):
    """Write the value and the maximiser of one instance."""
    s = part(space.scores, 0, size(data, i))
    set_row(s, part(scores, data.parts[i], data.parts[i + 1]))
    z = part(marginals, data.parts[i], data.parts[i + 1])
    values[i] = solve(k, data, space, i, s, temperature, z)


@driven
def loss_one(k, data, space, i, scores, losses, residuals):
    """Write the loss and the residual of one instance."""
    s = part(space.scores, 0, size(data, i))
    set_row(s, part(scores, data.parts[i], data.parts[i + 1]))
    residual = part(residuals, data.parts[i], data.parts[i + 1])
    losses[i] = evaluate(k, data, space, i, s, residual)


@driver(types.int64, types.float64, types.int64, types.int64, FROZEN, VECTOR, VECTOR)
def infer_pass(
    k: Any,
    data: Any,
    space: Any,
    temperature: float,
    first: int,
    last: int,
    scores: Array,
    values: Array,
    marginals: Array,
) -> int:
    """Write max_z s^T z + temperature * H(z) and its maximiser for instances first <= i < last.

    Scores and marginals are over all parts of all instances. Returns the first instance that was
    not reached: `last`, unless the work was halted.
    """
    for i in range(first, last):
        if halted():
            return i
        infer_one(k, data, space, i, temperature, scores, values, marginals)
    return last


@driver(types.int64, types.int64, types.int64, FROZEN, VECTOR, VECTOR)
def losses_pass(
    k: Any,
    data: Any,
    space: Any,
    first: int,
    last: int,
    scores: Array,
    losses: Array,
    residuals: Array,
) -> int:
    """Write the loss and the residual of each of the instances first <= i < last; see
    `infer_pass`.
    """
    for i in range(first, last):
        if halted():
            return i
        loss_one(k, data, space, i, scores, losses, residuals)
    return last
