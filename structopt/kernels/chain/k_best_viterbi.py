"""The k best labellings of a chain: Viterbi over lists of the best values."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.arrays.ranked_lists import insert
from structopt.kernels.chain.ngram_parts import mark, scores_at
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.target import list_parts


@inlined
def k_best_viterbi(c, n, s, count, x, values, offsets, parts, counts):
    """List the `count` best labellings, best first, as the signature K_BEST says; return how many
    there are.

    Of every state the `count` best values are kept, each with the state that it came from and its
    rank there. x.table holds the summed scores of tied n-grams.
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    best = np.full((n, N, count), -inf)
    state = np.zeros((n, N, count), np.int32)
    rank = np.zeros((n, N, count), np.int32)
    for y in range(L):
        best[0, y, 0] = s[y]
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            table += states
        shrink = states // L if t >= k else states
        e = scores_at(c, n, s, t, table, x.table)
        for v in range(shrink * L):
            y, mine, origins, ranks = v % L, best[t, v], state[t, v], rank[t, v]
            for u in range(v // L, states, shrink):
                for j in range(count):
                    value = best[t - 1, u, j] + e[u * L + y] + s[t * L + y]
                    if not value > mine[count - 1]:  # as `insert` does, without a call
                        break
                    insert(value, u, j, mine, origins, ranks)
        states = states * L if t < k else states
    ending, ending_state, ending_rank = (
        np.full(count, -inf),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
    )
    for v in range(states):
        for j in range(count):
            if not insert(best[n - 1, v, j], v, j, ending, ending_state, ending_rank):
                break
    z, outputs, offsets[0] = np.zeros(len(s)), 0, 0
    for q in range(count):
        if ending[q] == -inf:
            break
        v, j = np.int64(ending_state[q]), ending_rank[q]
        values[q], z[:] = ending[q], 0.0
        for t in range(n - 1, -1, -1):
            u = np.int64(state[t, v, j])
            mark(c, n, t, u, v % L, z, 1.0)
            v, j = u, rank[t, v, j]
        outputs += 1
        offsets[outputs] = list_parts(z, offsets[q], parts, counts)
    return outputs
