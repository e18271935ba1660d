"""One pass of projected subgradient steps, and the sizes of subgradients."""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba import types

from structopt.kernels.learn.answers import ANSWERS, Answers, answer_all, loss_of, residual_of
from structopt.kernels.learn.scaled_weights import fold, scaled_step, shrink
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.team import TEAM
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, visit


@driver(types.float64, LONGS, VECTOR)
def mean_square(
    k: Any,
    data: Any,
    space: Any,
    instances: Array,
    theta: Array,
) -> float:
    """Mean of ||g_i||^2 over some instances, g_i the (sub)gradient of L_i at theta."""
    total = 0.0
    for i in instances:
        if halted():
            break
        visit(k, data, space, i, theta)
        total += k.pullback(
            data.features, i, part(space.residual, 0, size(data, i)), space.gradient
        )
    return total / len(instances)


@driver(
    types.float64,
    LONGS,
    VECTOR,
    ANSWERS,
    TEAM,
    VECTOR,
    types.float64,
    types.float64,
    types.float64,
    types.float64,
)
def pegasos_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    answers: Answers,
    team: Array,
    total: Array,
    steps: float,
    delay: float,
    regularization: float,
    radius: float,
) -> float:
    """Visit the instances in batches, `steps` of them before this pass, and step by the mean
    gradient g of each.

    With t counting the batches from 1, and rho = 1/(t + delay),

        theta <- (1 - rho) theta - rho g / lambda,    theta <- min(1, radius / ||theta||) theta.

    The squared norm is kept up to date by ||theta + c g_i||^2 = ||theta||^2 + 2 c theta^T g_i + c^2
    ||g_i||^2, which accumulates rounding errors; every pass begins by computing it anew. `total`,
    unless it is empty, collects t times the iterate before update t. `answers` has as many slots as
    a batch has instances. Returns the sum of the losses.
    """
    batch = len(answers.losses)
    losses, scale, scale_sum, t, norm = 0.0, 1.0, 0.0, steps, 0.0
    for j in range(len(theta)):
        norm += theta[j] * theta[j]
    for first in range(0, len(order), batch):
        if halted():
            break
        last = min(first + batch, len(order))
        answers.scale[0] = scale
        answer_all(k, data, space, order, last, theta, answers, team)
        for j in range(first, last):
            losses += loss_of(answers, j)
        t += 1.0
        rho = 1.0 / (t + delay)
        scale, scale_sum = shrink(theta, total, scale, scale_sum + t * scale, 1.0 - rho)
        norm *= (1.0 - rho) ** 2
        step = -rho / (regularization * (last - first))
        for j in range(first, last):
            i = order[j]
            residual = residual_of(answers, j, size(data, i))
            squared = k.pullback(data.features, i, residual, space.gradient)
            norm += (
                2.0 * step * scale * k.dot(data.features, theta, space.gradient)
                + step * step * squared
            )
            scaled_step(k, data, space, theta, total, scale, scale_sum, step)
        if norm > radius * radius:
            scale, scale_sum = shrink(theta, total, scale, scale_sum, radius / sqrt(norm))
            norm = radius * radius
    fold(theta, total, scale, scale_sum)
    return losses
