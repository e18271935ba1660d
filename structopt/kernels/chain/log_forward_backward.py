"""Forward-backward in log space on chains of any order: the fallback where scaled probabilities
could underflow.
"""

from __future__ import annotations

from math import exp, inf

from structopt.kernels.arrays.log_add import log_add
from structopt.kernels.chain.ngram_parts import counts_at, scores_at
from structopt.kernels.waist.signatures import inlined


@inlined
def log_forward_backward(c, n, s, temperature, x, z):
    """Forward-backward in log space: slower, never underflows. Returns -inf where no labelling is
    allowed.

    z has the counts of the longest histories only; `fold_counts` adds the others.
    """
    states, table = forward(c, n, s, temperature, x)
    total, N = -inf, x.temporary.size
    for v in range(states):
        total = log_add(total, x.alpha[(n - 1) * N + v])
        x.beta[(n - 1) * N + v] = 0.0
    z[:] = 0.0
    if total == -inf:
        return total
    backward(c, n, s, temperature, total, states, table, x, z)
    return temperature * total


@inlined
def forward(c, n, s, temperature, x):
    """Fill x.alpha with forward log weights. Returns (states of the last position, where their
    table begins).
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    for y in range(L):
        x.alpha[y] = s[y] / temperature
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            table += states
        shrink = states // L if t >= k else states
        following = states * L if t < k else states
        now, before = x.alpha[t * N : (t + 1) * N], x.alpha[(t - 1) * N : t * N]
        e = scores_at(c, n, s, t, table, x.table)
        for v in range(following):
            now[v] = -inf
        for u in range(states):
            base = (u % shrink) * L
            for y in range(L):
                now[base + y] = log_add(now[base + y], before[u] + e[u * L + y] / temperature)
        states = following
        for v in range(states):
            now[v] += s[t * L + v % L] / temperature
    return states, table


@inlined
def backward(c, n, s, temperature, total, states, table, x, z):
    """Fill x.beta with backward log weights, and add label marginals and the counts of the longest
    histories to z.
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    for t in range(n - 1, -1, -1):
        for v in range(states):
            if x.alpha[t * N + v] > -inf:
                z[t * L + v % L] += exp(x.alpha[t * N + v] + x.beta[t * N + v] - total)
        if t == 0:
            break
        previous = states // L if t < k else states
        shrink = previous // L if t >= k else previous
        e = scores_at(c, n, s, t, table, x.table)
        counts = counts_at(c, n, z, t, table)
        for u in range(previous):
            base, collected = (u % shrink) * L, -inf
            for y in range(L):
                step = (
                    e[u * L + y] / temperature
                    + s[t * L + y] / temperature
                    + x.beta[t * N + base + y]
                )
                collected = log_add(collected, step)
                if step > -inf and x.alpha[(t - 1) * N + u] > -inf:
                    counts[u * L + y] += exp(x.alpha[(t - 1) * N + u] + step - total)
            x.beta[(t - 1) * N + u] = collected
        if 1 < t <= k:
            table -= previous
        states = previous
