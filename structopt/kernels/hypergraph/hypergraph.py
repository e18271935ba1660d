"""Exact inference on acyclic hypergraphs: the best derivation, marginals, and max-rule
decoding.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.hypergraph.inside import (
    best_derivation,
    fill_conditionals,
    multiply_down,
)
from structopt.kernels.hypergraph.record import (
    SCRATCH,
    hypergraph_of,
    open_hypergraphs,
    open_scratch,
)
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import ROUND, SOLVE, inlined, kernel


def scratch(parts: int, vertices: int) -> Record:
    """Work record for instances of up to so many parts, and vertices among them."""
    return SCRATCH.pack(scores=parts, inside=vertices)


@inlined
def solved(g, s, temperature, z, work):
    """Solve one hypergraph, see `solve`."""
    if len(s) == 0:
        return -inf
    inside = open_scratch(work).inside
    if temperature == 0.0:
        return best_derivation(g, s, inside, z)
    value = fill_conditionals(g, s, temperature, inside, z)
    if value > -inf:
        multiply_down(g, z)
    else:
        z[:] = 0.0
    return value


@inlined
def replace_by_max_rule(g, z, work):
    """Make a derivation of the marginals of one hypergraph, see `max_rule`."""
    if len(z) == 0:
        return
    x = open_scratch(work)
    scores = x.scores[: len(z)]
    scores[:] = 0.0
    for e in range(len(g.left)):
        scores[e] = log(z[e]) if z[e] > 0.0 else -inf
    best_derivation(g, scores, x.inside, z)


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over derivations, and its maximiser z; O(E).

    Returns -inf, with z = 0, where there is no derivation of the root, or none whose parts all have
    finite scores.
    """
    return solved(hypergraph_of(open_hypergraphs(structure), i), s, temperature, z, work)


@kernel(ROUND)
def max_rule(structure, i, z, work):
    """Replace marginals by the derivation that maximises sum_e log z_e over its edges; leave z = 0
    where there is none.

    Matsuzaki et al. (2005); Petrov and Klein (2007), max-rule-product.
    """
    replace_by_max_rule(hypergraph_of(open_hypergraphs(structure), i), z, work)
