"""Losses of one instance from its scores: augment, call the inference, subtract the target side.

Every kernel takes the inference's `solve` as an argument, so that a loss that needs two calls (a
difference of members, a set of allowed outputs) is written the same way; `other` and `answer` are
scratch for the second. The scores are scratch and are overwritten. `parameters` holds temperature
1/beta and gamma.
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import EVALUATE, kernel
from structopt.kernels.waist.target import (
    add_cost,
    add_gold,
    gold_score,
    is_set,
    open_target,
    restrict,
)


@kernel(EVALUATE)
def family(solve, structure, target, parameters, i, s, r, other, answer, memory, work):
    """L_{beta,gamma} of eq. (3) and (8); r becomes the residual z_bar - z.

    Costs come without their constant q, which cancels: the gold output has cost 0, so the augmented
    score of the gold parts is s^T z - gamma q. So has every output of a set A, and z_bar_A is the
    inference's solution on A:

        L = (1/beta) log sum_{y in Y} exp beta s_gamma(y) - (1/beta) log sum_{y in A} exp beta
        s_gamma(y),  r = z_bar_Y - z_bar_A.
    """
    t = open_target(target)
    add_cost(t, i, parameters[1], s)
    if is_set(t, i):
        restrict(t, i, s, other)
        value = solve(structure, i, s, parameters[0], r, memory, work)
        value -= solve(structure, i, other, parameters[0], answer, memory, work)
        r -= answer
        return value
    value = solve(structure, i, s, parameters[0], r, memory, work)
    add_gold(t, i, -1.0, r)
    return value - gold_score(t, i, s)
