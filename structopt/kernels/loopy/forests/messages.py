"""Messages between neighbours in a spanning forest: logarithms, not normalised."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.loopy.forests.layout import (
    CHILD,
    COLUMNS,
    EDGE,
    FIELDS,
    FIRST,
    PARENT,
    ROWS,
    SIBLING,
    SPAN,
    TABLE,
)
from structopt.kernels.waist.signatures import inlined, merged

LOST = 1e-250
"""Sums of products of exponentials below this may have lost terms that matter, and are computed
anew as logarithms.
"""


@merged
def gather(nodes, state, W, row, v, without, K, a):
    """Fill a with the potential of v, of K states, and the messages of its neighbours, but for the
    one `without`.
    """
    slot = row + v
    potential, node = slot * 3 * W, slot * FIELDS
    for y in range(K):
        a[y] = state[potential + y]
    if nodes[node + PARENT] >= 0 and nodes[node + PARENT] != without:
        for y in range(K):
            a[y] += state[potential + 2 * W + y]
    u = nodes[node + CHILD]
    while u >= 0:
        if u != without:
            message = ((row + u) * 3 + 1) * W
            for y in range(K):
                a[y] += state[message + y]
        u = nodes[(row + u) * FIELDS + SIBLING]


@merged
def send(nodes, edges, state, table, power, a, W, row, v, u, below, hot):
    """Renew the message of v to its neighbour u; `below` is the lower of the two. a[:W] becomes the
    sum at v without u.
    """
    node = (row + below) * FIELDS
    e = nodes[node + EDGE] * SPAN
    p, forth, K, L = (
        edges[e + TABLE],
        edges[e + FIRST] == v,
        np.int64(edges[e + ROWS]),
        np.int64(edges[e + COLUMNS]),
    )
    step, stride = L, 1  # from a state of v, and of u, to the next
    if not forth:
        K, L, step, stride = L, K, 1, L
    gather(nodes, state, W, row, v, u, K, a)
    top, out = -inf, ((row + below) * 3 + (1 if v == below else 2)) * W
    for y in range(K):
        top = a[y] if a[y] > top else top
    if not hot or top == -inf:
        for w in range(L):
            best = -inf
            for y in range(K):
                score = a[y] + table[p + y * step + w * stride]
                best = score if score > best else best
            state[out + w] = best
        return
    for y in range(K):
        a[W + y] = exp(a[y] - top)
    for w in range(L):
        total = 0.0
        for y in range(K):
            total += a[W + y] * power[p + y * step + w * stride]
        state[out + w] = (
            log(total) + top if total > LOST else log_message(a, K, table, p + w * stride, step)
        )


@inlined
def log_message(a, K, table, p, step):
    """log sum_y exp(a_y + table[p + y step])."""
    top = -inf
    for y in range(K):
        top = max(top, a[y] + table[p + y * step])
    if top == -inf:
        return top
    total = 0.0
    for y in range(K):
        total += exp(a[y] + table[p + y * step] - top)
    return top + log(total)


@inlined
def log_sum(a, K, hot):
    """log sum_y exp a(y), or the highest."""
    top = -inf
    for y in range(K):
        top = a[y] if a[y] > top else top
    if not hot or top == -inf:
        return top
    total = 0.0
    for y in range(K):
        total += exp(a[y] - top)
    return top + log(total)
