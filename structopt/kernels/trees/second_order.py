"""Parts of second order of dependency trees: siblings and grandparents among the candidate arcs.

The candidate arcs of a sentence of n tokens fall into 2 n + 1 *sides*: number 2 h holds the
modifiers that stand before their head h, 2 h + 1 those that stand after it, and 2 n those of the
root. On each side modifiers are in order from the head outwards.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.waist.signatures import INTS, LONGS, inlined, kernel

ROOT, NONE = -1, -2
"""Stand for the root and for no token, as in `structopt.core.data.encoded`."""


@inlined
def _side(head, modifier, n):
    """Number of the side that an arc is on."""
    if head == modifier:
        return 2 * n
    return 2 * head + (modifier > head)


@kernel(types.void(LONGS, LONGS, INTS, LONGS, INTS))
def sort_by_head(tokens, arcs, heads, sides, order):
    """Fill `order`, shape (arcs,), with the arcs sorted by side, numbered within their sentence;
    side k begins at sides[k].

    The sides of all sentences are numbered consecutively: shape (2 tokens + sentences + 1,).
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
                # nearest last: modifiers before their head come in ascending order
                if side % 2 == 0 and side < 2 * n:
                    index = sides[k + 1] - 1 - filled[k]
                else:
                    index = sides[k] + filled[k]
                order[index] = e - start
                filled[k] += 1


@kernel(types.void(LONGS, LONGS, LONGS, INTS, INTS, INTS))
def consecutive_siblings(tokens, arcs, sides, order, modifiers, part_tokens):
    """Write the tokens (head, nearer, farther) of all pairs of every automaton: of each side that
    is not empty, in order.

    `modifiers` has the modifier of every arc; `part_tokens` is flat, shape (3 parts,).
    """
    r = 0
    for i in range(len(tokens) - 1):
        base, n, start = 2 * tokens[i] + i, tokens[i + 1] - tokens[i], arcs[tokens[i]]
        for side in range(2 * n + 1):
            first, k = sides[base + side], sides[base + side + 1] - sides[base + side]
            for a in range(k + 1 if k > 0 else 0):
                nearer = NONE if a == 0 else modifiers[start + order[first + a - 1]]
                for b in range(a + 1, k + 2):
                    part_tokens[r] = ROOT if side == 2 * n else side // 2
                    part_tokens[r + 1] = nearer
                    part_tokens[r + 2] = (
                        NONE if b == k + 1 else modifiers[start + order[first + b - 1]]
                    )
                    r += 3


@kernel(types.void(LONGS, LONGS, LONGS, INTS, INTS, INTS, INTS))
def all_siblings(tokens, arcs, sides, order, modifiers, linked, part_tokens):
    """Write the tokens (head, nearer, farther) of every two arcs on one side, and the two arcs to
    `linked`, shape (2 parts,).
    """
    r = 0
    for i in range(len(tokens) - 1):
        base, n, start = 2 * tokens[i] + i, tokens[i + 1] - tokens[i], arcs[tokens[i]]
        for side in range(2 * n + 1):
            for a in range(sides[base + side], sides[base + side + 1]):
                for b in range(a + 1, sides[base + side + 1]):
                    linked[2 * r], linked[2 * r + 1] = order[a], order[b]
                    part_tokens[3 * r] = ROOT if side == 2 * n else side // 2
                    part_tokens[3 * r + 1], part_tokens[3 * r + 2] = (
                        modifiers[start + order[a]],
                        modifiers[start + order[b]],
                    )
                    r += 1


@kernel(types.void(LONGS, LONGS, INTS, LONGS, INTS, INTS))
def grandparents(tokens, arcs, heads, ends, linked, part_tokens):
    """Write the tokens (grandparent, head, modifier) of every two arcs g -> h -> m with g != m, and
    the two arcs to `linked`.

    ends[i] becomes the number of parts up to sentence i; where `part_tokens` is empty they are only
    counted.
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
                    if len(part_tokens) > 0:
                        linked[2 * r], linked[2 * r + 1] = d - start, e - start
                        part_tokens[3 * r] = ROOT if heads[d] == h else heads[d]
                        part_tokens[3 * r + 1], part_tokens[3 * r + 2] = h, m
                    r += 1
        ends[i] = r
