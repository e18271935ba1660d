"""The search for clusters: triplets of variables by the decrease of the bound that they guarantee,
and frustrated cycles.

A triplet whose pairs are all in the graph guarantees the decrease

    d(c) = sum_{e in c} max b_e  -  max_{y_c} sum_{e in c} b_e(y_e):

with b_c = 0, an update of the cluster reaches it at once. If no triplet guarantees any, cycles are
searched in the *projection graph*. Its nodes are the variables of two states, and the states of the
others, against all other states of the variable. Two nodes of a pair of variables have an edge of
the weight

    w = max b_e over states that agree - max b_e over states that do not,

which are both on their side, or neither is. A cycle with an odd number of negative weights is
frustrated: no states agree where they should. The least |w| on it is a guaranteed decrease of the
bound by a cluster over the cycle, for which triplets with a common corner, and chords from there,
are added. A maximum spanning forest of the projection graph has the cycle with the largest decrease
closed by a single edge. Sontag, Meltzer, Globerson, Jaakkola and Weiss (2008), section 4; Sontag,
Choe and Li (2012).
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.arrays.ranked_lists import insert
from structopt.kernels.loopy.tightening.clusters import add_pair, fill_joint, find_pair, highest
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import inlined


@inlined
def has_cluster(g, a, b, c):
    """Whether there is a cluster of these variables."""
    for at in range(0, 3 * g.count[1], 3):
        same = 0
        for k in range(at, at + 3):
            same += g.corners[k] == a or g.corners[k] == b or g.corners[k] == c
        if same == 3:
            return True
    return False


@inlined
def add_cluster(g, a, b, c):
    """Add the cluster of three variables, and the chords that it needs, unless it is there; return
    how many were added.
    """
    if has_cluster(g, a, b, c):
        return 0
    cluster = g.count[1]
    for k, u, v in ((0, a, b), (1, b, c), (2, a, c)):
        e = find_pair(g, u, v)
        g.sides[3 * cluster + k] = e if e >= 0 else add_pair(g, u, v)
    g.corners[3 * cluster], g.corners[3 * cluster + 1], g.corners[3 * cluster + 2] = a, b, c
    begin = g.joint_begins[cluster]
    end = begin + np.int64(g.widths[a]) * g.widths[b] * g.widths[c]
    g.joint[begin:end], g.joint_begins[cluster + 1] = 0.0, end
    g.count[1] += 1
    return 1


@inlined
def decrease(g, a, b, c, ab, bc, ac, joint):
    """The decrease of the bound that a cluster of three variables guarantees."""
    size, value = np.int64(g.widths[a]) * g.widths[b] * g.widths[c], 0.0
    joint[:size] = 0.0
    fill_joint(g, a, b, c, ab, bc, ac, 1.0, joint)
    for e in (ab, bc, ac):
        value += g.pairs[highest(g.pairs, g.begins[e], g.begins[e + 1])]
    return value - joint[highest(joint, 0, size)]


@inlined
def add_triplets(g, least, most):
    """Add clusters of three pairs, at most `most`, by the largest decreases above `least`;
    return how many were added, 0 if the work was halted.
    """
    n, W = len(g.widths), 1
    for v in range(n):
        W = max(W, g.widths[v])
    side, joint = np.full(n, -1, np.int64), np.empty(W * W * W)
    gains = np.full(most, least)
    pairs, corners = np.empty(most, np.int64), np.empty(most, np.int64)
    for a in range(n):
        if halted():
            return 0
        link = g.heads[a]
        while link >= 0:
            side[g.ends[link ^ 1]], link = link >> 1, g.following[link]
        link = g.heads[a]
        while link >= 0:
            b = g.ends[link ^ 1]
            other = g.heads[b] if b > a else -1
            while other >= 0:
                c = g.ends[other ^ 1]
                if c > b and side[c] >= 0 and not has_cluster(g, a, b, c):
                    gain = decrease(g, a, b, c, link >> 1, other >> 1, side[c], joint)
                    insert(gain, a * n + b, c, gains, pairs, corners)
                other = g.following[other]
            link = g.following[link]
        link = g.heads[a]
        while link >= 0:
            side[g.ends[link ^ 1]], link = -1, g.following[link]
    added = 0
    for q in range(most):
        if gains[q] > least:
            added += add_cluster(g, pairs[q] // n, pairs[q] % n, corners[q])
    return added


@inlined
def agreement(g, e, y, u):
    """The weight of the edge between state y of the first variable of a pair, against its others,
    and state u of the second.
    """
    begin, K, L = g.begins[e], g.widths[g.ends[2 * e]], g.widths[g.ends[2 * e + 1]]
    best = highest(g.pairs, begin, g.begins[e + 1]) - begin
    agree, differ = g.pairs[begin + y * L + u], -inf
    for v in range(L):
        differ = max(differ, g.pairs[begin + y * L + v]) if v != u else differ
    for x in range(K):
        differ = max(differ, g.pairs[begin + x * L + u]) if x != y else differ
    if best // L != y and best % L != u:
        return max(agree, g.pairs[begin + best]) - differ
    for x in range(K):
        for v in range(L):
            if x != y and v != u:
                agree = max(agree, g.pairs[begin + x * L + v])
    return agree - differ


@inlined
def projection_graph(g):
    """The variable of each node, and the ends and the weight of each edge."""
    n = len(g.widths)
    begins = np.zeros(n + 1, np.int64)
    for v in range(n):
        begins[v + 1] = begins[v] + (1 if g.widths[v] == 2 else g.widths[v])
    owner, total = np.empty(begins[n], np.int64), 0
    for v in range(n):
        owner[begins[v] : begins[v + 1]] = v
    for e in range(g.count[0]):
        a, b = g.ends[2 * e], g.ends[2 * e + 1]
        total += (begins[a + 1] - begins[a]) * (begins[b + 1] - begins[b])
    ends, weights, q = np.empty((total, 2), np.int64), np.empty(total), 0
    for e in range(g.count[0]):
        a, b = g.ends[2 * e], g.ends[2 * e + 1]
        for one in range(begins[a], begins[a + 1]):
            for other in range(begins[b], begins[b + 1]):
                ends[q, 0], ends[q, 1] = one, other
                weights[q] = agreement(g, e, one - begins[a], other - begins[b])
                q += 1
    return owner, ends, weights


@inlined
def climb(up, odd, v):
    """Root of the tree of a node, and whether the way there has an odd number of negative
    edges.
    """
    parity = 0
    while up[v] >= 0:
        parity ^= odd[v]
        v = up[v]
    return v, parity


@inlined
def hang(up, odd, u, v, negative):
    """Turn the tree of u round so that u is its root, and let u be a child of v."""
    while u >= 0:
        above, sign = up[u], odd[u]
        up[u], odd[u] = v, negative
        u, v, negative = above, u, sign


@inlined
def find_cycle(up, u, v, cycle):
    """Write the nodes on the way from u to v in their tree; return how many there are."""
    count, back = 0, len(cycle)
    while u >= 0:
        cycle[count], count, u = u, count + 1, up[u]
    while v >= 0:
        back -= 1
        cycle[back], v = v, up[v]
    while count > 1 and back + 1 < len(cycle) and cycle[count - 2] == cycle[back + 1]:
        count, back = count - 1, back + 1
    for q in range(back + 1, len(cycle)):
        cycle[count], count = cycle[q], count + 1
    return count


@inlined
def add_fan(g, cycle):
    """Add the clusters of a cycle's first variable and every two that follow each other, unless a
    variable is there twice; return how many were added.
    """
    added = 0
    for k in range(1, len(cycle)):
        for q in range(k):
            if cycle[q] == cycle[k]:
                return 0
    for k in range(1, len(cycle) - 1):
        added += add_cluster(g, cycle[0], cycle[k], cycle[k + 1])
    return added


@inlined
def add_cycles(g, least, most, limit):
    """Add clusters for frustrated cycles whose decrease is above `least`, the largest first, until
    there are `most` more or `limit` in all; return how many were added.
    """
    owner, ends, weights = projection_graph(g)
    up, odd = np.full(len(owner), -1, np.int64), np.zeros(len(owner), np.int64)
    cycle, added = np.empty(2 * len(owner), np.int64), 0
    for q in np.argsort(-np.abs(weights)):
        u, v, negative = ends[q, 0], ends[q, 1], np.int64(weights[q] < 0.0)
        if not abs(weights[q]) > least or added >= most:
            break
        (root, one), (top, other) = climb(up, odd, u), climb(up, odd, v)
        if root != top:
            hang(up, odd, u, v, negative)
        elif one ^ other ^ negative == 1:
            length = find_cycle(up, u, v, cycle)
            if length - 2 <= limit - g.count[1]:
                for k in range(length):
                    cycle[k] = owner[cycle[k]]
                added += add_fan(g, cycle[:length])
    return added
