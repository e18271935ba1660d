"""Differences of two members of the loss family: the ramp loss and bounds on the risk."""

from __future__ import annotations

from structopt.kernels.loss import open_target
from structopt.kernels.signatures import EVALUATE, kernel


@kernel(EVALUATE)
def difference(solve, structure, target, parameters, i, s, r, memory, work):
    """L_{beta,gamma} - L_{beta,0}; r becomes the difference of their maximisers, the gold sides cancel.

    Of the gold sides only the constant of the cost is left: q = -cost^T z, for costs come without it.
    """
    t = open_target(target)
    first, last = t.cost_offsets[i], t.cost_offsets[i + 1]
    other = s.copy()  # the one vector that no scratch is handed down for; its allocation is nothing beside two inferences
    plain = solve(structure, i, other, parameters[0], r, memory, work)

    other[:] = 0.0
    for j in range(first, last):
        cost = parameters[1] * t.cost_values[j]
        s[t.cost_parts[j]] += cost
        other[t.cost_parts[j]] += cost
    gold = 0.0
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        gold += other[t.gold_parts[j]] * t.gold_values[j]

    augmented = solve(structure, i, s, parameters[0], other, memory, work)
    r[:] = other - r
    return augmented - plain - gold
