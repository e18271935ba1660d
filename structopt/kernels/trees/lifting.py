"""Making dependency trees projective by moving arcs upwards."""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import INTS, LONGS, inlined, kernel


@inlined
def is_projective(heads, m):
    """Whether the head h of m is above every token between h and m; the root is above all."""
    h = heads[m]
    for k in range(min(h, m) + 1, max(h, m)):
        while k != h:
            if heads[k] == k:
                return False
            k = heads[k]
    return True


@kernel(types.void(LONGS, INTS))
def lift(tokens, heads):
    """Make every tree projective: move its shortest non-projective arc from h to the head of h,
    until none is left.

    Parameters
    ----------
    tokens : int64, shape (m + 1,)
        Where the tokens of each sentence begin.
    heads : int32, shape (T,)
        Position in the sentence of every token's head, its own for the root; overwritten. Must be
        trees.

    Notes
    -----
    Of arcs of the same length the leftmost modifier's is moved. A tree with a single root keeps it:
    the arcs of a token that is above all others are projective. O(n^2) an arc at most, n the length
    of the sentence. Nivre and Nilsson (2005).
    """
    for i in range(len(tokens) - 1):
        tree = heads[tokens[i] : tokens[i + 1]]
        while True:
            shortest, moved = len(tree), -1
            for m in range(len(tree)):
                length = abs(tree[m] - m)
                if length < shortest and not is_projective(tree, m):
                    shortest, moved = length, m
            if moved < 0:
                break
            above = tree[moved]
            tree[moved] = moved if tree[above] == above else tree[above]
