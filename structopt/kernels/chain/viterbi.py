"""The best labelling of a chain of order above 1: the Viterbi algorithm on tuples of labels, O(n
L^(k+1)).
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.chain.ngram_parts import mark, scores_at
from structopt.kernels.waist.signatures import inlined


@inlined
def viterbi(c, n, s, x, z):
    """Fill z with the indicators of the best labelling, order above 1; return its score (-inf when
    none is allowed).
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    best, back = x.alpha, x.back
    for y in range(L):
        best[y] = s[y]
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            # the table of histories of t labels begins after that of t - 1, which has L^t entries
            table += states
        shrink = states // L if t >= k else states
        now, before = best[t * N : (t + 1) * N], best[(t - 1) * N : t * N]
        pointer = back[t * N : (t + 1) * N]
        following = states * L if t < k else states
        for v in range(following):
            now[v] = -inf
            pointer[v] = 0
        scores = scores_at(c, n, s, t, table, x.table)
        for u in range(states):
            a = before[u]
            base = (u % shrink) * L
            for y in range(L):
                value = a + scores[u * L + y]
                if value > now[base + y]:
                    now[base + y] = value
                    pointer[base + y] = u
        states = following
        for v in range(0, states, L):
            for y in range(L):
                now[v + y] += s[t * L + y]
    return trace_best(c, n, x, z, states)


@inlined
def trace_best(c, n, x, z, states):
    """Follow the back pointers from the best last state, marking its parts in z (none where no
    labelling is allowed).
    """
    L = c.labels
    N = x.temporary.size
    last = x.alpha[(n - 1) * N : n * N]
    v = 0
    for u in range(states):
        if last[u] > last[v]:
            v = u
    value = last[v]
    z[:] = 0.0
    if value == -inf:
        return value
    for t in range(n - 1, -1, -1):
        u = np.int64(x.back[t * N + v]) if t > 0 else np.int64(0)
        mark(c, n, t, u, v % L, z, 1.0)
        v = u
    return value
