"""The k best trees, given an algorithm for the best one: Lawler's partition of the set of trees.

The best tree y of a set is taken out; what remains is divided by the first token at which a tree
differs from y: subset m has the choices of y at the tokens before m, and at m any choice but y's. A
choice is an arc together with its label, so that trees which differ in labels alone count as
different. O(k n) calls of the algorithm for the best tree.

The caller's loop finds the best tree of each subset, so that the search serves every kind of tree:

    search = open_search(arcs, i, s, count)
    while next_subset(search, values, choices, W):
        keep_best(search, best_tree(W, ...), heads)
    return search.state[TREES]

Lawler (1972); Camerini, Fratta and Maffioli (1980) for arborescences.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.signatures import inlined

TREES, SUBSETS, DIVIDED, NEXT = 0, 1, 2, 3  # indices of `Search.state`


class Search(NamedTuple):
    """The state of a search. n tokens, at most N = 1 + k n subsets.

    Attributes
    ----------
    count : how many trees are asked for
    width : choices of an arc: the number of labels, or 1
    starts : (n + 1,) where the choices of each token begin
    scores : score of each choice, arc and label together
    heads : head of the arc of each run of `width` choices
    state : trees listed, subsets met, subset that is being divided (-1: none), and the token at
    which it is divided next values : (N,) score of the best tree of each subset; -inf once that is
    listed best : (N, n) that tree, as the number of each token's choice among the token's tokens :
    (N,) token at which the subset was divided from its parent: earlier choices are fixed excluded :
    (N,) choice that is excluded there; -1 for the set of all trees earlier : (N,) subset whose
    exclusions, at the same token, hold too; -1: none
    """

    count: int
    width: int
    starts: np.ndarray
    scores: np.ndarray
    heads: np.ndarray
    state: np.ndarray
    values: np.ndarray
    best: np.ndarray
    tokens: np.ndarray
    excluded: np.ndarray
    earlier: np.ndarray


@inlined
def open_search(a, i, s, count):
    """Begin a search for the best trees of sentence i; `a` is the opened record of
    `structopt.kernels.trees.arcs`.
    """
    first, last = a.tokens[i], a.tokens[i + 1]
    n, width, begin, end = last - first, max(a.labels, 1), a.arcs[first], a.arcs[last]
    scores = np.empty((end - begin) * width)
    for e in range(end - begin):
        for c in range(e * width, (e + 1) * width):
            scores[c] = s[(end - begin) * a.labels + e] + (s[c] if a.labels > 0 else 0.0)
    size = 1 + count * n
    return Search(
        count,
        width,
        (a.arcs[first : last + 1] - begin) * width,
        scores,
        a.heads[begin:end],
        np.array([0, 0, -1, 0]),
        np.full(size, -inf),
        np.empty((size, n), np.int32),
        np.zeros(size, np.int64),
        np.full(size, -1),
        np.full(size, -1),
    )


@inlined
def next_subset(x, values, choices, W):
    """Fill W, shape (n * n,), with the arc scores of the next subset whose best tree is to be
    found; False at the end.

    The best trees of all go to `values` and to `choices`, one row a tree, as soon as they are
    known.
    """
    state, n = x.state, len(x.starts) - 1
    if state[SUBSETS] == 0:
        write_scores(x, 0, W)
        return True
    if state[DIVIDED] < 0 or state[NEXT] == n:
        top = np.argmax(x.values[: state[SUBSETS]])
        if state[TREES] == x.count or x.values[top] == -inf:
            return False
        q = state[TREES]
        # sums may be rounded up
        values[q] = min(x.values[top], values[q - 1]) if q > 0 else x.values[top]
        choices[q * n : (q + 1) * n] = x.best[top]
        x.values[top] = -inf
        state[TREES], state[DIVIDED], state[NEXT] = q + 1, top, x.tokens[top]
        if state[TREES] == x.count:
            return False
    subset, parent, m = state[SUBSETS], state[DIVIDED], state[NEXT]
    x.tokens[subset], x.excluded[subset] = m, x.best[parent, m]
    x.earlier[subset] = parent if m == x.tokens[parent] else -1
    x.best[subset] = x.best[parent]
    write_scores(x, subset, W)
    state[NEXT] = m + 1
    return True


@inlined
def write_scores(x, subset, W):
    """Fill W with the arc scores of a subset: at fixed tokens one arc's, else every arc's with its
    best allowed label.
    """
    n = len(x.starts) - 1
    W[: n * n] = -inf
    for m in range(n):
        start = x.starts[m]
        if m < x.tokens[subset]:
            c = start + x.best[subset, m]
            W[m * n + x.heads[c // x.width]] = x.scores[c]
        else:
            for e in range(start // x.width, x.starts[m + 1] // x.width):
                c = best_choice(x, subset, m, e)
                if c >= 0:
                    W[m * n + x.heads[e]] = x.scores[c]


@inlined
def best_choice(x, subset, m, e):
    """Choice of the arc e of token m that is best in a subset, among those of the sentence; -1 if
    all are excluded.
    """
    best = -1
    for c in range(e * x.width, (e + 1) * x.width):
        if (best < 0 or x.scores[c] > x.scores[best]) and not is_excluded(
            x, subset, m, c - x.starts[m]
        ):
            best = c
    return best


@inlined
def is_excluded(x, subset, m, choice):
    """Whether a subset excludes a choice of token m."""
    if m != x.tokens[subset]:
        return False
    while subset >= 0:
        if x.excluded[subset] == choice:
            return True
        subset = x.earlier[subset]
    return False


@inlined
def keep_best(x, value, heads):
    """Keep the best tree of the subset that `next_subset` asked for; its value is -inf where the
    subset is empty.
    """
    if value == -inf:
        if x.state[SUBSETS] == 0:
            x.state[SUBSETS] = 1
        return
    subset = x.state[SUBSETS]
    for m in range(x.tokens[subset], len(x.starts) - 1):
        for e in range(x.starts[m] // x.width, x.starts[m + 1] // x.width):
            if x.heads[e] == heads[m]:
                x.best[subset, m] = best_choice(x, subset, m, e) - x.starts[m]
    x.values[subset] = value
    x.state[SUBSETS] = subset + 1
