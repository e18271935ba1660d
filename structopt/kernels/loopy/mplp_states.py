"""Star updates where variables have any number of states: a message is a number a state."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.waist.signatures import inlined


@inlined
def send(s, p, K, L, second, low, m, to, other, smoothing):
    """Write v_ij to m[to :], K x L scores from s[p] on, d_ji from m[other] on; `second`: it goes to
    the second variable.
    """
    if not second:
        for y in range(K):
            top, row = -inf, p + y * L
            for u in range(L):
                value = (s[row + u] if s[row + u] > low else low) - m[other + u]
                top = value if value > top else top
            if smoothing > 0.0:
                total = 0.0
                for u in range(L):
                    total += exp(smoothing * (max(s[row + u], low) - m[other + u] - top))
                top += log(total) / smoothing
            m[to + y] = top
        return
    for u in range(L):
        m[to + u] = -inf
    for y in range(K):
        row, d = p + y * L, m[other + y]
        for u in range(L):
            value = (s[row + u] if s[row + u] > low else low) - d
            m[to + u] = value if value > m[to + u] else m[to + u]
    if smoothing > 0.0:
        for u in range(L):
            total = 0.0
            for y in range(K):
                total += exp(smoothing * (max(s[p + y * L + u], low) - m[other + y] - m[to + u]))
            m[to + u] += log(total) / smoothing


@inlined
def highest(a, smoothing):
    """max_y a(y), or (1/K) log sum_y exp(K a(y))."""
    top = -inf
    for y in range(len(a)):
        if a[y] > top:
            top = a[y]
    if smoothing == 0.0 or top == -inf:
        return top
    total = 0.0
    for y in range(len(a)):
        total += exp(smoothing * (a[y] - top))
    return top + log(total) / smoothing


@inlined
def collect(f, i, s, low, j, x):
    """Write v_ij to the messages into a variable, and b_j + sum of v_ij to x.belief; return the
    number of its states.
    """
    before, edges, m, widths = f.variables[i], f.factors[i], x.messages, f.widths
    K, r = np.int64(widths[before + j]), f.starts[before + j]
    for y in range(K):
        x.belief[y] = max(s[r + y], low)
    for slot in range(x.first[j], x.first[j + 1]):
        link = x.links[slot]
        p, second = private_start(f, i, edges + (link >> 1)), link & 1
        L = np.int64(widths[before + f.linked[f.links[edges] + (link ^ 1)]])
        to = x.starts[link]
        send(
            s,
            p,
            L if second else K,
            K if second else L,
            second,
            low,
            m,
            to,
            x.starts[link ^ 1],
            x.smoothing,
        )
        for y in range(K):
            x.belief[y] += m[to + y]
    return K


@inlined
def update_star(f, i, s, low, j, x):
    """Update the messages into a variable; return its term of the bound."""
    K, begin, end = collect(f, i, s, low, j, x), x.first[j], x.first[j + 1]
    for y in range(K):
        x.belief[y] /= 1 + end - begin
    for slot in range(begin, end):
        to = x.starts[x.links[slot]]
        for y in range(K):
            x.messages[to + y] -= x.belief[y]
    return highest(x.belief[:K], x.smoothing)


@inlined
def star_pass(f, i, s, low, x):
    """One pass of the update over the variables; return what they contribute to the bound."""
    value = 0.0
    for j in range(f.variables[i + 1] - f.variables[i]):
        value += update_star(f, i, s, low, j, x)
    return value


@inlined
def edge_bound(f, i, s, low, x):
    """What the edges contribute to the bound."""
    value, before, m = 0.0, f.variables[i], x.messages
    for edge in range(f.factors[i], f.factors[i + 1]):
        begin, link, p = f.links[edge], 2 * (edge - f.factors[i]), private_start(f, i, edge)
        K, L = (
            np.int64(f.widths[before + f.linked[begin]]),
            np.int64(f.widths[before + f.linked[begin + 1]]),
        )
        one, other, top = x.starts[link], x.starts[link + 1], -inf
        for y in range(K):
            row = p + y * L
            for u in range(L):
                score = (s[row + u] if s[row + u] > low else low) - m[one + y] - m[other + u]
                top = score if score > top else top
        value += top
        if x.smoothing > 0.0:
            total = 0.0
            for y in range(K):
                for u in range(L):
                    total += exp(
                        x.smoothing * (max(s[p + y * L + u], low) - m[one + y] - m[other + u] - top)
                    )
            value += log(total) / x.smoothing
    return value
