"""Pairing heaps over entries of one array of values, the largest first; -1 is the empty heap.

Fredman, Sedgewick, Sleator and Tarjan (1986).
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import inlined


@inlined
def meld(values, children, a, b):
    """Join two heaps, given by their roots; `children`, shape (entries, 2), has first child and
    next sibling of each entry.
    """
    if a < 0:
        return b
    if b < 0:
        return a
    if values[b] > values[a]:
        a, b = b, a
    children[b, 1] = children[a, 0]
    children[a, 0] = b
    return a


@inlined
def without_root(values, children, root):
    """The heap without its root: its children melded in pairs from the left, then all from the
    right.
    """
    paired, child = -1, children[root, 0]
    while child >= 0:
        second = children[child, 1]
        following = children[second, 1] if second >= 0 else -1
        children[child, 1] = -1
        if second >= 0:
            children[second, 1] = -1
        joined = meld(values, children, child, second)
        children[joined, 1] = paired
        paired, child = joined, following
    heap = -1
    while paired >= 0:
        following = children[paired, 1]
        children[paired, 1] = -1
        heap = meld(values, children, heap, paired)
        paired = following
    return heap
