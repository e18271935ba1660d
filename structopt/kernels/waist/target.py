"""Targets and costs as sparse vectors over the parts of an instance: added, multiplied, restricted
to.

The target of an instance is a point, its gold output, or a set of allowed outputs: those with the
allowed parts.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import driven, embedded, inlined
from structopt.kernels.waist.views import part


class Target(NamedTuple):
    """The record of the targets of m instances, opened.

    Attributes
    ----------
    gold_offsets, gold_parts, gold_values : gold indicators z, a sparse vector an instance; empty
    where the target is a set cost_offsets, cost_parts, cost_values : costs p, likewise sets : (m,)
    whether the target of an instance is a set variables : (m + 1,) where the restricted variables
    of each instance begin; only sets have any starts, ends : the parts start <= r < end are the
    configurations of a restricted variable allowed_offsets, allowed : which of them it may have;
    where those of each variable begin, with one more entry at the end
    """

    gold_offsets: Longs
    gold_parts: Ints
    gold_values: Floats
    cost_offsets: Longs
    cost_parts: Ints
    cost_values: Floats
    sets: Ints
    variables: Longs
    starts: Ints
    ends: Ints
    allowed_offsets: Longs
    allowed: Ints


TARGET = RecordLayout(Target)
open_target = TARGET.compiled


@embedded
def is_set(t, i):
    """Whether the target of instance i is a set of outputs."""
    return t.sets[i] != 0


@inlined
def restrict(t, i, s, out):
    """Copy the scores to `out`, with -inf for parts that no allowed output has."""
    set_row(out, s)
    for v in range(t.variables[i], t.variables[i + 1]):
        out[t.starts[v] : t.ends[v]] = -inf
        for j in range(t.allowed_offsets[v], t.allowed_offsets[v + 1]):
            out[t.allowed[j]] = s[t.allowed[j]]


@driven
def complete(k, data, space, t, i, s, z):
    """Let z be a point target of instance i: its gold output, or at the scores s the best of its
    allowed outputs.
    """
    z[:] = 0.0
    if is_set(t, i):
        other = part(space.second_scores, 0, len(s))
        restrict(t, i, s, other)
        k.solve(
            data.structure,
            i,
            other,
            0.0,
            z,
            part(data.messages, data.memory[i], data.memory[i + 1]),
            space.work,
        )
    else:
        add_gold(t, i, 1.0, z)


@embedded
def add_gold(t, i, amount, x):
    """x += amount * z, of a point."""
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        x[t.gold_parts[j]] += amount * t.gold_values[j]


@embedded
def gold_score(t, i, s):
    """Return s^T z, of a point."""
    total = 0.0
    for j in range(t.gold_offsets[i], t.gold_offsets[i + 1]):
        total += t.gold_values[j] * s[t.gold_parts[j]]
    return total


@embedded
def add_cost(t, i, gamma, s):
    """s += gamma * p; at gamma = 0 the costs are not read."""
    if gamma == 0.0:
        return
    for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
        s[t.cost_parts[j]] += gamma * t.cost_values[j]


@embedded
def cost_of(t, i, x):
    """Return p^T x: of a residual the (expected) cost, since the target costs nothing."""
    total = 0.0
    for j in range(t.cost_offsets[i], t.cost_offsets[i + 1]):
        total += t.cost_values[j] * x[t.cost_parts[j]]
    return total


@inlined
def list_parts(z, first, parts, values):
    """Write the parts where z is not 0, and its values, from index `first` on; return the index
    after the last.
    """
    for r in range(len(z)):
        if z[r] != 0.0:
            parts[first], values[first] = r, z[r]
            first += 1
    return first


@inlined
def product(x, s):
    """Return x^T s, where the zeros of x are skipped: s may be -inf there."""
    total = 0.0
    for r in range(len(x)):
        if x[r] != 0.0:
            total += x[r] * s[r]
    return total
