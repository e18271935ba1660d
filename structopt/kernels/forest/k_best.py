"""The k best trees of packed forests."""

from __future__ import annotations

from structopt.kernels.forest.forest import hypergraph_of
from structopt.kernels.hypergraph.k_best import listed
from structopt.kernels.waist.signatures import K_BEST, kernel


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best trees in decreasing score, as the signature says; return how many there
    are.
    """
    return listed(hypergraph_of(structure, i), s, k, values, offsets, parts, counts, work)
