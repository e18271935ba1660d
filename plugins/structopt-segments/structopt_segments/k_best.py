"""The k best outputs of semi-Markov chains; see `structopt_segments.kernels`."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.plugin.kernels import K_BEST, insert, kernel, list_parts
from structopt_segments.chain import (
    constrain,
    mark,
    open_chain,
    open_scratch,
    transitions,
    weigh,
)


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """The `count` best outputs in decreasing score, by Viterbi over lists; O(n (M L + L^2)
    count).
    """
    c, x = open_chain(structure), open_scratch(work)
    n, L, M = c.tokens[i + 1] - c.tokens[i], c.labels, c.max_length
    constrain(c, i, n, s)
    weigh(c, n, s, 0.0, x.weight)
    t = transitions(c, n, s)
    enter, best = np.full((n + 1, L, count), -inf), np.full((n + 1, L, count), -inf)
    source, length = np.zeros((n + 1, L, count), np.int32), np.zeros((n + 1, L, count), np.int32)
    enter_rank, best_rank = (
        np.zeros((n + 1, L, count), np.int32),
        np.zeros((n + 1, L, count), np.int32),
    )
    for e in range(n + 1):
        for y in c.first:
            for m in range(1, min(M, e) + 1):
                w = x.weight[((e - m) * L + y) * M + m - 1]
                for j in range(count):
                    if not insert(
                        enter[e - m, y, j] + w, m, j, best[e, y], length[e, y], best_rank[e, y]
                    ):
                        break
        for y in c.first:
            if e == 0:
                enter[e, y, 0] = 0.0
                continue
            for u in c.first:
                run = c.runs and u == y
                if run and e < M:
                    continue
                for j in range(count):
                    w = x.weight[((e - M) * L + y) * M + M - 1] if run else 0.0
                    value = enter[e - M, y, j] + w if run else best[e, u, j]
                    if not insert(
                        value + t[u, y], u, j, enter[e, y], source[e, y], enter_rank[e, y]
                    ):
                        break
    ending, ending_label, ending_rank = (
        np.full(count, -inf),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
    )
    for y in c.first:
        for j in range(count):
            if not insert(best[n, y, j], y, j, ending, ending_label, ending_rank):
                break
    z, outputs, offsets[0] = np.zeros(len(s)), 0, 0
    for q in range(count):
        if ending[q] == -inf:
            break
        values[q], z[:], e, y, j = (
            ending[q],
            0.0,
            n,
            np.int64(ending_label[q]),
            np.int64(ending_rank[q]),
        )
        m, j = np.int64(length[e, y, j]), np.int64(best_rank[e, y, j])
        while True:
            e -= m
            u = np.int64(source[e, y, j]) if e > 0 else np.int64(-1)
            mark(c, n, e, m, u, y, z)
            if e == 0:
                break
            j = np.int64(enter_rank[e, y, j])
            if c.runs and u == y:
                m = M
            else:
                m, j = np.int64(length[e, u, j]), np.int64(best_rank[e, u, j])
            y = u
        outputs += 1
        offsets[outputs] = list_parts(z, offsets[q], parts, counts)
    return outputs
