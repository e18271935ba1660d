"""Marginals and best configurations of spanning forests: the derivative of the bound by the
scores.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from structopt.kernels.loopy.forests.layout import (
    COLUMNS,
    EDGE,
    FIELDS,
    FIRST,
    PARENT,
    ROWS,
    SPAN,
    TABLE,
)
from structopt.kernels.loopy.forests.messages import gather, log_sum, send
from structopt.kernels.waist.signatures import inlined


@inlined
def marginals(n, starts, widths, private, z, x):
    """Renew all messages from the roots, those to them being so; add the marginals to z. Those of
    edges begin at `private`.
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
    for row in range(0, x.count * n, n):
        for at in range(row, row + n):
            v = x.downwards[at]
            first, K, parent = starts[v], np.int64(widths[v]), nodes[(row + v) * FIELDS + PARENT]
            b = a[W : 2 * W]
            if parent >= 0:
                send(nodes, edges, state, table, power, a, W, row, parent, v, v, True)
                gather(nodes, state, W, row, v, parent, K, b)
                e = nodes[(row + v) * FIELDS + EDGE]
                p, L = edges[e * SPAN + TABLE], np.int64(edges[e * SPAN + COLUMNS])
                forth, size = edges[e * SPAN + FIRST] == v, np.int64(edges[e * SPAN + ROWS]) * L
                top, total = -inf, 0.0
                for r in range(size):
                    y, w = r // L, r % L
                    score = table[p + r] + (b[y] + a[w] if forth else a[y] + b[w])
                    top = max(top, score)
                for r in range(size):
                    y, w = r // L, r % L
                    total += exp(table[p + r] + (b[y] + a[w] if forth else a[y] + b[w]) - top)
                for r in range(size):
                    y, w = r // L, r % L
                    score = table[p + r] + (b[y] + a[w] if forth else a[y] + b[w])
                    z[private + p + r] += exp(score - top) / (total * x.copies[e])
            gather(nodes, state, W, row, v, -1, K, b)
            top, total = log_sum(b, K, False), 0.0
            for y in range(K):
                b[y] = exp(b[y] - top)
                total += b[y]
            for y in range(K):
                z[first + y] += b[y] / (total * x.count)


@inlined
def best_states(n, starts, widths, private, z, x):
    """Add the indicators of a best configuration of every forest to z, messages to the roots being
    up to date.
    """
    nodes, edges, table, a, W = x.nodes, x.edges, x.table, x.scratch, x.width
    for row in range(0, x.count * n, n):
        for at in range(row, row + n):
            v = x.downwards[at]
            K, parent = np.int64(widths[v]), nodes[(row + v) * FIELDS + PARENT]
            e, p, step = nodes[(row + v) * FIELDS + EDGE], 0, 0
            gather(nodes, x.state, W, row, v, parent, K, a)
            if parent >= 0:
                forth, L = edges[e * SPAN + FIRST] == v, np.int64(edges[e * SPAN + COLUMNS])
                p = edges[e * SPAN + TABLE] + x.path[parent] * (1 if forth else L)
                step = L if forth else 1
                for y in range(K):
                    a[y] += table[p + y * step]
            best = 0
            for y in range(1, K):
                best = y if a[y] > a[best] else best
            x.path[v] = best
            z[starts[v] + best] += 1.0 / x.count
            if parent >= 0:
                z[private + p + best * step] += 1.0 / x.copies[e]
