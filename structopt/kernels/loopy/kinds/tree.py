"""TREE factors: the linked binary variables are candidate arcs, of which exactly a tree is on."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.trees.chu_liu_edmonds import best_tree as best_arborescence
from structopt.kernels.trees.eisner import best_tree as best_projective
from structopt.kernels.trees.inside_outside import partition as sum_projective
from structopt.kernels.trees.matrix_tree import partition as sum_arborescences
from structopt.kernels.waist.signatures import inlined


@inlined
def arc_matrix(extra, s, W):
    """Fill W, shape (n * n,), with the scores of the linked arcs, and -inf where there is none."""
    n = np.int64(extra[0])
    W[: n * n] = -inf
    for a in range(len(s)):
        W[extra[3 + 2 * a] * n + extra[4 + 2 * a]] = s[a]


@inlined
def tree_value(extra, W, heads, floats, ints):
    """Value of the best tree of the kind that a TREE factor asks for, and the tree."""
    n, single_root = np.int64(extra[0]), extra[1] != 0
    if extra[2] != 0:
        return best_projective(W, n, single_root, heads, floats, ints)
    return best_arborescence(W, n, single_root, heads, floats, ints)


@inlined
def tree_max(extra, s, out, floats, ints):
    """Write the indicators of the arcs of a best tree to `out`, which is zero before."""
    n = np.int64(extra[0])
    W, heads = floats[: n * n], ints[:n]
    arc_matrix(extra, s, W)
    value = tree_value(extra, W, heads, floats[2 * n * n :], ints[n:])
    if value > -inf:
        for a in range(len(s)):
            out[a] = 1.0 if heads[extra[3 + 2 * a]] == extra[4 + 2 * a] else 0.0
    return value


@inlined
def tree_marginals(extra, s, out, floats, ints):
    """Write the marginals of the arcs to `out`, which is zero before."""
    n, single_root = np.int64(extra[0]), extra[1] != 0
    W, M = floats[: n * n], floats[n * n : 2 * n * n]
    arc_matrix(extra, s, W)
    if extra[2] != 0:
        value = sum_projective(W, n, single_root, M, floats[2 * n * n :], ints[n:])
    else:
        value = sum_arborescences(W, n, single_root, M, floats[2 * n * n :], ints[n:])
    if value > -inf:
        for a in range(len(s)):
            out[a] = M[extra[3 + 2 * a] * n + extra[4 + 2 * a]]
    return value
