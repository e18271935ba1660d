"""Losses of one instance from its scores: augment, call the inference, subtract the gold side.

Every kernel takes the inference's `solve` as an argument, so that a loss that needs two calls (a difference of members, a
latent target) is written the same way. The scores are scratch and are spoilt. `parameters` holds temperature 1/beta and gamma.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.signatures import EVALUATE, inlined, kernel


class Target(NamedTuple):
    """Gold indicators and costs as sparse vectors over the parts: offsets an instance, part numbers, values."""

    gold_offsets: np.ndarray
    gold_parts: np.ndarray
    gold_values: np.ndarray
    cost_offsets: np.ndarray
    cost_parts: np.ndarray
    cost_values: np.ndarray


@inlined
def open_target(target):
    """Open the record of the targets."""
    i, n, f, at = target.ints, target.longs, target.floats, target.at
    return Target(
        n[at[3] : at[4]], i[at[0] : at[1]], f[at[6] : at[7]], n[at[4] : at[5]], i[at[1] : at[2]], f[at[7] : at[8]]
    )


@inlined
def subtract_gold(t, i, s, r):
    """r -= z; return s^T z."""
    value = 0.0
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        r[t.gold_parts[j]] -= t.gold_values[j]
        value += s[t.gold_parts[j]] * t.gold_values[j]
    return value


@kernel(EVALUATE)
def family(solve, structure, target, parameters, i, s, r, memory, work):
    """L_{beta,gamma} of eq. (3) and (8); r becomes the residual z_bar - z.

    Costs come without their constant q, which cancels: the gold output has cost 0, so the augmented score of the gold
    parts is s^T z - gamma q.
    """
    t = open_target(target)
    gamma = parameters[1]
    if gamma != 0.0:
        for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
            s[t.cost_parts[j]] += gamma * t.cost_values[j]
    value = solve(structure, i, s, parameters[0], r, memory, work)
    return value - subtract_gold(t, i, s, r)


@kernel(EVALUATE)
def prediction_based(solve, structure, target, parameters, i, s, r, memory, work):
    """s^T(z' - z) + gamma * cost(z') at the mode z' under the scores alone (footnote 7); r becomes z' - z."""
    t = open_target(target)
    value = solve(structure, i, s, 0.0, r, memory, work)
    value -= subtract_gold(t, i, s, r)
    for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
        value += parameters[1] * t.cost_values[j] * r[t.cost_parts[j]]
    return value
