"""The loss of one instance at the best output under its scores without costs."""

from __future__ import annotations

from structopt.kernels.waist.signatures import EVALUATE, kernel
from structopt.kernels.waist.target import (
    add_gold,
    cost_of,
    gold_score,
    is_set,
    open_target,
    restrict,
)


@kernel(EVALUATE)
def prediction_based(solve, structure, target, parameters, i, s, r, other, answer, memory, work):
    """s^T(z' - z) + gamma * cost(z') at the mode z' under scores without costs (footnote 7).

    r becomes z' - z. In a set, z is the best allowed output under the scores.
    """
    t = open_target(target)
    if is_set(t, i):
        restrict(t, i, s, other)
        value = solve(structure, i, s, 0.0, r, memory, work)
        value -= solve(structure, i, other, 0.0, answer, memory, work)
        r -= answer
        return value + parameters[1] * cost_of(t, i, r)
    value = solve(structure, i, s, 0.0, r, memory, work)
    add_gold(t, i, -1.0, r)
    return value - gold_score(t, i, s) + parameters[1] * cost_of(t, i, r)
