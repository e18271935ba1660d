"""Differences of two members of the loss family: the ramp loss and bounds on the risk."""

from __future__ import annotations

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.signatures import EVALUATE, driven, kernel
from structopt.kernels.waist.target import (
    add_cost,
    cost_of,
    gold_score,
    is_set,
    open_target,
    restrict,
)


@driven
def target_cost(solve, structure, t, i, s, other, answer, memory, work):
    """p^T z, the same for every allowed output z."""
    if is_set(t, i):
        restrict(t, i, s, other)
        solve(structure, i, other, 0.0, answer, memory, work)
        return cost_of(t, i, answer)
    other[:] = 0.0
    add_cost(t, i, 1.0, other)
    return gold_score(t, i, other)


@kernel(EVALUATE)
def difference(solve, structure, target, parameters, i, s, r, other, answer, memory, work):
    """L_{beta,gamma} - L_{beta,0}; r becomes the difference of their maximisers, the target sides
    cancel.

    Of the target sides only the constant of the cost is left: q = -p^T z, for costs come without
    it.
    """
    t = open_target(target)
    constant = target_cost(solve, structure, t, i, s, other, answer, memory, work)
    set_row(other, s)
    plain = solve(structure, i, other, parameters[0], answer, memory, work)
    add_cost(t, i, parameters[1], s)
    augmented = solve(structure, i, s, parameters[0], r, memory, work)
    r -= answer
    return augmented - plain - parameters[1] * constant
