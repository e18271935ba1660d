"""Passes of cutting-plane methods: find planes that the weights violate, and climb the dual over
those that are cached.

Plane j of instance i has the value  v_ij = r_ij^T F_i^T theta + b_ij  and the dual variable
alpha_ij >= 0; those of an instance sum to C, and  theta = -sum_ij alpha_ij F_i r_ij.
"""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.learn.answers import (
    ANSWERS,
    Answers,
    answer_all,
    loss_of,
    residual_of,
    scores_of,
)
from structopt.kernels.learn.averaging import add_to_lag
from structopt.kernels.learn.mira_program import MATRIX, pair_steps
from structopt.kernels.learn.plane_cache import (
    PLANES,
    Planes,
    append,
    combine,
    drop,
    duals,
    fits,
    relate,
    square,
    values_at,
)
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driven, driver
from structopt.kernels.waist.target import cost_of, open_target, product
from structopt.kernels.waist.team import TEAM
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, image, size

# differences between values, in units of the cost or of the value, that are taken for rounding
RESOLUTION = 1e-10
STEPS = 4  # pair steps of a sweep at an instance, for each of its planes


@driven
def ask(k, data, space, i, theta):
    """Return L_i(theta); leave its residual in `space.residual` and the scores in
    `space.direction`.
    """
    n = size(data, i)
    s, spoilt = part(space.direction, 0, n), part(space.scores, 0, n)
    k.scores(data.features, theta, i, s, space.gradient)
    set_row(spoilt, s)
    return evaluate(k, data, space, i, spoilt, part(space.residual, 0, n))


@driven
def add_plane(k, data, space, planes, i, offset, dense):
    """Cache the plane of `space.residual`, whose pullback stays in `space.gradient`; `dense` is
    zero before and after.
    """
    n = size(data, i)
    norm = k.pullback(data.features, i, part(space.residual, 0, n), space.gradient)
    append(planes, i, part(space.residual, 0, n), offset)
    if planes.counts[i] > 2:
        image(k, data, space, i, dense, part(space.answer, 0, n))
    relate(planes, i, part(space.answer, 0, n), norm)


@driven
def climb(k, data, space, planes, i, theta, values, change, tolerance, most, held):
    """Make pair steps among the planes of instance i at given values, and the step of theta that
    they amount to.

    Returns its size: theta -= size * `space.gradient`. The residual is scaled to order 1 before it
    is pulled back, because the pullback takes entries that are small against 1 for zero. `held` is
    the row whose pullback is already in `space.gradient`, or -1.
    """
    alpha, rows, largest, others = duals(planes, i), planes.counts[i], 0.0, False
    set_row(part(change, 0, rows), part(alpha, 0, rows))
    pair_steps(square(planes, i), values, alpha, rows, tolerance, most)
    for j in range(rows):
        change[j] = alpha[j] - change[j]
        if j > 0:
            largest = max(largest, abs(change[j]))
            others = others or (j != held and change[j] != 0.0)
    if largest > 0.0 and not others and change[held] > 0.0:
        k.add(data.features, theta, space.gradient, -largest)
    elif largest > 0.0:
        for j in range(rows):
            change[j] /= largest
        r = part(space.residual, 0, size(data, i))
        combine(planes, i, change, r)
        k.pullback(data.features, i, r, space.gradient)
        k.add(data.features, theta, space.gradient, -largest)
    return largest


@driver(
    types.int64,
    PLANES,
    LONGS,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    types.float64,
    types.int64,
    MATRIX,
    VECTOR,
)
def online_pass(
    k: Any,
    data: Any,
    space: Any,
    planes: Planes,
    order: Array,
    theta: Array,
    guide: Array,
    lag: Array,
    dense: Array,
    gamma: float,
    steps: int,
    scratch: Array,
    totals: Array,
) -> int:
    """Visit the instances: ask the oracle, cache its plane if it is the highest, make a few pair
    steps, drop idle planes.

    The oracle is asked at `guide` if it is not empty, else at theta. `lag` as in
    `structopt.learning.averaging`, unless it is empty. `totals` holds the sum of the losses and the
    number of visits, and is added to. Returns the index in `order` of the instance whose plane
    found no free slot, or the length of `order`.
    """
    values, change = scratch[0], scratch[1]
    for visit, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, visit)
        n = size(data, i)
        s, r = part(space.direction, 0, n), part(space.residual, 0, n)
        loss = ask(k, data, space, i, guide if len(guide) > 0 else theta)
        if len(guide) > 0:
            k.scores(data.features, theta, i, s, space.gradient)
        top, offset = (
            values_at(planes, i, s, values),
            gamma * cost_of(open_target(data.target), i, r),
        )
        value, held = product(r, s) + offset, -1
        if value > top + RESOLUTION * max(gamma, abs(value)):
            if not fits(planes, i, r):
                return visit
            add_plane(k, data, space, planes, i, offset, dense)
            held = planes.counts[i] - 1
            values[held] = value
        totals[0] += loss
        totals[1] += 1.0
        if planes.counts[i] > 1:
            move = climb(
                k, data, space, planes, i, theta, values, change, RESOLUTION * gamma, steps, held
            )
            if move > 0.0:
                add_to_lag(k, data, space, lag, -move, totals[1])
            drop(planes, i, -1)
    return len(order)


@driver(
    types.int64,
    LONGS,
    VECTOR,
    ANSWERS,
    TEAM,
    PLANES,
    VECTOR,
    types.float64,
    types.float64,
    MATRIX,
    VECTOR,
)
def collect_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    answers: Answers,
    team: Array,
    planes: Planes,
    dense: Array,
    gamma: float,
    margin: float,
    scratch: Array,
    totals: Array,
) -> int:
    """Ask the oracle at theta for every instance; cache the planes that lie higher than the cached
    ones by `margin`.

    `totals` holds the sum of the losses and the number of new planes, and is added to. Returns the
    index in `order` of the instance whose plane found no free slot, or the length of `order`.
    """
    values, slots = scratch[0], len(answers.losses)
    for visit, i in enumerate(order):
        if visit % slots == 0:
            answer_all(k, data, space, order, min(visit + slots, len(order)), theta, answers, team)
        if halted():
            break
        n = size(data, i)
        s, r = scores_of(answers, visit, n), residual_of(answers, visit, n)
        top, offset = (
            values_at(planes, i, s, values),
            gamma * cost_of(open_target(data.target), i, r),
        )
        value = product(r, s) + offset
        if value > top + max(margin, RESOLUTION * abs(value)):
            if not fits(planes, i, r):
                return visit
            set_row(part(space.residual, 0, n), r)
            add_plane(k, data, space, planes, i, offset, dense)
            totals[1] += 1.0
        totals[0] += loss_of(answers, visit)
    return len(order)


@driver(types.void, PLANES, LONGS, VECTOR, types.float64, types.float64, MATRIX, VECTOR)
def sweep(
    k: Any,
    data: Any,
    space: Any,
    planes: Planes,
    order: Array,
    theta: Array,
    C: float,
    tolerance: float,
    scratch: Array,
    gaps: Array,
) -> None:
    """Make pair steps at some instances; gaps[i] becomes max_j v_ij - (1/C) sum_j alpha_ij v_ij
    before them.
    """
    values, change = scratch[0], scratch[1]
    for visit, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, visit)
        n, rows = size(data, i), planes.counts[i]
        k.scores(data.features, theta, i, part(space.direction, 0, n), space.gradient)
        top = values_at(planes, i, part(space.direction, 0, n), values)
        gaps[i] = max(0.0, top - product(duals(planes, i), values) / C)
        if gaps[i] > tolerance:
            climb(k, data, space, planes, i, theta, values, change, tolerance, STEPS * rows, -1)
