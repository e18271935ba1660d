"""The k best labellings of one sentence, in one call with few arguments."""

from __future__ import annotations

from math import inf

import numpy as np
from numba import types

from structopt.kernels.chain.k_best_viterbi import k_best_viterbi
from structopt.kernels.chain.ngram_parts import sum_ngram_scores
from structopt.kernels.chain.sentence import constrained_scores, open_sentence
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, kernel


@kernel(
    types.int64(VECTOR, INTS, LONGS, VECTOR, LONGS, types.int64, types.boolean, VECTOR, INTS),
)
def list_sentence(theta, ints, longs, floats, at, q, valued, values, labels):
    """Write the scores of the best labellings of sentence q in decreasing order, and their labels;
    return how many there are that break no hard constraint, at most len(values).

    See `structopt.kernels.chain.sentence.solve_sentences` for the other arguments; `labels` has the
    shape (len(values) n,) for n positions.
    """
    p = open_sentence(Record(ints, longs, floats, at))
    begin = 0
    for t in range(p.starts[q]):
        begin += p.given_counts[t]
    s, _ = constrained_scores(p, theta, q, begin, valued)
    n = p.starts[q + 1] - p.starts[q]
    c, count, L = p.chain, len(values), p.chain.labels
    sum_ngram_scores(c, n, s, p.scratch.table)
    most = count * (n + L * L)
    offsets, parts, counts = (
        np.zeros(count + 1, np.int64),
        np.zeros(most, np.int32),
        np.zeros(most),
    )
    found = k_best_viterbi(c, n, s, count, p.scratch, values, offsets, parts, counts)
    for rank in range(found):
        if values[rank] == -inf:  # the best come first
            return rank
        for j in range(offsets[rank], offsets[rank + 1]):
            if parts[j] < n * L:
                labels[rank * n + parts[j] // L] = parts[j] % L
    return found
