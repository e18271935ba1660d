"""Exact inference on semi-Markov chains: Viterbi, forward-backward and k-best lists, all over
segments.

Parts of an instance of n tokens, L labels and segments of at most M tokens, in this order: n x L
label parts; then, tied (one table an instance, whose marginals are expected counts), M x L segment
parts, length by label, and L x L transition parts between consecutive segments. A segment is named
by the label y of its first token, and its score is

    w(b, l, y) = s_b(y) + s_{b+1}(inner) + ... + s_{b+l-1}(last) + s_seg(l, y).

With a(e, y) the value of the first e tokens when the last segment is one of y, and i(b, y) that of
the tokens before it,

    i(b, y) = sum_u a(b, u) + s_tr(u, y),    a(e, y) = sum_l i(e - l, y) + w(e - l, l, y),

where "sum" is the maximum at temperature 0 and else the log of the sum of the exponentials: O(n (M
L + L^2)). All is done in logarithms, so that no range of scores is too large. Where segments are
runs of one label, a segment that is followed by one of its own label has M tokens: then a(b, y) in
the sum for i(b, y) counts these alone.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.plugin.kernels import SOLVE, kernel
from structopt_segments.best import viterbi
from structopt_segments.chain import (
    before,
    constrain,
    label_part,
    open_chain,
    open_scratch,
    segment_part,
    transitions,
    weigh,
)


@kernel
def forward(c, n, s, temperature, x):
    """Fill in i and a; return the log of the sum over all outputs."""
    L, M = c.labels, c.max_length
    t = transitions(c, n, s)
    for e in range(n + 1):
        for y in c.first:
            top, total = -inf, 0.0
            for length in range(1, min(M, e) + 1):
                index = (e - length) * L + y
                top = max(top, x.enter[index] + x.weight[index * M + length - 1])
            if top > -inf:
                for length in range(1, min(M, e) + 1):
                    index = (e - length) * L + y
                    total += exp(x.enter[index] + x.weight[index * M + length - 1] - top)
            x.best[e * L + y] = top + log(total) if top > -inf else -inf
        for y in c.first:
            if e == n:
                break
            top, total = -inf, 0.0
            for u in c.first:
                if e > 0:
                    top = max(top, before(c, x, e, u, y) + t[u, y] / temperature)
            if top > -inf:
                for u in c.first:
                    total += exp(before(c, x, e, u, y) + t[u, y] / temperature - top)
            x.enter[e * L + y] = 0.0 if e == 0 else top + log(total) if top > -inf else -inf
    top, total = -inf, 0.0
    for y in c.first:
        top = max(top, x.best[n * L + y])
    if top == -inf:
        return top
    for y in c.first:
        total += exp(x.best[n * L + y] - top)
    return top + log(total)


@kernel
def backward(c, n, s, temperature, x):
    """Fill in the values of what follows a segment of u that ends at e: `full` where it has M
    tokens, else `after`.

    `out` has those of what begins with a segment of y at b, that segment included.
    """
    L, t = c.labels, transitions(c, n, s)
    for e in range(n, -1, -1):
        for u in c.first:
            if e == n:
                x.after[e * L + u] = x.full[e * L + u] = 0.0
                continue
            top, total, same = -inf, 0.0, x.out[e * L + u] + t[u, u] / temperature
            for y in c.first:
                if not (c.runs and u == y):
                    top = max(top, x.out[e * L + y] + t[u, y] / temperature)
            if top > -inf:
                for y in c.first:
                    if not (c.runs and u == y):
                        total += exp(x.out[e * L + y] + t[u, y] / temperature - top)
            x.after[e * L + u] = top + log(total) if top > -inf else -inf
            highest = max(same, top) if c.runs else top
            if c.runs and highest > -inf:
                rest = exp(x.after[e * L + u] - highest)
                x.full[e * L + u] = highest + log(rest + exp(same - highest))
            else:
                x.full[e * L + u] = x.after[e * L + u]
        if e == 0:
            break
        for y in c.first:
            begin_with(c, n, x, e - 1, y)


@kernel
def begin_with(c, n, x, b, y):
    """Fill in `out` at token b: the sum over the lengths of a segment of y."""
    L, M = c.labels, c.max_length
    index, top, total = b * L + y, -inf, 0.0
    for length in range(1, min(M, n - b) + 1):
        top = max(top, x.weight[index * M + length - 1] + following(c, x, b, length, y))
    if top > -inf:
        for length in range(1, min(M, n - b) + 1):
            total += exp(x.weight[index * M + length - 1] + following(c, x, b, length, y) - top)
    x.out[index] = top + log(total) if top > -inf else -inf


@kernel
def following(c, x, b, length, y):
    """The value of what follows the segment of y that has `length` tokens from b on."""
    index = (b + length) * c.labels + y
    return x.full[index] if length == c.max_length else x.after[index]


@kernel
def expect(c, n, s, temperature, total, x, z):
    """Fill z with the marginals of labels and the expected counts of segments and transitions."""
    L, M = c.labels, c.max_length
    t, counts = transitions(c, n, s), transitions(c, n, z)
    z[:] = 0.0
    for b in range(n):
        for y in c.first:
            index, longer = b * L + y, 0.0
            if x.enter[index] == -inf:
                continue
            for length in range(min(M, n - b), 0, -1):
                p = exp(
                    x.enter[index]
                    + x.weight[index * M + length - 1]
                    + following(c, x, b, length, y)
                    - total
                )
                z[segment_part(L, n, length, y)] += p
                if length > 1:
                    z[label_part(L, b + length - 1, c.last[y])] += p
                    z[label_part(L, b + length - 1, c.inner[y])] += longer
                longer += p
            z[label_part(L, b, y)] += longer
            for u in c.first:
                if b > 0:
                    v = before(c, x, b, u, y) + t[u, y] / temperature + x.out[index] - total
                    counts[u, y] += exp(v)


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z'), and its maximiser z: Viterbi at temperature 0, else
    forward-backward.

    Returns -inf, with z = 0, where the hard constraints allow no output.
    """
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    constrain(c, i, n, s)
    weigh(c, n, s, temperature, x.weight)
    if temperature == 0.0:
        return viterbi(c, n, s, x, z)
    total = forward(c, n, s, temperature, x)
    if total == -inf:
        z[:] = 0.0
        return total
    backward(c, n, s, temperature, x)
    expect(c, n, s, temperature, total, x, z)
    return temperature * total
