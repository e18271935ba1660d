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
def star_pass(f, i, s, low, x):
    """One pass of the update over the variables; return what they contribute to the bound."""
    before, edges, value = f.variables[i], f.factors[i], 0.0
    m, belief, starts, links, first, widths = (
        x.messages,
        x.belief,
        x.starts,
        x.links,
        x.first,
        f.widths,
    )
    for j in range(f.variables[i + 1] - before):
        K, begin, end, r = (
            np.int64(widths[before + j]),
            first[j],
            first[j + 1],
            f.starts[before + j],
        )
        for y in range(K):
            belief[y] = max(s[r + y], low)
        for slot in range(begin, end):
            link = links[slot]
            p, second = private_start(f, i, edges + (link >> 1)), link & 1
            L = np.int64(widths[before + f.linked[f.links[edges] + (link ^ 1)]])
            to = starts[link]
            send(
                s,
                p,
                L if second else K,
                K if second else L,
                second,
                low,
                m,
                to,
                starts[link ^ 1],
                x.smoothing,
            )
            for y in range(K):
                belief[y] += m[to + y]
        for y in range(K):
            belief[y] /= 1 + end - begin
        for slot in range(begin, end):
            to = starts[links[slot]]
            for y in range(K):
                m[to + y] -= belief[y]
        value += highest(belief[:K], x.smoothing)
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
