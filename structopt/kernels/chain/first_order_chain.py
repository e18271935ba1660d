"""Exact inference on linear chains of order 1, compiled without the algorithms of higher orders."""

from __future__ import annotations

from structopt.kernels.chain.constraints import constrain
from structopt.kernels.chain.first_order_solve import solve_first_order
from structopt.kernels.chain.record import open_chain, open_scratch
from structopt.kernels.waist.signatures import SOLVE, kernel


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z'), and its maximiser z: Viterbi at temperature 0, else
    forward-backward.

    Returns -inf, with z = 0, if the hard constraints allow no labelling.
    """
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    constrain(c, i, n, s)
    return solve_first_order(c, n, s, temperature, x, z)
