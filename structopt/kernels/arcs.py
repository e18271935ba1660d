"""Candidate arcs of dependency trees, and the labels on them: what all tree algorithms share.

The scores of a sentence of n tokens meet the tree algorithms as a matrix W, shape (n * n,): W[m * n + h] is the score of the
arc from head h to modifier m, W[m * n + m] that of the arc from the root to m, and -inf stands where there is no candidate.
A tree is `heads`, shape (n,): heads[m] = h, or m itself for the root.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.signatures import inlined


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

    labels: int
    single_root: bool
    tokens: np.ndarray
    arcs: np.ndarray
    heads: np.ndarray


@inlined
def open_arcs(structure):
    """Open the record of a tree structure, packed as ints=[[labels, single_root], heads], longs=[tokens, arcs]."""
    i, n, at = structure.ints, structure.longs, structure.at
    return Arcs(np.int64(i[0]), i[1] != 0, n[at[3] : at[4]], n[at[4] : at[5]], i[at[1] : at[2]])


@inlined
def collapse(a, i, s, temperature, W):
    """Fill W, shape (n * n,), with the arc scores of sentence i, the labels maximised (temperature 0) or summed out.

    W[m * n + h] = s_arc + temperature * log sum_l exp(s_label(l) / temperature).
    """
    first = a.tokens[i]
    n, L = a.tokens[i + 1] - first, a.labels
    W[: n * n] = -inf
    start = a.arcs[first]
    base = (a.arcs[first + n] - start) * L
    for m in range(n):
        for e in range(a.arcs[first + m], a.arcs[first + m + 1]):
            W[m * n + a.heads[e]] = s[base + e - start] + label_score(s[(e - start) * L : (e - start + 1) * L], temperature)


@inlined
def label_score(s, temperature):
    """max_l s_l, or temperature * log sum_l exp(s_l / temperature); 0 where there are no labels."""
    if len(s) == 0:
        return 0.0
    top = s[0]
    for y in range(1, len(s)):
        top = max(top, s[y])
    if temperature == 0.0 or top == -inf:
        return top
    total = 0.0
    for y in range(len(s)):
        total += exp((s[y] - top) / temperature)
    return top + temperature * log(total)


@inlined
def spread(a, i, s, temperature, M, z):
    """Write the part marginals of sentence i from arc marginals M, shape (n * n,): an arc's labels share its marginal."""
    first = a.tokens[i]
    n, L = a.tokens[i + 1] - first, a.labels
    start = a.arcs[first]
    base = (a.arcs[first + n] - start) * L
    for m in range(n):
        for e in range(a.arcs[first + m], a.arcs[first + m + 1]):
            mass = M[m * n + a.heads[e]]
            z[base + e - start] = mass
            place = (e - start) * L
            share(s[place : place + L], temperature, mass, z[place : place + L])


@inlined
def share(s, temperature, mass, z):
    """Divide a mass among labels: all to the first of the best ones (temperature 0), or as exp(s / temperature)."""
    z[:] = 0.0
    if mass == 0.0 or len(s) == 0:
        return
    best = 0
    for y in range(1, len(s)):
        if s[y] > s[best]:
            best = y
    if temperature == 0.0:
        z[best] = mass
        return
    total = 0.0
    for y in range(len(s)):
        z[y] = exp((s[y] - s[best]) / temperature)
        total += z[y]
    for y in range(len(s)):
        z[y] *= mass / total


@inlined
def indicate(heads, n, M):
    """Fill M, shape (n * n,), with the indicators of a tree."""
    M[: n * n] = 0.0
    for m in range(n):
        M[m * n + heads[m]] = 1.0
