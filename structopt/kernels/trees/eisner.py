"""The best projective tree: Eisner's algorithm."""

from __future__ import annotations

from math import inf

from numba import types

from structopt.kernels.arrays.semirings import MAX
from structopt.kernels.trees.eisner_chart import chart_size, fill_chart, open_chart, total_weight
from structopt.kernels.waist.signatures import INTS, VECTOR, inlined, kernel

# items on the stack: complete with the head at the left, at the right, and S
RIGHT, LEFT, UNDER = 0, 1, 2


def floats_needed(n: int) -> int:
    """Size of the float scratch of `best_tree`, and of the sum over all projective trees, for
    sentences of n tokens.
    """
    return chart_size(n)


def ints_needed(n: int) -> int:
    """Size of the integer scratch of `best_tree` for sentences of n tokens."""
    return 3 * n


@inlined
def put(stack, size, kind, i, j):
    """Put an item on the stack unless it is a single token; return the stack's size."""
    if i == j:
        return size
    stack[3 * size], stack[3 * size + 1], stack[3 * size + 2] = kind, i, j
    return size + 1


@inlined
def trace_roots(W, n, single_root, c, heads, stack):
    """Find the roots of the best tree, and put the complete items at their sides on the stack;
    return its size.
    """
    size = 0
    if single_root:
        best, root = -inf, 0
        for m in range(n):
            value = W[m * n + m] + (c.L[m * n] + c.R[(n - 1) * n + m])
            if value > best:
                best, root = value, m
        heads[root] = root
        return put(stack, put(stack, size, LEFT, 0, root), RIGHT, root, n - 1)
    end = n
    while end > 0:
        root, begin = 0, 0
        for m in range(1, end):
            if c.under[m] + c.R[(end - 1) * n + m] > c.under[root] + c.R[(end - 1) * n + root]:
                root = m
        for k in range(1, root + 1):
            if c.top[k] + c.L[root * n + k] > c.top[begin] + c.L[root * n + begin]:
                begin = k
        heads[root] = root
        size = put(stack, put(stack, size, LEFT, begin, root), RIGHT, root, end - 1)
        end = begin
    return size


@inlined
def trace(n, c, heads, stack, size):
    """Divide the items on the stack into smaller ones, noting the heads of their arcs, until it is
    empty.
    """
    while size > 0:
        size -= 1
        kind, i, j = stack[3 * size], stack[3 * size + 1], stack[3 * size + 2]
        best, at = -inf, i
        if kind == RIGHT:
            for k in range(i + 1, j + 1):
                if c.X[k * n + i] + c.R[j * n + k] > best:
                    best, at = c.X[k * n + i] + c.R[j * n + k], k
            heads[at] = i
            size = put(stack, put(stack, size, UNDER, i, at), RIGHT, at, j)
        elif kind == LEFT:
            for k in range(i, j):
                if c.Y[j * n + k] + c.L[k * n + i] > best:
                    best, at = c.Y[j * n + k] + c.L[k * n + i], k
            heads[at] = j
            size = put(stack, put(stack, size, UNDER, at, j), LEFT, i, at)
        else:
            for k in range(i, j):
                if c.R[k * n + i] + c.L[j * n + k + 1] > best:
                    best, at = c.R[k * n + i] + c.L[j * n + k + 1], k
            size = put(stack, put(stack, size, RIGHT, i, at), LEFT, at + 1, j)


@kernel(types.float64(VECTOR, types.int64, types.boolean, INTS, VECTOR, INTS))
def best_tree(W, n, single_root, heads, floats, ints):
    """Score of the best projective tree, -inf where there is none; `heads` becomes that tree.
    Eisner's algorithm, O(n^3).

    Parameters are those of `structopt.kernels.trees.inside_outside.partition`.

    Notes
    -----
    There are no back pointers: for each of the O(n) items of the best tree all divisions are
    compared once more.
    """
    c = open_chart(floats, n)
    fill_chart(MAX, W, n, c)
    total = total_weight(MAX, W, n, single_root, c)
    if total > -inf:
        trace(n, c, heads, ints, trace_roots(W, n, single_root, c, heads, ints))
    return total
