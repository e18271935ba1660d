"""Star updates where all variables have two states: a message is one number,
`structopt.kernels.loopy.mplp` derives it.
"""

from __future__ import annotations

from math import exp, log, log1p

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.waist.signatures import inlined


@inlined
def to_differences(f, i, s, low, memory, x):
    """Fill x.belief, x.r and x.w of a graph of variables with two states."""
    before, edges = f.variables[i], f.factors[i]
    for v in range(f.variables[i + 1] - before):
        r = f.starts[before + v]
        x.belief[v] = max(s[r + 1], low) - max(s[r], low)
    for edge in range(edges, f.factors[i + 1]):
        p, link = private_start(f, i, edge), 2 * (edge - edges)
        off, on = max(s[p], low), max(s[p + 3], low)
        second, first = max(s[p + 1], low), max(s[p + 2], low)
        a, b = f.linked[f.links[edge]], f.linked[f.links[edge] + 1]
        x.belief[a] += first - off
        x.belief[b] += second - off
        one, other = x.slots[link], x.slots[link + 1]
        x.w[one] = x.w[other] = on - first - second + off
        x.r[one], x.r[other] = first - off, second - off
        if len(memory) > 0:
            x.r[one] -= memory[link]
            x.r[other] -= memory[link + 1]


@inlined
def from_differences(f, i, s, low, memory, x):
    """Write the messages that x.r stands for to x.messages, those to state 0 being 0, and to the
    memory.
    """
    edges = f.factors[i]
    for edge in range(edges, f.factors[i + 1]):
        p, link = private_start(f, i, edge), 2 * (edge - edges)
        off = max(s[p], low)
        for side in range(2):
            m = max(s[p + 2 - side], low) - off - x.r[x.slots[link + side]]
            x.messages[2 * (link + side)], x.messages[2 * (link + side) + 1] = 0.0, m
            if len(memory) > 0:
                memory[link + side] = m


@inlined
def positive(x, smoothing):
    """max(0, x), or log(1 + exp(K x)) / K."""
    top = x if x > 0.0 else 0.0
    return top if smoothing == 0.0 else top + log1p(exp(-smoothing * abs(x))) / smoothing


@inlined
def binary_pass(count, x):
    """One pass of the update over the variables; return what they contribute to the bound."""
    r, w, twin, first, total = x.r, x.w, x.twin, x.first, 0.0
    for v in range(count):
        begin, end = first[v], first[v + 1]
        ahead = x.belief[v]
        for slot in range(begin, end):
            t = r[twin[slot]]
            u = t + w[slot]
            c = (u if u > 0.0 else 0.0) - (t if t > 0.0 else 0.0)
            ahead += c
            r[slot] = -c
        share = ahead / (1 + end - begin)
        for slot in range(begin, end):
            r[slot] += share
        total += share if share > 0.0 else 0.0
    return total


@inlined
def soft_binary_pass(count, x):
    """`binary_pass` with soft maxima."""
    total = 0.0
    for v in range(count):
        begin, end = x.first[v], x.first[v + 1]
        ahead = x.belief[v]
        for slot in range(begin, end):
            t = x.r[x.twin[slot]]
            c = positive(t + x.w[slot], x.smoothing) - positive(t, x.smoothing)
            ahead += c
            x.r[slot] = -c
        share = ahead / (1 + end - begin)
        for slot in range(begin, end):
            x.r[slot] += share
        total += positive(share, x.smoothing)
    return total


@inlined
def binary_edges(links, x):
    """What the edges contribute to the bound, up to a constant."""
    total = 0.0
    for link in range(0, links, 2):
        one, other = x.slots[link], x.slots[link + 1]
        a, b = x.r[one], x.r[other]
        both, top = a + b + x.w[one], max(a, b)
        top = max(max(top, both), 0.0)
        total += top
        if x.smoothing > 0.0:
            K = x.smoothing
            total += (
                log(exp(-K * top) + exp(K * (a - top)) + exp(K * (b - top)) + exp(K * (both - top)))
                / K
            )
    return total
