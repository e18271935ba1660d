"""Parts of second order of dependency trees: which there are, and which of them an output has.

The candidate arcs of a sentence of n tokens fall into 2 n + 1 *sides*: number 2 h holds the modifiers that stand before
their head h, 2 h + 1 those that stand after it, and 2 n those of the root. On each side modifiers are in order from the
head outwards.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.loopy.factors import AUTOMATON, PAIRS, open_factors, private_start
from structopt.kernels.waist.signatures import INTS, LONGS, RECORD, VECTOR, inlined, kernel

ROOT = -1
NONE = -2
"""Tokens that are none, as `structopt.core.data.encoded` has them."""


@inlined
def pair_number(i, j, k):
    """Place of the pair (i, j), 0 <= i < j <= k + 1, among those of an automaton over k modifiers."""
    return i * (k + 1) - i * (i - 1) // 2 + j - i - 1


@inlined
def mark_path(linked, starts, z, private):
    """Write the indicators of an automaton's pairs, from those of its modifiers: `starts` tells their parts in z."""
    k, before = len(linked), 0
    private[:] = 0.0
    for j in range(1, k + 1):
        if z[starts[linked[j - 1]]] > 0.5:
            private[pair_number(before, j, k)] = 1.0
            before = j
    private[pair_number(before, k + 1, k)] = 1.0


@inlined
def mark_pairs(linked, starts, z, private):
    """Write the indicators of independent pairs, from those of the variables that they link."""
    for r in range(len(private)):
        private[r] = z[starts[linked[2 * r]]] > 0.5 and z[starts[linked[2 * r + 1]]] > 0.5


@inlined
def complete(f, i, z):
    """Write the private parts of the automata and pairs of instance i, given the indicators of its variables."""
    starts = f.starts[f.variables[i] : f.variables[i + 1]]
    for factor in range(f.factors[i], f.factors[i + 1]):
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        first = private_start(f, i, factor)
        private = z[first : first + f.privates[factor + 1] - f.privates[factor]]
        if f.kinds[factor] == AUTOMATON:
            mark_path(linked, starts, z, private)
        elif f.kinds[factor] == PAIRS:
            mark_pairs(linked, starts, z, private)


@kernel(types.void(RECORD, LONGS, LONGS, VECTOR, LONGS, INTS))
def list_output(structure, tokens, chosen, z, ends, found):
    """List the parts of one output of every instance.

    `chosen`, shape (tokens,), names its part of each output variable; `z` is scratch for the parts of any instance.
    ends[i] becomes the number of parts listed up to instance i; where `found` is empty they are only counted.
    """
    f = open_factors(structure)
    r = 0
    for i in range(len(tokens) - 1):
        size = private_start(f, i, f.factors[i + 1])
        z[:size] = 0.0
        for t in range(tokens[i], tokens[i + 1]):
            z[chosen[t]] = 1.0
        complete(f, i, z)
        for part in range(size):
            if z[part] > 0.5:
                if len(found) > 0:
                    found[r] = part
                r += 1
        ends[i] = r


@inlined
def _side(head, modifier, n):
    if head == modifier:
        return 2 * n
    return 2 * head + (modifier > head)


@kernel(types.void(LONGS, LONGS, INTS, LONGS, INTS))
def sort_by_head(tokens, arcs, heads, sides, order):
    """Fill `order`, shape (arcs,), with the arcs side by side, numbered within their sentence; sides[k] is where side k begins.

    The sides of all sentences are counted through: shape (2 tokens + sentences + 1,).
    """
    sides[:] = 0
    for i in range(len(tokens) - 1):
        base, n = 2 * tokens[i] + i, tokens[i + 1] - tokens[i]
        for m in range(n):
            for e in range(arcs[tokens[i] + m], arcs[tokens[i] + m + 1]):
                sides[base + _side(heads[e], m, n) + 1] += 1
    for k in range(1, len(sides)):
        sides[k] += sides[k - 1]
    filled = np.zeros(len(sides), np.int64)
    for i in range(len(tokens) - 1):
        base, n, start = 2 * tokens[i] + i, tokens[i + 1] - tokens[i], arcs[tokens[i]]
        for m in range(n):
            for e in range(arcs[tokens[i] + m], arcs[tokens[i] + m + 1]):
                side = _side(heads[e], m, n)
                k = base + side
                if side % 2 == 0 and side < 2 * n:  # nearest last: modifiers before their head come in ascending order
                    place = sides[k + 1] - 1 - filled[k]
                else:
                    place = sides[k] + filled[k]
                order[place] = e - start
                filled[k] += 1


@kernel(types.void(LONGS, LONGS, LONGS, INTS, INTS, INTS))
def consecutive_siblings(tokens, arcs, sides, order, modifiers, places):
    """Places (head, nearer, farther) of all pairs of every automaton: of each side that is not empty, in order.

    `modifiers` has the modifier of every arc; `places` is flat, shape (3 parts,).
    """
    r = 0
    for i in range(len(tokens) - 1):
        base, n, start = 2 * tokens[i] + i, tokens[i + 1] - tokens[i], arcs[tokens[i]]
        for side in range(2 * n + 1):
            first, k = sides[base + side], sides[base + side + 1] - sides[base + side]
            for a in range(k + 1 if k > 0 else 0):
                nearer = NONE if a == 0 else modifiers[start + order[first + a - 1]]
                for b in range(a + 1, k + 2):
                    places[r] = ROOT if side == 2 * n else side // 2
                    places[r + 1] = nearer
                    places[r + 2] = NONE if b == k + 1 else modifiers[start + order[first + b - 1]]
                    r += 3


@kernel(types.void(LONGS, LONGS, LONGS, INTS, INTS, INTS, INTS))
def all_siblings(tokens, arcs, sides, order, modifiers, linked, places):
    """Places (head, nearer, farther) of every two arcs on one side, and in `linked`, shape (2 parts,), the two arcs."""
    r = 0
    for i in range(len(tokens) - 1):
        base, n, start = 2 * tokens[i] + i, tokens[i + 1] - tokens[i], arcs[tokens[i]]
        for side in range(2 * n + 1):
            for a in range(sides[base + side], sides[base + side + 1]):
                for b in range(a + 1, sides[base + side + 1]):
                    linked[2 * r], linked[2 * r + 1] = order[a], order[b]
                    places[3 * r] = ROOT if side == 2 * n else side // 2
                    places[3 * r + 1], places[3 * r + 2] = modifiers[start + order[a]], modifiers[start + order[b]]
                    r += 1


@kernel(types.void(LONGS, LONGS, INTS, LONGS, INTS, INTS))
def grandparents(tokens, arcs, heads, ends, linked, places):
    """Places (grandparent, head, modifier) of every two arcs g -> h -> m with g != m, and in `linked` the two arcs.

    ends[i] becomes the number of parts up to sentence i; where `places` is empty they are only counted.
    """
    r = 0
    for i in range(len(tokens) - 1):
        first, start = tokens[i], arcs[tokens[i]]
        for m in range(tokens[i + 1] - first):
            for e in range(arcs[first + m], arcs[first + m + 1]):
                h = heads[e]
                if h == m:
                    continue
                for d in range(arcs[first + h], arcs[first + h + 1]):
                    if heads[d] == m:
                        continue
                    if len(places) > 0:
                        linked[2 * r], linked[2 * r + 1] = d - start, e - start
                        places[3 * r] = ROOT if heads[d] == h else heads[d]
                        places[3 * r + 1], places[3 * r + 2] = h, m
                    r += 1
        ends[i] = r
