"""A sum tree: draw numbers in proportion to weights that change one at a time, each in O(log m).

A complete binary tree in one array: node j has the children 2j and 2j + 1, the leaves begin at half
the array's length, and every inner node holds the sum of its children. Node 1 is the total; node 0
is not used.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import VECTOR, inlined, kernel


@kernel(types.void(VECTOR, VECTOR))
def build(tree, weights):
    """Fill a tree of 2 * (a power of two >= len(weights)) nodes."""
    leaves = len(tree) // 2
    tree[:] = 0.0
    tree[leaves : leaves + len(weights)] = weights
    for j in range(leaves - 1, 0, -1):
        tree[j] = tree[2 * j] + tree[2 * j + 1]


@inlined
def change(tree, i, weight):
    """Give leaf i another weight. Sums are formed anew on the way up, so that rounding errors do
    not add up.
    """
    j = len(tree) // 2 + i
    tree[j] = weight
    while j > 1:
        j //= 2
        tree[j] = tree[2 * j] + tree[2 * j + 1]


@inlined
def draw(tree, uniform):
    """Return the leaf at which the running sum of the weights passes uniform * total, 0 <= uniform
    < 1; never one of weight 0.
    """
    leaves, j = len(tree) // 2, 1
    rest = uniform * tree[1]
    while j < leaves:
        j *= 2
        if tree[j + 1] > 0.0 and not rest < tree[j]:
            rest -= tree[j]
            j += 1
    return j - leaves


@inlined
def drawn(order, uniforms, tree, t):
    """Instance of visit t: the one that `order` names, or where it names none (-1) one drawn from
    the tree.
    """
    i = order[t]
    if i >= 0:
        return i
    if tree[1] > 0.0:
        return draw(tree, uniforms[t])
    return min(int(uniforms[t] * len(order)), len(order) - 1)
