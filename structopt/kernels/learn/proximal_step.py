"""Proximal steps at one instance:  min_theta' 1/2 ||theta' - theta||^2 + C L(theta'),  by planes
that bound L from below.

The planes are vectors over the parts of the instance, so that nothing as long as theta is touched
before the step is known: with  a_j = F r_j  and the images  u_j = F^T F r_j,  every product is one
over parts,  a_j^T a_l = r_j^T u_l. Over the planes, the step is the program of
`structopt.kernels.learn.mira_program`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.learn.averaging import averaged_step
from structopt.kernels.learn.dca import NEGATIVE
from structopt.kernels.learn.mira_program import pair_steps
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driven, driver, inlined
from structopt.kernels.waist.target import product
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, image, size

MOST_EVALUATIONS = 200  # of one loss in one step: beyond them only rounding errors are left
MOST_PAIR_STEPS = 100_000
# to which the program over the planes is solved at last, relative to losses above 1
TOLERANCE = 1e-12
# of the proximal gap: the tolerance to which it is solved before another plane is added
SHARE = 0.1
PRECISION = 1e-14  # relative to the largest value of a plane: differences below this are rounding


class Bundle(NamedTuple):
    """Planes of one instance, lower bounds  a_j^T theta' + b_j  of its loss, and the scratch to
    find them.

    Row 0 is the null plane (a_0 = 0, b_0 = 0), a bound of every loss that is never negative: the
    constraint xi >= 0 of MIRA.

    Attributes
    ----------
    residuals : float64, shape (rows, parts)
        r_j, with a_j = F r_j on the weights that may move.
    images : float64, shape (rows, parts)
        u_j = F^T a_j: the scores fall by alpha_j u_j.
    gram : float64, shape (rows, rows)
        a_j^T a_l.
    heights : float64, shape (rows,)
        a_j^T theta + b_j at the weights before the step.
    values : float64, shape (rows,)
        The same at the weights that alpha leads to:  theta - sum_j alpha_j a_j.
    alpha : float64, shape (rows,)
        Dual variables; they sum to C.
    dense : float64, shape (dimension,)
        Zero between uses.
    """

    residuals: Array
    images: Array
    gram: Array
    heights: Array
    values: Array
    alpha: Array
    dense: Array


def empty_bundle(planes: int, parts: int, dimension: int) -> Bundle:
    """Allocate a bundle of so many planes besides the null plane, for instances with up to `parts`
    parts.
    """
    rows = planes + 1
    tables = np.zeros((rows, parts)), np.zeros((rows, parts)), np.zeros((rows, rows))
    return Bundle(*tables, np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(dimension))


BUNDLE: Any = numba.typeof(empty_bundle(1, 1, 1))  # type: ignore[no-untyped-call]


@inlined
def clear(bundle, C):
    """Empty the bundle but for the null plane, which gets all mass; return the number of rows."""
    bundle.heights[0] = bundle.values[0] = 0.0
    bundle.alpha[0] = C
    return 1


@driven
def push(k, data, space, i, bundle, row, height, value):
    """Make ``bundle.residuals[row]`` a plane of a given height and value, without mass: compute its
    image and products.
    """
    n = size(data, i)
    u = bundle.images[row][:n]
    k.pullback(data.features, i, bundle.residuals[row][:n], space.gradient)
    image(k, data, space, i, bundle.dense, u)
    for j in range(row + 1):
        bundle.gram[row, j] = bundle.gram[j, row] = (
            product(bundle.residuals[j][:n], u) if j > 0 else 0.0
        )
    bundle.heights[row], bundle.values[row], bundle.alpha[row] = height, value, 0.0


@inlined
def drop_idle(bundle, rows, n):
    """Remove the planes without mass, the others keeping their order; return how many rows are
    left.
    """
    kept = 1
    for j in range(1, rows):
        if bundle.alpha[j] > 0.0:
            if kept < j:
                bundle.residuals[kept, :n] = bundle.residuals[j, :n]
                bundle.images[kept, :n] = bundle.images[j, :n]
                bundle.gram[kept, :rows] = bundle.gram[j, :rows]
                bundle.gram[:rows, kept] = bundle.gram[:rows, j]
                bundle.heights[kept], bundle.values[kept] = bundle.heights[j], bundle.values[j]
                bundle.alpha[kept] = bundle.alpha[j]
            kept += 1
    return kept


@inlined
def balance(bundle, rows, tolerance):
    """Solve the program over the planes to an absolute tolerance, or to rounding."""
    largest = 0.0
    for j in range(rows):
        largest = max(largest, abs(bundle.values[j]))
    pair_steps(
        bundle.gram,
        bundle.values,
        bundle.alpha,
        rows,
        max(tolerance, PRECISION * largest),
        MOST_PAIR_STEPS,
    )


@driven
def move(k, data, space, i, bundle, rows, theta, lag, t):
    """theta -= sum_j alpha_j a_j, in one pullback of the mean residual; `lag` as in
    `averaged_step`, with weight t.
    """
    r, mass = part(space.residual, 0, size(data, i)), 0.0
    r[:] = 0.0
    for j in range(1, rows):
        if bundle.alpha[j] > 0.0:
            mass += bundle.alpha[j]
            for q in range(len(r)):
                r[q] += bundle.alpha[j] * bundle.residuals[j, q]
    if mass == 0.0:
        return
    for q in range(len(r)):
        r[q] /= mass
    k.pullback(data.features, i, r, space.gradient)
    averaged_step(k, data, space, theta, lag, -mass, t)


@driven
def collect(
    k: Any, data: Any, space: Any, i: int, theta: Array, C: float, tolerance: float, bundle: Bundle
) -> tuple[int, float]:
    """Find planes of L_i, and alpha, whose step is the proximal step of the loss; return the rows,
    and L_i(theta).

    Each evaluation at the point theta' that alpha leads to adds the tangent there. As the dual
    value of that point is sum_j alpha_j v_j + 1/2 ||theta' - theta||^2,  the proximal gap is  C
    L(theta') - sum_j alpha_j v_j  at any alpha. The search ends when the gap is at most C *
    tolerance * max(1, L), or when all planes of a full bundle have mass. At last the program over
    the planes is solved to rounding, which can only raise the dual. Half the squared distance
    between the point that it leads to and the proximal point is at most the gap.
    """
    n, rows, first = size(data, i), clear(bundle, C), 0.0
    start, s = part(space.direction, 0, n), part(space.scores, 0, n)
    k.scores(data.features, theta, i, start, space.gradient)
    for evaluation in range(MOST_EVALUATIONS):
        if halted():
            break
        set_row(s, start)
        for j in range(1, rows):
            if bundle.alpha[j] > 0.0:
                for q in range(n):
                    s[q] -= bundle.alpha[j] * bundle.images[j, q]
        if rows == len(bundle.alpha):
            rows = drop_idle(bundle, rows, n)
            if rows == len(bundle.alpha):
                break
        residual = bundle.residuals[rows][:n]
        loss = evaluate(k, data, space, i, s, residual)
        if evaluation == 0:
            first = loss
        gap = loss
        for j in range(1, rows):
            gap -= bundle.alpha[j] / C * bundle.values[j]
        if gap <= tolerance * max(1.0, loss):
            break
        height = loss
        for j in range(1, rows):
            height += bundle.alpha[j] * product(residual, bundle.images[j][:n])
        push(k, data, space, i, bundle, rows, height, loss)
        rows += 1
        balance(bundle, rows, SHARE * gap)
    balance(bundle, rows, TOLERANCE * max(1.0, first))
    return rows, first


@driver(
    types.void, LONGS, VECTOR, VECTOR, types.float64, types.float64, types.float64, BUNDLE, VECTOR
)
def proximal_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    lag: Array,
    visits: float,
    C: float,
    tolerance: float,
    bundle: Bundle,
    totals: Array,
) -> None:
    """Visit the instances in the given order:  theta = argmin_theta' 1/2 ||theta' - theta||^2 + C
    L_i(theta').

    `lag`, `visits` and `totals` as in `structopt.kernels.learn.dca.dca_pass`.
    """
    total, negative, t = 0.0, 0.0, visits
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        t += 1.0
        rows, loss = collect(k, data, space, i, theta, C, tolerance, bundle)
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        move(k, data, space, i, bundle, rows, theta, lag, t)
    totals[0] = total
    totals[1] = negative
