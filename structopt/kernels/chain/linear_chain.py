"""Exact inference on linear chains of order k: Viterbi, forward-backward.

The state at position t is the tuple of the last min(t + 1, k) labels, so that order k costs O(n
L^(k+1)). Order 1 has functions of its own (`first_order`); forward-backward falls back to log space
(`log_forward_backward`) where scaled probabilities could underflow.
"""

from __future__ import annotations

from structopt.kernels.chain.constraints import constrain
from structopt.kernels.chain.first_order_solve import solve_first_order
from structopt.kernels.chain.forward_backward import forward_backward
from structopt.kernels.chain.log_forward_backward import log_forward_backward
from structopt.kernels.chain.ngram_parts import fold_counts, sum_ngram_scores
from structopt.kernels.chain.record import open_chain, open_scratch
from structopt.kernels.chain.viterbi import viterbi
from structopt.kernels.waist.signatures import SOLVE, kernel


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z'), and its maximiser z: Viterbi at temperature 0, else
    forward-backward.

    Returns -inf, with z = 0, where the hard constraints allow no labelling.
    """
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    constrain(c, i, n, s)
    if c.order == 1:
        return solve_first_order(c, n, s, temperature, x, z)
    if not c.anchored:
        sum_ngram_scores(c, n, s, x.table)
    if temperature == 0.0:
        return viterbi(c, n, s, x, z)
    value, done = forward_backward(c, n, s, temperature, x, z)
    if done:
        return value
    value = log_forward_backward(c, n, s, temperature, x, z)
    fold_counts(c, n, z)
    return value
