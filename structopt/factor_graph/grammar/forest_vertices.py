"""All trees of a packed forest, listed."""

from __future__ import annotations

from structopt.factor_graph.hypergraph import derivations
from structopt.kernels.waist.record import Array, Record


def forest_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all trees of sentence i."""
    from structopt.kernels.forest.edges import listing

    x = listing(structure, i)
    return derivations(x.edges, x.left, x.right, i, parts, most)
