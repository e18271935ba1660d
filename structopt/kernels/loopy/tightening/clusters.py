"""Updates of variables and of clusters of three variables: an upper bound on the best score that
never rises, below the linear relaxation where clusters cut off its best points.

The scores of a graph are a sum of a function of every variable, of every pair and of every cluster,

    s(y) = sum_j b_j(y_j) + sum_e b_e(y_e) + sum_c b_c(y_c),

and the sum of their maxima is an upper bound. Messages move scores between the functions: an update
leaves the sum as it is. That of a variable in d pairs takes out v_e(y_j) = max b_e of each pair,
and shares the sum; that of a cluster shares the max-marginals of all that it has,

    b_j = ( b_j + sum_e v_e ) / (1 + d),    b_e <- b_e - v_e + b_j;
    m = b_c + sum_{e in c} b_e,    b_e(y_e) = max_{y_c has y_e} m(y_c) / 3,    b_c = m - sum b_e.

Each leaves the least sum of maxima that its messages can reach: the maximum of its sum. A
pair of a cluster that the graph lacks is a *chord*: a pair whose scores are 0. Sontag, Meltzer,
Globerson, Jaakkola and Weiss (2008).
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.waist.signatures import inlined


class Clusters(NamedTuple):
    """The functions of one instance. A pair has two *links*, 2 e at its first variable and 2 e + 1
    at its second; a variable has a list of links.

    Attributes
    ----------
    count : how many pairs and how many clusters there are
    widths : states of each variable
    first, variables : where the function of each variable begins, and these
    heads, following : first link of each variable, and the link after each; -1: none
    ends : variable of each link
    begins, pairs : where the table of each pair begins, its first variable the slower, and these
    corners, sides : three variables of each cluster, and the pairs of corners 0 1, 1 2 and 0 2
    joint_begins, joint : where the table of each cluster begins, the last corner the fastest, and
    these
    """

    count: Any
    widths: Any
    first: Any
    variables: Any
    heads: Any
    following: Any
    ends: Any
    begins: Any
    pairs: Any
    corners: Any
    sides: Any
    joint_begins: Any
    joint: Any


@inlined
def open_clusters(f, i, s, low, messages, starts, limit):
    """The functions of an instance at messages that begin at `starts`, with space for `limit`
    clusters and as many chords.
    """
    before, first, E = f.variables[i], f.factors[i], f.factors[i + 1] - f.factors[i]
    n, shared, W = f.variables[i + 1] - before, f.shared[i], 1
    for v in range(before, before + n):
        W = max(W, f.widths[v])
    own = f.privates[first + E] - f.privates[first]
    g = Clusters(
        np.zeros(2, np.int64),
        f.widths[before : before + n],
        f.starts[before : before + n],
        np.empty(shared),
        np.full(n, -1, np.int64),
        np.empty(2 * (E + limit), np.int64),
        np.empty(2 * (E + limit), np.int64),
        np.zeros(E + limit + 1, np.int64),
        np.empty(own + limit * W * W),
        np.empty(3 * limit, np.int64),
        np.empty(3 * limit, np.int64),
        np.zeros(limit + 1, np.int64),
        np.empty(limit * W * W * W),
    )
    for r in range(shared):
        g.variables[r] = max(s[r], low)
    for e in range(E):
        begin, p = f.links[first + e], private_start(f, i, first + e)
        a, b = f.linked[begin], f.linked[begin + 1]
        add_pair(g, a, b)
        at, c, d = g.begins[e], starts[2 * e], starts[2 * e + 1]
        for y in range(g.widths[a]):
            g.variables[g.first[a] + y] += messages[c + y]
            for u in range(g.widths[b]):
                g.pairs[at] = max(s[p + at - g.begins[e]], low) - messages[c + y] - messages[d + u]
                at += 1
        for u in range(g.widths[b]):
            g.variables[g.first[b] + u] += messages[d + u]
    return g


@inlined
def add_pair(g, a, b):
    """Add a pair of variables whose scores are 0; return its number."""
    e = g.count[0]
    g.count[0] += 1
    for link, v in ((2 * e, a), (2 * e + 1, b)):
        g.ends[link], g.following[link], g.heads[v] = v, g.heads[v], link
    g.begins[e + 1] = g.begins[e] + np.int64(g.widths[a]) * g.widths[b]
    g.pairs[g.begins[e] : g.begins[e + 1]] = 0.0
    return e


@inlined
def find_pair(g, a, b):
    """Number of a pair of these variables; -1: there is none."""
    link = g.heads[a]
    while link >= 0:
        if g.ends[link ^ 1] == b:
            return link >> 1
        link = g.following[link]
    return -1


@inlined
def steps(g, e, a):
    """By how many entries a step of the state of variable a, and of the other one, moves in the
    table of a pair.
    """
    second = np.int64(g.widths[g.ends[2 * e + 1]])
    return (second, 1) if g.ends[2 * e] == a else (1, second)


@inlined
def update_variable(g, j, v):
    """Update the messages between a variable and its pairs; v is scratch."""
    K, first, degree, link = g.widths[j], g.first[j], 0, g.heads[j]
    while link >= 0:
        e, L = link >> 1, g.widths[g.ends[link ^ 1]]
        step, other = steps(g, e, j)
        for y in range(K):
            at, v[y] = g.begins[e] + y * step, -inf
            for u in range(L):
                v[y] = max(v[y], g.pairs[at + u * other])
            for u in range(L):
                g.pairs[at + u * other] -= v[y]
            g.variables[first + y] += v[y]
        degree, link = degree + 1, g.following[link]
    for y in range(K):
        g.variables[first + y] /= 1 + degree
    link = g.heads[j]
    while link >= 0:
        e, L = link >> 1, g.widths[g.ends[link ^ 1]]
        step, other = steps(g, e, j)
        for y in range(K):
            for u in range(L):
                g.pairs[g.begins[e] + y * step + u * other] += g.variables[first + y]
        link = g.following[link]


@inlined
def fill_joint(g, a, b, c, ab, bc, ac, sign, joint):
    """Add the tables of three pairs to a table over their variables, or take them away."""
    (ab_a, ab_b), (bc_b, bc_c), (ac_a, ac_c) = steps(g, ab, a), steps(g, bc, b), steps(g, ac, a)
    at = 0
    for y in range(g.widths[a]):
        for u in range(g.widths[b]):
            score = g.pairs[g.begins[ab] + y * ab_a + u * ab_b]
            for t in range(g.widths[c]):
                joint[at] += sign * (
                    score
                    + g.pairs[g.begins[bc] + u * bc_b + t * bc_c]
                    + g.pairs[g.begins[ac] + y * ac_a + t * ac_c]
                )
                at += 1


@inlined
def read_joint(g, a, b, c, ab, bc, ac, joint):
    """Write the max-marginals, over 3, of a table over three variables to the tables of their
    pairs.
    """
    (ab_a, ab_b), (bc_b, bc_c), (ac_a, ac_c) = steps(g, ab, a), steps(g, bc, b), steps(g, ac, a)
    for e in (ab, bc, ac):
        g.pairs[g.begins[e] : g.begins[e + 1]] = -inf
    at = 0
    for y in range(g.widths[a]):
        for u in range(g.widths[b]):
            for t in range(g.widths[c]):
                third = joint[at] / 3.0
                at += 1
                p = g.begins[ab] + y * ab_a + u * ab_b
                g.pairs[p] = max(g.pairs[p], third)
                p = g.begins[bc] + u * bc_b + t * bc_c
                g.pairs[p] = max(g.pairs[p], third)
                p = g.begins[ac] + y * ac_a + t * ac_c
                g.pairs[p] = max(g.pairs[p], third)


@inlined
def update_cluster(g, c):
    """Update the messages between a cluster and its pairs."""
    (one, two, three), (ab, bc, ac) = g.corners[3 * c : 3 * c + 3], g.sides[3 * c : 3 * c + 3]
    joint = g.joint[g.joint_begins[c] : g.joint_begins[c + 1]]
    fill_joint(g, one, two, three, ab, bc, ac, 1.0, joint)
    read_joint(g, one, two, three, ab, bc, ac, joint)
    fill_joint(g, one, two, three, ab, bc, ac, -1.0, joint)


@inlined
def cluster_pass(g, backwards, v):
    """Update every variable, and then every cluster, in the order in which they were added or the
    reverse.
    """
    for j in range(len(g.widths)):
        update_variable(g, j, v)
    for c in range(g.count[1]):
        update_cluster(g, g.count[1] - 1 - c if backwards else c)


@inlined
def highest(a, first, last):
    """Index of the first maximum of a[first : last]."""
    best = first
    for r in range(first + 1, last):
        best = r if a[r] > a[best] else best
    return best


@inlined
def cluster_bound(g):
    """The sum of the maxima."""
    value = 0.0
    for j in range(len(g.widths)):
        value += g.variables[highest(g.variables, g.first[j], g.first[j] + g.widths[j])]
    for e in range(g.count[0]):
        value += g.pairs[highest(g.pairs, g.begins[e], g.begins[e + 1])]
    for c in range(g.count[1]):
        value += g.joint[highest(g.joint, g.joint_begins[c], g.joint_begins[c + 1])]
    return value
