"""Passes with clusters, which are added until the bound is the score of an output."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.loopy.tightening.clusters import (
    cluster_bound,
    cluster_pass,
    highest,
    open_clusters,
)
from structopt.kernels.loopy.tightening.search import add_cycles, add_triplets
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import inlined

CLOSE = 1e-10
"""Relative distance up to which bound and score are one: less than where outputs count as proved
optimal.
"""
AT_ONCE, SHARE = 5, 10
"""Clusters that are added together: so many, or such a part of the limit."""
EVERY = 20
"""Passes from one search for clusters to the next."""


@inlined
def write_output(f, i, g, z):
    """Write an output: the best state of each variable, in their order, by its own function and its
    pairs with variables before it.
    """
    z[:] = 0.0
    states = np.zeros(len(g.widths), np.int64)
    for j in range(len(g.widths)):
        b = g.variables[g.first[j] : g.first[j] + g.widths[j]].copy()
        link = g.heads[j]
        while link >= 0:
            k = g.ends[link ^ 1]
            begin, L = g.begins[link >> 1], g.widths[g.ends[link | 1]]
            if k < j:
                for y in range(len(b)):
                    first, second = (states[k], y) if link & 1 else (y, states[k])
                    b[y] += g.pairs[begin + first * L + second]
            link = g.following[link]
        states[j] = highest(b, 0, len(b))
        z[g.first[j] + states[j]] = 1.0
    fill_private(f, i, z)


@inlined
def score_of(s, z):
    """The score of an output; -inf if it has a forbidden part."""
    total = 0.0
    for r in range(len(s)):
        total += s[r] if z[r] > 0.0 else 0.0
    return total


@inlined
def allowed_maximum(s, values, z):
    """The maximum of a function over the parts whose scores are not -inf; z becomes its
    indicator.
    """
    best = -1
    for r in range(len(s)):
        if s[r] > -inf and (best < 0 or values[r] > values[best]):
            best = r
    z[:] = 0.0
    if best < 0:
        return -inf
    z[best] = 1.0
    return values[best]


@inlined
def allowed_bound(s, g, z):
    """The bound over allowed parts; z becomes the maximisers of variables and pairs, each for
    itself.
    """
    shared, value, e = len(g.variables), cluster_bound(g), 0
    for j in range(len(g.widths)):
        a, b = g.first[j], g.first[j] + g.widths[j]
        value -= g.variables[highest(g.variables, a, b)]
        value += allowed_maximum(s[a:b], g.variables[a:b], z[a:b])
    while e < g.count[0] and g.begins[e] < len(s) - shared:  # those behind are chords
        a, b = g.begins[e], g.begins[e + 1]
        value -= g.pairs[highest(g.pairs, a, b)]
        value += allowed_maximum(
            s[shared + a : shared + b], g.pairs[a:b], z[shared + a : shared + b]
        )
        e += 1
    return value


@inlined
def tighten(f, i, s, low, z, x):
    """The bound after passes with clusters, if any are allowed, and its (sub)gradient z: the
    output, if the bound is its score, else the maximisers of variables and pairs.
    """
    limit, left, done = x.clusters, x.passes, True
    g = open_clusters(f, i, s, low, x.messages, x.starts, limit)
    room, value = np.empty(max(len(z), 1)), cluster_bound(g)
    while True:
        write_output(f, i, g, z)
        score, close = score_of(s, z), CLOSE * (1.0 + abs(value))
        if value - score <= close:
            return max(value, score)
        most, least, added = limit - g.count[1], max(x.tolerance, close), 0
        if most > 0:
            most = min(most, max(AT_ONCE, limit // SHARE))
            added = add_triplets(g, least, most)
            if added == 0:
                added = add_cycles(g, least, most, limit)
        if (done and added == 0) or left == 0 or halted():
            return allowed_bound(s, g, z)
        before = value
        for _ in range(min(left, EVERY)):  # scores reach all of a cycle after some passes
            cluster_pass(g, left % 2 == 1, room)
            left -= 1
        value = cluster_bound(g)
        done = before - value <= x.tolerance
