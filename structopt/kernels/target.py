"""Gold outputs and costs as sparse vectors over the parts of an instance, and what losses and learners do with them."""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.fields import Floats, Ints, Longs
from structopt.kernels.layout import RecordLayout
from structopt.kernels.signatures import inlined


class Target(NamedTuple):
    """The record of the targets, opened: offsets an instance, part numbers, values; of the gold z and of the cost p."""

    gold_offsets: Longs
    gold_parts: Ints
    gold_values: Floats
    cost_offsets: Longs
    cost_parts: Ints
    cost_values: Floats


TARGET = RecordLayout(Target)
open_target = TARGET.compiled


@inlined
def add_gold(t, i, amount, x):
    """x += amount * z."""
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        x[t.gold_parts[j]] += amount * t.gold_values[j]


@inlined
def gold_score(t, i, s):
    """Return s^T z."""
    total = 0.0
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        total += t.gold_values[j] * s[t.gold_parts[j]]
    return total


@inlined
def add_cost(t, i, gamma, s):
    """s += gamma * p."""
    for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
        s[t.cost_parts[j]] += gamma * t.cost_values[j]


@inlined
def cost_of(t, i, x):
    """Return p^T x: of a residual the (expected) cost, since the gold output costs nothing."""
    total = 0.0
    for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
        total += t.cost_values[j] * x[t.cost_parts[j]]
    return total


@inlined
def product(x, s):
    """Return x^T s, where the zeros of x are skipped: s may be -inf there."""
    total = 0.0
    for r in range(len(x)):
        if x[r] != 0.0:
            total += x[r] * s[r]
    return total
