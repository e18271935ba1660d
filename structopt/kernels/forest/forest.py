"""Exact inference on packed forests, whose edges are listed first; then as on any acyclic
hypergraph.
"""

from __future__ import annotations

from structopt.kernels.forest.edges import listing
from structopt.kernels.hypergraph import calculus, hypergraph
from structopt.kernels.hypergraph.record import SCRATCH, Hypergraph
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import (
    CONDITIONALS,
    ENTROPY,
    ROUND,
    SLOPE,
    SOLVE,
    inlined,
    kernel,
)


def scratch(parts: int, vertices: int) -> Record:
    """Work record for sentences of up to so many parts, and vertices among them."""
    return SCRATCH.pack(scores=parts, inside=vertices)


@inlined
def hypergraph_of(structure, i):
    """The forest of sentence i as a hypergraph."""
    listed = listing(structure, i)
    return Hypergraph(listed.edges, listed.left, listed.right)


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over trees, and its maximiser z: see
    `structopt.kernels.hypergraph.hypergraph`.
    """
    return hypergraph.solved(hypergraph_of(structure, i), s, temperature, z, work)


@kernel(ROUND)
def max_rule(structure, i, z, work):
    """Replace marginals by the tree with the largest product of the marginals of its edges."""
    hypergraph.replace_by_max_rule(hypergraph_of(structure, i), z, work)


@kernel(ENTROPY)
def entropy(structure, i, z):
    """H(z) in nats."""
    return calculus.entropy_of(hypergraph_of(structure, i), z)


@kernel(SLOPE)
def slope(structure, i, z, d, t, out):
    """First and second derivative of H(z + t d) by t, and where `out` has a third entry H(z + t
    d).
    """
    calculus.fill_slopes(hypergraph_of(structure, i), z, d, t, out)


@kernel(CONDITIONALS)
def conditionals(structure, i, z, out):
    """Scores whose Gibbs distribution has the marginals z."""
    calculus.fill_conditionals(hypergraph_of(structure, i), z, out)
