"""Exact inference on projective trees: Eisner's algorithm, inside-outside on its chart."""

from __future__ import annotations

from structopt.kernels.trees.arcs import (
    begin_solving,
    end_solving,
    open_arcs,
    open_scratch,
    pack_scratch,
)
from structopt.kernels.trees.eisner import best_tree, floats_needed, ints_needed
from structopt.kernels.trees.inside_outside import partition
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import SOLVE, kernel


def scratch(n: int) -> Record:
    """Work record of `solve` and of k-best lists, for sentences of at most n tokens."""
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
