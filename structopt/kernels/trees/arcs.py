"""Candidate arcs of dependency trees: their record, the work record of tree algorithms, and what
these begin and end with.

Tree algorithms take the scores of a sentence of n tokens as a matrix W, shape (n * n,): W[m * n +
h] is the score of the arc from head h to modifier m, W[m * n + m] that of the arc from the root to
m, and -inf stands where there is no candidate. A tree is `heads`, shape (n,): heads[m] = h, or m
itself for the root.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from structopt.kernels.trees.arc_labels import collapse, spread
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
    heads : position in the sentence of the head of each candidate arc, ascending; the token's own
    position for the root

    The parts of a sentence with A arcs and L > 0 labels are A * L label parts (an arc's labels side
    by side) and A arc parts; with L = 0 the arc parts alone.
    """

    labels: Int
    single_root: Flag
    tokens: Longs
    arcs: Longs
    heads: Ints


ARCS = RecordLayout(Arcs)
open_arcs = ARCS.compiled


@inlined
def indicate(heads, n, M):
    """Fill M, shape (n * n,), with the indicators of a tree."""
    M[: n * n] = 0.0
    for m in range(n):
        M[m * n + heads[m]] = 1.0


@inlined
def write_choices(a, i, choices, trees, offsets, parts, counts):
    """List the parts of trees of sentence i, `trees` rows of `choices`, an output each.

    The choice of a token is the number of its arc among its candidates, times max(L, 1), plus that
    of its label.
    """
    first = a.tokens[i]
    n, L = a.tokens[i + 1] - first, a.labels
    start = a.arcs[first]
    base = (a.arcs[first + n] - start) * L
    each = 2 * n if L > 0 else n
    offsets[0] = 0
    for q in range(trees):
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
    floats, ints : scratch of the algorithm itself
    """

    W: Floats
    M: Floats
    heads: Ints
    floats: Floats
    ints: Ints


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled


def pack_scratch(n, floats, ints):
    """Pack a work record for sentences of at most n tokens, for an algorithm that needs so many
    floats and ints.
    """
    return SCRATCH.pack(W=n * n, M=n * n, heads=n, floats=floats, ints=ints)


@inlined
def begin_solving(a, i, s, temperature, x, z):
    """Fill and return the matrix of sentence i that a tree algorithm reads: scores, above
    temperature 0 divided by it.
    """
    n = a.tokens[i + 1] - a.tokens[i]
    W = x.W[: n * n]
    collapse(a, i, s, temperature, W, z)
    if temperature > 0.0 and temperature != 1.0:
        for q in range(n * n):
            W[q] /= temperature
    return W


@inlined
def end_solving(a, i, s, temperature, value, x, z):
    """Write the parts of the tree x.heads (temperature 0) or of the arc marginals x.M; zeros where
    there is no tree.
    """
    n = a.tokens[i + 1] - a.tokens[i]
    if value == -inf:
        z[:] = 0.0
        return
    if temperature == 0.0:
        indicate(x.heads, n, x.M)
    spread(a, i, s, temperature, x.M, z)
