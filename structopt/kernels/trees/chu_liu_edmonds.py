"""The best dependency tree that may cross: Chu-Liu-Edmonds on a dense matrix, O(n^2).

Supernodes 0..n-1 are the tokens; every contraction of a cycle makes one more, so that there are at
most 2n - 1. A supernode has a row of the scores of the arcs that enter it, by the token they come
from, and apart from it the score from the root. From any token a path grows backwards along best
entering arcs until it meets the root or an earlier path; where it meets itself it has closed a
cycle, which becomes a supernode whose row is

    row[u] = max over the k of the cycle of (row_k[u] - best_k),            best_k the score of the
    arc within the cycle.

Which k has the maximum is not noted: when the supernode is opened, the same subtraction shows it.

*Single root.* Paths grow as above first. If that uses several arcs from the root, the paths grow on
with these arcs last: a supernode takes its arc from the root only when no other enters. Worse arcs
from the root undo no contraction, so the first part stays valid, and the answer is that of the
order (number of arcs from the root, score) without any penalty in the scores.

Tarjan (1977), Finding optimum branchings; Camerini et al. (1979); the second part after Zmigrod et
al. (2020), Please mind the root.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numba import types

from structopt.kernels.waist.signatures import INTS, VECTOR, inlined, kernel

BEST_TREE = types.float64(VECTOR, types.int64, types.boolean, INTS, VECTOR, INTS)
# W, n, single_root, heads, floats, ints -> value

UNKNOWN = -1  # no entering arc was chosen yet; n stands for the root


class Forest(NamedTuple):
    """Supernodes and how they are nested; s is the number of supernodes there can be, 2n.

    Attributes
    ----------
    rows : (s * n,) scores of entering arcs by the token they come from; -inf within the supernode
    root, best : (s,) score of the arc from the root, and of the chosen entering arc
    entry : (s,) token that the chosen arc comes from, n for the root, UNKNOWN
    path : (s,) number of the path that visited the supernode; 0 for none
    child, sibling : (s,) a supernode of the cycle that was contracted, and the next one in its
    cycle first, last : (s,) first and last token inside follower : (n,) next token of the same
    supernode; -1 after the last top : (n,) outermost supernode of each token
    """

    rows: np.ndarray
    root: np.ndarray
    best: np.ndarray
    entry: np.ndarray
    path: np.ndarray
    child: np.ndarray
    sibling: np.ndarray
    first: np.ndarray
    last: np.ndarray
    follower: np.ndarray
    top: np.ndarray


def floats_needed(n: int) -> int:
    """Size of the float scratch of `best_tree`."""
    return 2 * n * n + 4 * n


def ints_needed(n: int) -> int:
    """Size of the integer scratch of `best_tree`."""
    return 14 * n


@inlined
def open_forest(n, floats, ints):
    """Lay the tables out in the scratch."""
    s, f = 2 * n, 2 * n * n
    return Forest(
        floats[:f],
        floats[f : f + s],
        floats[f + s : f + 2 * s],
        ints[:s],
        ints[s : 2 * s],
        ints[2 * s : 3 * s],
        ints[3 * s : 4 * s],
        ints[4 * s : 5 * s],
        ints[5 * s : 6 * s],
        ints[6 * s : 6 * s + n],
        ints[6 * s + n : 7 * s],
    )


@inlined
def plant(t, W, n):
    """Make every token a supernode of its own."""
    for q in range(n * n):
        t.rows[q] = W[q]
    for m in range(n):
        t.root[m] = W[m * n + m]
        t.rows[m * n + m] = -inf
        t.entry[m] = UNKNOWN
        t.path[m] = 0
        t.first[m] = t.last[m] = t.top[m] = m
        t.follower[m] = -1


@inlined
def choose(t, n, a, root_last):
    """Set the best arc that enters supernode a, among equals the first; return where it comes from
    (UNKNOWN: there is none).
    """
    row = t.rows[a * n : (a + 1) * n]
    best, source = -inf, UNKNOWN
    for u in range(n):
        if row[u] > best:
            best, source = row[u], u
    if t.root[a] > best and not (root_last and source != UNKNOWN):
        best, source = t.root[a], n
    t.best[a], t.entry[a] = best, source
    return source


@inlined
def contract(t, n, a, d):
    """Make supernode d of the cycle of chosen arcs through a."""
    row = t.rows[d * n : (d + 1) * n]
    row[:] = -inf
    root, last, k = -inf, -1, a
    while True:
        inner, best = t.rows[k * n : (k + 1) * n], t.best[k]
        for u in range(n):
            x = inner[u] - best
            row[u] = x if x > row[u] else row[u]
        root = max(root, t.root[k] - best)
        if last >= 0:
            t.follower[last] = t.first[k]
        last = t.last[k]
        t.sibling[k] = t.top[t.entry[k]]
        k = t.sibling[k]
        if k == a:
            break
    t.root[d], t.child[d], t.entry[d] = root, a, UNKNOWN
    t.first[d], t.last[d] = t.first[a], last
    m = t.first[a]
    while m >= 0:
        t.top[m] = d
        row[m] = -inf
        m = t.follower[m]


@inlined
def grow(t, n, size, done, root_last):
    """Grow paths until every token hangs on the root. Returns (supernodes, arcs from the root; -1
    where no tree exists).

    Parameters
    ----------
    size : number of supernodes made so far
    done : largest number of a path of an earlier call; such paths are walked again, and keep their
    arcs but those from the root root_last : whether an arc from the root is taken only where no
    other enters, and only once
    """
    number, roots = done, 0
    for m in range(n):
        a = np.int64(t.top[m])
        if t.path[a] > done:
            continue
        number += 1
        while True:
            t.path[a] = number
            u = np.int64(t.entry[a])
            if u in (UNKNOWN, n):
                u = choose(t, n, a, root_last)
            if u == UNKNOWN or (u == n and root_last and roots == 1):
                return size, -1
            if u == n:
                roots += 1
                break
            a = np.int64(t.top[u])
            if t.path[a] == number:
                contract(t, n, a, size)
                a = size
                size += 1
            elif t.path[a] > done:
                break
    return size, roots


@inlined
def expand(t, n, size, heads):
    """Open the supernodes from the outermost: the member that the entering arc meets gives up its
    arc within the cycle.
    """
    for d in range(size - 1, n - 1, -1):
        u, k = t.entry[d], t.child[d]
        if u == n:
            while t.root[k] - t.best[k] != t.root[d]:
                k = t.sibling[k]
        else:
            while t.rows[k * n + u] - t.best[k] != t.rows[d * n + u]:
                k = t.sibling[k]
        t.entry[k] = u
    for m in range(n):
        heads[m] = m if t.entry[m] == n else t.entry[m]


@kernel(BEST_TREE)
def best_tree(W, n, single_root, heads, floats, ints):
    """Find the best tree; return its score, -inf where there is none (every heads[m] is m then).

    Parameters
    ----------
    W : (n * n,) scores; W[m * n + h] of the arc from h to m, W[m * n + m] from the root to m, -inf
    where there is no arc heads : (n,) becomes the tree: h, or m itself for the root floats, ints :
    scratch of at least `floats_needed`, `ints_needed`
    """
    t = open_forest(n, floats, ints)
    plant(t, W, n)
    size, roots = grow(t, n, n, 0, False)
    if single_root and roots > 1:
        size, roots = grow(t, n, size, n, True)
    if roots < 0:
        for m in range(n):
            heads[m] = m
        return -inf
    expand(t, n, size, heads)
    value = 0.0
    for m in range(n):
        value += W[m * n + heads[m]]
    return value
