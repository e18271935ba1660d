"""Candidate arcs of dependency trees, and the labels on them: what all tree algorithms share.

The scores of a sentence of n tokens meet the tree algorithms as a matrix W, shape (n * n,): W[m * n + h] is the score of the
arc from head h to modifier m, W[m * n + m] that of the arc from the root to m, and -inf stands where there is no candidate.
A tree is `heads`, shape (n,): heads[m] = h, or m itself for the root.
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.waist.fields import Flag, Floats, Int, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined


class Arcs(NamedTuple):
    """The record of a tree structure, opened. T tokens in m sentences.

    Attributes
    ----------
    labels : number of labels of an arc; 0 where arcs have none
    single_root : whether exactly one token has the root as its head
    tokens : (m + 1,) where the tokens of each sentence begin
    arcs : (T + 1,) where the candidate arcs of each token begin
    heads : position in the sentence of the head of each candidate arc, ascending; the token's own position for the root

    The parts of a sentence with A arcs and L > 0 labels are A * L label parts (an arc's labels side by side) and A arc parts;
    with L = 0 the arc parts alone.
    """

    labels: Int
    single_root: Flag
    tokens: Longs
    arcs: Longs
    heads: Ints


ARCS = RecordLayout(Arcs)
open_arcs = ARCS.compiled


@inlined
def collapse(a, i, s, temperature, W, z):
    """Fill W, shape (n * n,), with the arc scores of sentence i, the labels maximised (temperature 0) or summed out.

    W[m * n + h] = s_arc + temperature * log sum_l exp(s_label(l) / temperature). Above temperature 0 the label parts of z
    receive each label's share of its arc; all of z is overwritten by `spread`.
    """
    arcs, heads, first = a.arcs, a.heads, a.tokens[i]
    n, L, start = a.tokens[i + 1] - first, a.labels, arcs[first]
    base = (arcs[first + n] - start) * L
    W[: n * n] = -inf
    for m in range(n):
        for e in range(arcs[first + m] - start, arcs[first + m + 1] - start):
            W[m * n + heads[start + e]] = s[base + e] + (label_score(s, e * L, L, temperature, z) if L > 0 else 0.0)


@inlined
def label_score(s, begin, L, temperature, z):
    """max_l s[begin + l], or temperature * log sum_l exp(s[begin + l] / temperature), of L > 0 labels; their shares to z."""
    first, end = np.uint64(begin), np.uint64(begin + L)  # unsigned, which spares a test for negative indices at every read
    top = s[first]
    for q in range(first, end):
        top = s[q] if s[q] > top else top
    if temperature == 0.0 or top == -inf:
        return top
    total = 0.0
    for q in range(first, end):  # a loop of its own, whose exponentials are computed several at once
        z[q] = exp_nonpositive((s[q] - top) / temperature)
    for q in range(first, end):
        total += z[q]
    for q in range(first, end):
        z[q] /= total
    return top + temperature * log(total)


@inlined
def spread(a, i, s, temperature, M, z):
    """Write the part marginals of sentence i from arc marginals M, shape (n * n,): an arc's labels share its marginal.

    Above temperature 0 the shares are those that `collapse` left in z; else the first of the best labels takes all.
    """
    arcs, heads, first = a.arcs, a.heads, a.tokens[i]
    n, L, start = a.tokens[i + 1] - first, a.labels, arcs[first]
    base = (arcs[first + n] - start) * L
    for m in range(n):
        for e in range(arcs[first + m] - start, arcs[first + m + 1] - start):
            mass = M[m * n + heads[start + e]]
            z[base + e] = mass
            if L > 0:
                share(s, e * L, L, temperature, mass, z)


@inlined
def share(s, begin, L, temperature, mass, z):
    """Divide a mass among L > 0 labels: by the shares in z, or at temperature 0 all to the first of the best ones."""
    first, end = np.uint64(begin), np.uint64(begin + L)
    if temperature > 0.0 and mass > 0.0:
        for q in range(first, end):
            z[q] *= mass
        return
    for q in range(first, end):
        z[q] = 0.0
    if mass > 0.0:
        best = first
        for q in range(first, end):
            best = q if s[q] > s[best] else best
        z[best] = mass


@inlined
def indicate(heads, n, M):
    """Fill M, shape (n * n,), with the indicators of a tree."""
    M[: n * n] = 0.0
    for m in range(n):
        M[m * n + heads[m]] = 1.0


@inlined
def write_choices(a, i, choices, found, offsets, parts, counts):
    """List the parts of trees of sentence i, `found` rows of `choices`, an output each.

    The choice of a token is the number of its arc among its candidates, times max(L, 1), plus that of its label.
    """
    first = a.tokens[i]
    n, L = a.tokens[i + 1] - first, a.labels
    start = a.arcs[first]
    base = (a.arcs[first + n] - start) * L
    each = 2 * n if L > 0 else n
    offsets[0] = 0
    for q in range(found):
        begin = q * each
        for m in range(n):
            choice, before = choices[q * n + m], a.arcs[first + m] - start
            if L > 0:
                parts[begin + m] = before * L + choice
            parts[begin + each - n + m] = base + before + choice // max(L, 1)
        counts[begin : begin + each] = 1.0
        offsets[q + 1] = begin + each


class Scratch(NamedTuple):
    """The work record of a tree algorithm, opened; n is the length of the longest sentence.

    Attributes
    ----------
    W : (n * n,) arc scores
    M : (n * n,) arc marginals
    heads : (n,) a tree
    floats, ints : what the algorithm itself needs
    """

    W: Floats
    M: Floats
    heads: Ints
    floats: Floats
    ints: Ints


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled


def pack_scratch(n, floats, ints):
    """Pack a work record for sentences of at most n tokens, for an algorithm that needs so many floats and ints."""
    return SCRATCH.pack(W=n * n, M=n * n, heads=n, floats=floats, ints=ints)


@inlined
def begin_solving(a, i, s, temperature, x, z):
    """Fill and return the matrix of sentence i that a tree algorithm reads: scores, above temperature 0 divided by it."""
    n = a.tokens[i + 1] - a.tokens[i]
    W = x.W[: n * n]
    collapse(a, i, s, temperature, W, z)
    if temperature > 0.0:
        for q in range(n * n):
            W[q] /= temperature
    return W


@inlined
def end_solving(a, i, s, temperature, value, x, z):
    """Write the parts of the tree x.heads (temperature 0) or of the arc marginals x.M; zeros where there is no tree."""
    n = a.tokens[i + 1] - a.tokens[i]
    if value == -inf:
        z[:] = 0.0
        return
    if temperature == 0.0:
        indicate(x.heads, n, x.M)
    spread(a, i, s, temperature, x.M, z)
