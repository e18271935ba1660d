"""Passes over spanning forests that lower the bound: all messages to the roots, and one variable's
potentials after another.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.loopy.forests.layout import DEPTH, FIELDS, PARENT, ROOT
from structopt.kernels.loopy.forests.messages import gather, log_sum, send
from structopt.kernels.waist.signatures import inlined


@inlined
def collect(n, widths, hot, x):
    """Renew all messages to the roots, which become the fronts; return B / T, but for what the
    tables leave out.
    """
    nodes, edges, state, table, power, a, W = (
        x.nodes,
        x.edges,
        x.state,
        x.table,
        x.power,
        x.scratch,
        x.width,
    )
    total = 0.0
    for row in range(0, x.count * n, n):
        for at in range(row + n - 1, row - 1, -1):
            v = x.downwards[at]
            u = nodes[(row + v) * FIELDS + PARENT]
            if u >= 0:
                send(nodes, edges, state, table, power, a, W, row, v, u, v, hot)
            else:
                K = np.int64(widths[v])
                gather(nodes, state, W, row, v, -1, K, a)
                x.front[row + v], x.logs[row + v] = v, log_sum(a, K, hot)
                total += x.logs[row + v]
    return total / x.count


@inlined
def sweep(n, starts, widths, s, backwards, heat, hot, x):
    """Minimise B over the potentials of one variable after another; return by how much it falls, in
    units of `heat`.

    inf where nothing is allowed.
    """
    nodes, edges, state, table, power, a, W = (
        x.nodes,
        x.edges,
        x.state,
        x.table,
        x.power,
        x.scratch,
        x.width,
    )
    front, path, logs, size = x.front, x.path, x.logs, x.count * n
    fall = 0.0
    for turn in range(n):
        v = x.order[n - 1 - turn if backwards else turn]
        first, K, old, b = starts[v], np.int64(widths[v]), 0.0, 2 * W
        for y in range(K):
            a[b + y] = 0.0
        for row in range(0, size, n):
            root = row + nodes[(row + v) * FIELDS + ROOT]
            old += logs[root]
            one, other, steps = front[root], v, 0
            while one != other:
                if nodes[(row + one) * FIELDS + DEPTH] >= nodes[(row + other) * FIELDS + DEPTH]:
                    u = nodes[(row + one) * FIELDS + PARENT]
                    send(nodes, edges, state, table, power, a, W, row, one, u, one, hot)
                    one = u
                else:
                    path[steps] = other
                    steps += 1
                    other = nodes[(row + other) * FIELDS + PARENT]
            for step in range(steps - 1, -1, -1):
                u = path[step]
                send(
                    nodes,
                    edges,
                    state,
                    table,
                    power,
                    a,
                    W,
                    row,
                    nodes[(row + u) * FIELDS + PARENT],
                    u,
                    u,
                    hot,
                )
            front[root] = v
            potential = (row + v) * 3 * W
            for y in range(K):
                state[potential + y] = 0.0
            gather(nodes, state, W, row, v, -1, K, a)
            for y in range(K):
                state[potential + y] = -a[y]
                a[b + y] += a[y]
        for y in range(K):
            a[y] = s[first + y] / heat + a[b + y] / x.count
        new = log_sum(a, K, hot)
        if new == -inf:
            return inf
        for row in range(0, size, n):
            potential = (row + v) * 3 * W
            for y in range(K):
                state[potential + y] = state[potential + y] + a[y] if a[y] > -inf else -inf
            logs[row + nodes[(row + v) * FIELDS + ROOT]] = new
        fall += old / x.count - new
    return fall
