"""One pass of k-best MIRA: a plane for each of the k best outputs, and the step that `pair_steps`
finds for them.

The quadratic program is that of `structopt.kernels.learn.mira_program`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from structopt.kernels.arrays.rows import set_row, set_scaled
from structopt.kernels.learn.proximal_step import (
    BUNDLE,
    TOLERANCE,
    Bundle,
    balance,
    clear,
    move,
    push,
)
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import count_visit, halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driven, driver, inlined
from structopt.kernels.waist.target import add_cost, complete, cost_of, open_target, product
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size


class Lists(NamedTuple):
    """Scratch for the k best outputs of one instance.

    Attributes
    ----------
    scores : float64, shape (k,)
    offsets : int64, shape (k + 1,)
    parts : int32, and counts : float64, both as long as k outputs can have active parts
    """

    scores: Array
    offsets: Array
    parts: Array
    counts: Array


def empty_lists(k: int, active: int) -> Lists:
    """Allocate the lists for k outputs with at most `active` active parts each."""
    return Lists(
        np.zeros(k), np.zeros(k + 1, np.int64), np.zeros(k * active, np.int32), np.zeros(k * active)
    )


LISTS: Any = numba.typeof(empty_lists(1, 1))  # type: ignore[no-untyped-call]


@inlined
def is_new(residuals, row, n):
    """Whether the residual in this row is neither that of a gold output (zero) nor one of the rows
    before it.
    """
    for j in range(row):
        same = True
        for q in range(n):
            if residuals[row, q] != (residuals[j, q] if j > 0 else 0.0):
                same = False
                break
        if same:
            return False
    return True


@driven
def rank(
    k: Any,
    data: Any,
    space: Any,
    i: int,
    theta: Array,
    C: float,
    prediction: bool,
    lists: Lists,
    bundle: Bundle,
) -> tuple[int, float]:
    """Make a plane of each of the k best outputs and share C among them; return the rows, and the
    loss of the best output.

    The planes are  (theta' - theta)^T a_j + v_j,  v_j = s^T r_j + gamma * cost(z'_j),  r_j = z'_j -
    z.  The outputs are the best under the scores with the cost added, or with `prediction` under
    the scores alone.
    """
    n, rows = size(data, i), clear(bundle, C)
    s, spoilt, z = part(space.direction, 0, n), part(space.scores, 0, n), part(space.answer, 0, n)
    k.scores(data.features, theta, i, s, space.gradient)
    set_row(spoilt, s)
    target, gamma = open_target(data.target), data.parameters[1]
    complete(k, data, space, target, i, s, z)
    if not prediction:
        add_cost(target, i, gamma, spoilt)
    count_visit()
    outputs = k.k_best(
        data.structure,
        i,
        spoilt,
        len(lists.scores),
        lists.scores,
        lists.offsets,
        lists.parts,
        lists.counts,
        space.work,
    )
    loss = highest = 0.0
    for q in range(outputs):
        r = bundle.residuals[rows][:n]
        set_scaled(r, -1.0, z)
        for j in range(lists.offsets[q], lists.offsets[q + 1]):
            r[lists.parts[j]] += lists.counts[j]
        if not is_new(bundle.residuals, rows, n):
            continue
        height = product(r, s) + gamma * cost_of(target, i, r)
        bundle.heights[rows] = height
        if q == 0:
            loss = height
        highest = max(highest, height)
        rows += 1
    if highest <= 0.0:
        return 1, loss
    for j in range(1, rows):
        push(k, data, space, i, bundle, j, bundle.heights[j], bundle.heights[j])
    balance(bundle, rows, TOLERANCE * max(1.0, highest))
    return rows, loss


@driver(
    types.void,
    LONGS,
    VECTOR,
    VECTOR,
    types.float64,
    types.float64,
    types.boolean,
    LISTS,
    BUNDLE,
    VECTOR,
)
def k_best_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    lag: Array,
    visits: float,
    C: float,
    prediction: bool,
    lists: Lists,
    bundle: Bundle,
    totals: Array,
) -> None:
    """Visit the instances in the given order:  min 1/2 ||theta' - theta||^2 + C xi,  xi >= 0,  xi
    >= every plane of the list.

    `lag`, `visits` and `totals` as in `structopt.kernels.learn.dca.dca_pass`; no loss is negative.
    """
    total, t = 0.0, visits
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        t += 1.0
        rows, loss = rank(k, data, space, i, theta, C, prediction, lists, bundle)
        total += loss
        move(k, data, space, i, bundle, rows, theta, lag, t)
    totals[0] = total
    totals[1] = 0.0
