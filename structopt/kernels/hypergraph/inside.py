"""Inside scores, the best derivation, and marginals; O(E).

    inside(v) = s_v + T log sum_e exp( (s_e + inside(left) + inside(right)) / T )   over the edges e
    of v

Above temperature 0 the terms of this sum, divided by it, are the probabilities of the edges given
their head. The marginals are products of these, from the root down, so that they need no outside
scores, and no range of scores is too large for them.

Inner loops read arrays that have names of their own, and hand none to a function: each would be
counted as a reference.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.waist.signatures import inlined


@inlined
def tails_score(g, e, inside):
    """The inside scores of the tails of an edge; 0 where it has none."""
    score = 0.0
    if g.left[e] >= 0:
        score += inside[g.left[e]]
    if g.right[e] >= 0:
        score += inside[g.right[e]]
    return score


@inlined
def fill_best(g, s, inside):
    """Fill in the scores of the best derivations of vertices; return the root's."""
    starts, left, right, start, best = g.edges, g.left, g.right, g.edges[0], -inf
    edges = len(left)
    for v in range(len(starts) - 1):
        best = -inf
        for e in range(starts[v] - start, starts[v + 1] - start):
            value = s[e]
            if left[e] >= 0:
                value += inside[left[e]]
            if right[e] >= 0:
                value += inside[right[e]]
            best = max(best, value)
        best += s[edges + v]
        inside[v] = best
    return best


@inlined
def best_edge(g, v, s, inside):
    """The first of the best edges of a vertex, whose score is not -inf, after `fill_best`."""
    best, chosen = -inf, -1
    for e in range(g.edges[v] - g.edges[0], g.edges[v + 1] - g.edges[0]):
        value = s[e] + tails_score(g, e, inside)
        if value > best:
            best, chosen = value, e
    return chosen


@inlined
def trace(g, s, inside, z):
    """Write the best derivation to z, after `fill_best`; there is one."""
    z[:] = 0.0
    edges = len(g.left)
    z[len(z) - 1] = 1.0
    for v in range(len(g.edges) - 2, -1, -1):
        if z[edges + v] != 0.0:
            e = best_edge(g, v, s, inside)
            z[e] = 1.0
            if g.left[e] >= 0:
                z[edges + g.left[e]] = 1.0
            if g.right[e] >= 0:
                z[edges + g.right[e]] = 1.0


@inlined
def best_derivation(g, s, inside, z):
    """Write the best derivation to z, 0 where there is none; return its score."""
    value = fill_best(g, s, inside)
    if value > -inf:
        trace(g, s, inside, z)
    else:
        z[:] = 0.0
    return value


@inlined
def fill_conditionals(g, s, temperature, inside, z):
    """Fill in the inside scores; return the root's. z becomes the probabilities of edges given
    their heads.
    """
    starts, left, right, start, value = g.edges, g.left, g.right, g.edges[0], -inf
    edges = len(left)
    for v in range(len(starts) - 1):
        first, last, top = starts[v] - start, starts[v + 1] - start, -inf
        for e in range(first, last):
            score = s[e]
            if left[e] >= 0:
                score += inside[left[e]]
            if right[e] >= 0:
                score += inside[right[e]]
            z[e] = score
            top = max(top, score)
        value = top + s[edges + v]
        if value == -inf:
            z[first:last] = 0.0
        else:
            total = 0.0
            for e in range(first, last):
                z[e] = exp_nonpositive((z[e] - top) / temperature)
                total += z[e]
            for e in range(first, last):
                z[e] /= total
            value += temperature * log(total)
        inside[v] = value
    return value


@inlined
def multiply_down(g, z):
    """Make marginals of edges and vertices of the probabilities of edges given their heads."""
    starts, left, right, start = g.edges, g.left, g.right, g.edges[0]
    edges = len(left)
    z[edges:] = 0.0
    z[len(z) - 1] = 1.0
    for v in range(len(starts) - 2, -1, -1):
        above = z[edges + v]
        if above == 0.0:
            z[starts[v] - start : starts[v + 1] - start] = 0.0
            continue
        for e in range(starts[v] - start, starts[v + 1] - start):
            z[e] *= above
            if z[e] != 0.0:
                if left[e] >= 0:
                    z[edges + left[e]] += z[e]
                if right[e] >= 0:
                    z[edges + right[e]] += z[e]
