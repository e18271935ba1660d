"""The k best dependency trees that may cross."""

from __future__ import annotations

import numpy as np

from structopt.kernels.trees.arcs import open_arcs, open_scratch, write_choices
from structopt.kernels.trees.chu_liu_edmonds import best_tree
from structopt.kernels.trees.k_best import TREES, keep_best, next_subset, open_search
from structopt.kernels.waist.signatures import K_BEST, kernel


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """List the `count` best trees (with labels) in decreasing score, O(count n^3); return how many
    there are.
    """
    a, x = open_arcs(structure), open_scratch(work)
    n = a.tokens[i + 1] - a.tokens[i]
    search, choices = open_search(a, i, s, count), np.empty(count * n, np.int32)
    while next_subset(search, values, choices, x.W):
        keep_best(search, best_tree(x.W, n, a.single_root, x.heads, x.floats, x.ints), x.heads)
    trees = search.state[TREES]
    write_choices(a, i, choices, trees, offsets, parts, counts)
    return trees
