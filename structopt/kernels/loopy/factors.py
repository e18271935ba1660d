"""Factor graphs of any shape: variables, and groups of soft and hard factors over them.

A variable has `width` parts, one a state; a *binary* variable has the width 1, and its part
indicates that it is on. A factor links variables, and may have *private* parts beside theirs, each
of which indicates a joint configuration. The parts of an instance are those of its variables, in
order, and then the private parts of its factors, in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.fields import Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined

TREE = 0
"""The linked binary variables are candidate arcs, of which exactly a tree is on.

Extra: n, single_root, projective, then for each linked arc its modifier and its head (the modifier
itself for the root).
"""
AUTOMATON = 1
"""The modifiers of one head on one side: k linked binary variables, from the nearest to the head to
the farthest.

Private parts: one for every pair of consecutive modifiers (i, j), 0 <= i < j <= k + 1, in
lexicographic order; 0 stands before the first modifier, k + 1 after the last, and 1..k are the
linked variables: (k + 1)(k + 2)/2 parts. The variables that are on, with 0 and k + 1, form one path
of such pairs.
"""
PAIRS = 2
"""Independent pairs: the private part r is on where both binary variables linked[2 r] and linked[2
r + 1] are on.
"""
EXACTLY_ONE = 3
"""Exactly one of the linked binary variables is on; no private parts."""
BUDGET = 4
"""At most extra[0] of the linked binary variables are on; no private parts."""
TABLE = 5
"""Two linked variables of widths K and K' > 1; K * K' private parts, one for every pair of states,
row by row.
"""
NUMBERS = {
    "tree": TREE,
    "automaton": AUTOMATON,
    "pairs": PAIRS,
    "exactly_one": EXACTLY_ONE,
    "budget": BUDGET,
    "table": TABLE,
}
"""The core's kinds by name. These numbers stay: they are in records on disk."""
FIRST_OPEN = 1 << 16
"""Numbers from here on are those of kinds that the core does not know
(`structopt.core.factor_kind_table`).
"""


class Factors(NamedTuple):
    """The record of the factor graphs of m instances, opened.

    Attributes
    ----------
    variables : (m + 1,) where the variables of each instance begin
    widths : parts of each variable (1: binary)
    starts : first part of each variable, counted within the instance
    factors : (m + 1,) where the factors of each instance begin
    kinds : kind of each factor
    links : (F + 1,) where the links of each factor begin
    linked : variables of the factors, counted within the instance
    privates : (F + 1,) how many private parts there are before each factor, over all instances
    extras : (F + 1,) where the extra numbers of each factor begin
    extra : numbers that the kinds need
    shared : (m,) how many parts the variables of each instance have: its private parts begin there
    """

    variables: Longs
    widths: Ints
    starts: Longs
    factors: Longs
    kinds: Ints
    links: Longs
    linked: Ints
    privates: Longs
    extras: Longs
    extra: Ints
    shared: Longs


FACTORS = RecordLayout(Factors)
open_factors = FACTORS.compiled


@inlined
def private_start(f, i, factor):
    """First private part of a factor, counted within instance i."""
    return f.shared[i] + f.privates[factor] - f.privates[f.factors[i]]


@inlined
def linked_parts(f, i, factor):
    """How many parts the linked variables of a factor have together."""
    total, before = 0, f.variables[i]
    for link in range(f.links[factor], f.links[factor + 1]):
        total += f.widths[before + f.linked[link]]
    return total


@inlined
def first_width(f, i, factor):
    """Parts of the first linked variable of a factor."""
    return np.int64(f.widths[f.variables[i] + f.linked[f.links[factor]]])


@inlined
def extra_numbers(f, factor):
    """The extra numbers of a factor."""
    return f.extra[f.extras[factor] : f.extras[factor + 1]]
