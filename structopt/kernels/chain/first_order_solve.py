"""Exact inference on linear chains of order 1."""

from __future__ import annotations

from structopt.kernels.chain.first_order import first_order, first_order_viterbi
from structopt.kernels.chain.log_forward_backward import log_forward_backward
from structopt.kernels.chain.ngram_parts import sum_ngram_scores
from structopt.kernels.waist.signatures import merged


@merged
def solve_first_order(c, n, s, temperature, x, z):
    """Fill z with a maximiser of s^T z + temperature * H(z), and return the maximum.

    Forbidden parts have the score -inf in s. Returns -inf, with z = 0, if no labelling is left.
    """
    if temperature == 0.0:
        return first_order_viterbi(c, n, s, x, z)
    value, done = first_order(c, n, s, temperature, x, z)
    if done:
        return value
    if not c.anchored:
        sum_ngram_scores(c, n, s, x.table)
    return log_forward_backward(c, n, s, temperature, x, z)
