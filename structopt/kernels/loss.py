"""Losses of one instance from its scores: augment, call the inference, subtract the gold side.

Every kernel takes the inference's `solve` as an argument, so that a loss that needs two calls (a difference of members, a
latent target) is written the same way. The scores are scratch and are spoilt. `parameters` holds temperature 1/beta and gamma.
"""

from __future__ import annotations

from structopt.kernels.signatures import EVALUATE, kernel
from structopt.kernels.target import add_cost, add_gold, cost_of, gold_score, open_target


@kernel(EVALUATE)
def family(solve, structure, target, parameters, i, s, r, memory, work):
    """L_{beta,gamma} of eq. (3) and (8); r becomes the residual z_bar - z.

    Costs come without their constant q, which cancels: the gold output has cost 0, so the augmented score of the gold
    parts is s^T z - gamma q.
    """
    t = open_target(target)
    add_cost(t, i, parameters[1], s)
    value = solve(structure, i, s, parameters[0], r, memory, work)
    add_gold(t, i, -1.0, r)
    return value - gold_score(t, i, s)


@kernel(EVALUATE)
def prediction_based(solve, structure, target, parameters, i, s, r, memory, work):
    """s^T(z' - z) + gamma * cost(z') at the mode z' under the scores alone (footnote 7); r becomes z' - z."""
    t = open_target(target)
    value = solve(structure, i, s, 0.0, r, memory, work)
    add_gold(t, i, -1.0, r)
    return value - gold_score(t, i, s) + parameters[1] * cost_of(t, i, r)
