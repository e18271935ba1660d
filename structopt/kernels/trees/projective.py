"""Exact inference on projective trees: Eisner's algorithm, inside-outside on its chart, k-best
trees.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.trees.arcs import (
    begin_solving,
    end_solving,
    open_arcs,
    open_scratch,
    pack_scratch,
    write_choices,
)
from structopt.kernels.trees.eisner import best_tree
from structopt.kernels.trees.eisner_chart import chart_size
from structopt.kernels.trees.inside_outside import partition
from structopt.kernels.trees.k_best import TREES, keep_best, next_subset, open_search
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import K_BEST, SOLVE, kernel


def floats_needed(n: int) -> int:
    """Size of the float scratch of `best_tree` and `partition` for sentences of n tokens."""
    return chart_size(n)


def ints_needed(n: int) -> int:
    """Size of the integer scratch of `best_tree` and `partition` for sentences of n tokens."""
    return 3 * n


def scratch(n: int) -> Record:
    """Work record for `solve` and `k_best`, for sentences of at most n tokens."""
    return pack_scratch(n, floats_needed(n), ints_needed(n))


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over projective trees (with labels), and its maximiser z.

    Returns -inf, with z = 0, where the candidate arcs make no tree.
    """
    a, x = open_arcs(structure), open_scratch(work)
    n, W = a.tokens[i + 1] - a.tokens[i], begin_solving(a, i, s, temperature, x, z)
    if temperature == 0.0:
        value = best_tree(W, n, a.single_root, x.heads, x.floats, x.ints)
    else:
        value = temperature * partition(W, n, a.single_root, x.M, x.floats, x.ints)
    end_solving(a, i, s, temperature, value, x, z)
    return value


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """List the `count` best projective trees (with labels) in decreasing score, O(count n^4);
    return how many there are.
    """
    a, x = open_arcs(structure), open_scratch(work)
    n = a.tokens[i + 1] - a.tokens[i]
    search, choices = open_search(a, i, s, count), np.empty(count * n, np.int32)
    while next_subset(search, values, choices, x.W):
        keep_best(search, best_tree(x.W, n, a.single_root, x.heads, x.floats, x.ints), x.heads)
    trees = search.state[TREES]
    write_choices(a, i, choices, trees, offsets, parts, counts)
    return trees
