"""The best output of semi-Markov chains; see `structopt_segments.kernels`."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.plugin.kernels import kernel
from structopt_segments.chain import before, mark, transitions


@kernel
def viterbi(c, n, s, x, z):
    """Fill z with the indicators of the best output; return its score (-inf, and zeros, where there
    is none).
    """
    L, M = c.labels, c.max_length
    t = transitions(c, n, s)
    x.best[: (n + 1) * L] = -inf
    for e in range(n + 1):
        for y in c.first:
            for length in range(1, min(M, e) + 1):
                index = (e - length) * L + y
                value = x.enter[index] + x.weight[index * M + length - 1]
                if value > x.best[e * L + y]:
                    x.best[e * L + y], x.length[e * L + y] = value, length
        for y in c.first:
            if e == n:
                break
            x.enter[e * L + y] = 0.0 if e == 0 else -inf
            if e > 0:
                for u in c.first:
                    value = before(c, x, e, u, y) + t[u, y]
                    if value > x.enter[e * L + y]:
                        x.enter[e * L + y], x.source[e * L + y] = value, u
    z[:] = 0.0
    y = np.int64(c.first[0])
    for u in c.first:
        if x.best[n * L + u] > x.best[n * L + y]:
            y = np.int64(u)
    value = x.best[n * L + y]
    if value == -inf:
        return value
    e, length = n, np.int64(x.length[n * L + y])
    while True:
        e -= length
        u = np.int64(x.source[e * L + y]) if e > 0 else np.int64(-1)
        mark(c, n, e, length, u, y, z)
        if e == 0:
            return value
        length = M if c.runs and u == y else np.int64(x.length[e * L + u])
        y = u
