"""Updates of the messages of all edges of a spanning forest at once: an upper bound on the best
score that never rises.

In a tree of n variables with the max-marginals mu_j and mu_ij, given the messages of all other
edges, every variable and every edge gets the share 1 / N of the best score, N = 2 n - 1. With A the
sum of the shares on the side of j that the edge ij cuts off, and n_j the max-product message from
there,

    d_ij(y_j) = A mu_j(y_j) - n_j(y_j).

A variable then contributes max mu_j / N, and an edge, with A + B + 1 / N = 1, max ( mu_ij - A mu_j
- B mu_i ) <= max mu_ij / N. Together this is the best score of the tree, below which no messages of
these edges lead. A pass updates one forest after another, and costs O(K^2) for each edge of each.
The messages have a number per state. Blocks as in Sontag and Jaakkola (2009), with equal shares.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.loopy.forests.layout import EDGE, FIELDS, PARENT, ROOT, open_forests
from structopt.kernels.loopy.mplp_states import highest, send
from structopt.kernels.waist.signatures import inlined


@inlined
def add(target, to, source, begin, count, factor):
    """target[to :] += factor * source[begin :], for so many entries."""
    for y in range(count):
        target[to + y] += factor * source[begin + y]


@inlined
def find_ends(f, i, edge, child, x):
    """Return where the messages of an edge to its child and to its parent begin, the first parts of
    both variables, their states, and whether the child is the second variable.
    """
    begin, before = f.links[f.factors[i] + edge], f.variables[i]
    second = np.int64(f.linked[begin + 1] == child)
    c, p = before + f.linked[begin + second], before + f.linked[begin + 1 - second]
    return (
        x.starts[2 * edge + second],
        x.starts[2 * edge + 1 - second],
        f.starts[c],
        f.starts[p],
        np.int64(f.widths[c]),
        np.int64(f.widths[p]),
        second,
    )


@inlined
def update_forest(f, i, s, low, nodes, downwards, x):
    """Update the messages of the edges of a forest; x.belief holds b_j + sum of d_ij."""
    m, b, size = x.messages, x.belief, x.sizes
    for child in downwards:
        size[child] = 1
        edge = np.int64(nodes[child * FIELDS + EDGE])
        if edge >= 0:
            to, back, c, p, K, L, _ = find_ends(f, i, edge, child, x)
            add(b, c, m, to, K, -1.0)
            add(b, p, m, back, L, -1.0)
    for child in downwards[::-1]:
        edge = np.int64(nodes[child * FIELDS + EDGE])
        if edge >= 0:
            to, back, c, p, K, L, second = find_ends(f, i, edge, child, x)
            table = private_start(f, i, f.factors[i] + edge)
            rows, columns = (L, K) if second else (K, L)
            m[to : to + K] = 0.0
            add(m, to, b, c, K, -1.0)
            send(s, table, rows, columns, second == 0, low, m, back, to, 0.0)
            add(b, p, m, back, L, 1.0)
            size[nodes[child * FIELDS + PARENT]] += size[child]
    for child in downwards:
        edge = np.int64(nodes[child * FIELDS + EDGE])
        if edge >= 0:
            to, back, c, p, K, L, second = find_ends(f, i, edge, child, x)
            table = private_start(f, i, f.factors[i] + edge)
            rows, columns = (L, K) if second else (K, L)
            N = 2 * size[nodes[child * FIELDS + ROOT]] - 1
            below = (2 * size[child] - 1) / N
            add(m, back, b, p, L, -1.0)
            send(s, table, rows, columns, second != 0, low, m, to, back, 0.0)
            add(b, c, m, to, K, 1.0)
            add(m, to, b, c, K, below - 1.0)
            add(m, back, b, p, L, 1.0 - below - 1.0 / N)
    for v in downwards:
        N = 2 * size[nodes[v * FIELDS + ROOT]] - 1
        first = f.starts[f.variables[i] + v]
        b[first : first + f.widths[f.variables[i] + v]] /= N


@inlined
def tree_pass(f, i, s, low, x):
    """One pass of the update over the forests; return what the variables contribute to the
    bound.
    """
    forests, before, value = open_forests(f, i, x.forests), f.variables[i], 0.0
    n, b = f.variables[i + 1] - before, x.belief
    for r in range(f.shared[i]):
        b[r] = max(s[r], low)
    for link in range(2 * (f.factors[i + 1] - f.factors[i])):
        v = before + f.linked[f.links[f.factors[i]] + link]
        add(b, f.starts[v], x.messages, x.starts[link], f.widths[v], 1.0)
    for T in range(forests.count):
        nodes = forests.nodes[T * n * FIELDS : (T + 1) * n * FIELDS]
        update_forest(f, i, s, low, nodes, forests.downwards[T * n : (T + 1) * n], x)
    for v in range(before, before + n):
        value += highest(b[f.starts[v] : f.starts[v] + f.widths[v]], 0.0)
    return value
