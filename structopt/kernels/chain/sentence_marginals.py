"""Marginals of a few sentences, in one call with few arguments."""

from __future__ import annotations

from math import inf

from numba import types

from structopt.kernels.chain.first_order_solve import solve_first_order
from structopt.kernels.chain.sentence import constrained_scores, open_sentence
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, kernel
from structopt.kernels.waist.views import part


@kernel(
    types.boolean(VECTOR, INTS, LONGS, VECTOR, LONGS, types.int64, types.boolean, types.float64)
)
def solve_sentences(theta, ints, longs, floats, at, count, valued, temperature):
    """Write the marginals of some sentences at a temperature above 0, and max_z s^T z + temperature
    * H(z) of each sentence.

    See `structopt.kernels.chain.sentence.label_sentences` for the other arguments and the result.
    """
    p = open_sentence(Record(ints, longs, floats, at))
    L, allowed, end = p.chain.labels, True, 0
    for q in range(count):
        s, end = constrained_scores(p, theta, q, end, valued)
        first, z = p.starts[q], part(p.marginals, 0, len(s))
        n = p.starts[q + 1] - first
        p.maxima[q] = solve_first_order(p.chain, n, s, temperature, p.scratch, z)
        allowed = allowed and p.maxima[q] > -inf
        for j in range(n * L):
            p.probabilities[first * L + j] = z[j]
    return allowed
