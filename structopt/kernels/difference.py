"""Differences of two members of the loss family: the ramp loss and bounds on the risk."""

from __future__ import annotations

from structopt.kernels.signatures import EVALUATE, kernel
from structopt.kernels.target import add_cost, gold_score, open_target


@kernel(EVALUATE)
def difference(solve, structure, target, parameters, i, s, r, memory, work):
    """L_{beta,gamma} - L_{beta,0}; r becomes the difference of their maximisers, the gold sides cancel.

    Of the gold sides only the constant of the cost is left: q = -cost^T z, for costs come without it.
    """
    t = open_target(target)
    other = s.copy()  # the one vector that no scratch is handed down for; its allocation is nothing beside two inferences
    plain = solve(structure, i, other, parameters[0], r, memory, work)

    other[:] = 0.0
    add_cost(t, i, parameters[1], other)
    gold = gold_score(t, i, other)
    add_cost(t, i, parameters[1], s)
    augmented = solve(structure, i, s, parameters[0], other, memory, work)
    r[:] = other - r
    return augmented - plain - gold
