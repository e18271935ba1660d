"""Exact inference on dependency trees that may cross: Chu-Liu-Edmonds, the matrix-tree theorem."""

from __future__ import annotations

from structopt.kernels.trees import chu_liu_edmonds, log_matrix_tree, matrix_tree
from structopt.kernels.trees.arcs import (
    begin_solving,
    end_solving,
    open_arcs,
    open_scratch,
    pack_scratch,
)
from structopt.kernels.trees.chu_liu_edmonds import best_tree
from structopt.kernels.trees.matrix_tree import partition
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import SOLVE, kernel


def floats_needed(n: int) -> int:
    """Size of the float scratch of `best_tree` and `partition` for sentences of n tokens."""
    return max(chu_liu_edmonds.floats_needed(n), matrix_tree.floats_needed(n))


def ints_needed(n: int) -> int:
    """Size of the integer scratch of `best_tree` and `partition` for sentences of n tokens."""
    return max(chu_liu_edmonds.ints_needed(n), log_matrix_tree.ints_needed(n))


def scratch(n: int) -> Record:
    """Work record of `solve` and of k-best lists, for sentences of at most n tokens."""
    return pack_scratch(n, floats_needed(n), ints_needed(n))


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over trees (with labels), and its maximiser z; O(n^2),
    above temperature 0 O(n^3).

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
