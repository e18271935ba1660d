"""Entropy, its derivatives and conditionals from the marginals of an acyclic hypergraph; O(E).

With marginals z_e of edges and z_v of vertices, the largest entropy of any distribution over
derivations with these marginals is that of the branching process  H(z) = -sum_e z_e log(z_e /
z_head(e)) = -sum_e z_e log z_e + sum_v z_v log z_v.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.chain.calculus import add_slopes, negative_entropy
from structopt.kernels.hypergraph.record import hypergraph_of, open_hypergraphs
from structopt.kernels.waist.signatures import CONDITIONALS, ENTROPY, SLOPE, inlined, kernel


@inlined
def entropy_of(g, z):
    """H(z) in nats, of one hypergraph."""
    edges = len(g.left)
    return negative_entropy(z, edges, len(z)) - negative_entropy(z, 0, edges)


@inlined
def fill_slopes(g, z, d, t, out):
    """First and second derivative of H(z + t d), see `slope`, of one hypergraph."""
    edges = len(g.left)
    out[:] = 0.0
    add_slopes(z, d, t, -1.0, 0, edges, out)
    add_slopes(z, d, t, 1.0, edges, len(z), out)


@inlined
def fill_conditionals(g, z, out):
    """Scores whose Gibbs distribution has the marginals z, see `conditionals`, of one
    hypergraph.
    """
    edges, start = len(g.left), g.edges[0]
    out[:] = 0.0
    for v in range(len(g.edges) - 1):
        for e in range(g.edges[v] - start, g.edges[v + 1] - start):
            out[e] = log(z[e] / z[edges + v]) if z[e] > 0.0 and z[edges + v] > 0.0 else -inf


@kernel(ENTROPY)
def entropy(structure, i, z):
    """H(z) in nats."""
    return entropy_of(hypergraph_of(open_hypergraphs(structure), i), z)


@kernel(SLOPE)
def slope(structure, i, z, d, t, out):
    """First and second derivative of H(z + t d) by t, and where `out` has a third entry H(z + t d).

    d is a difference of marginals: the entries of the edges of a vertex sum up to the vertex's, and
    so do those of the edges that it is a tail of.
    """
    fill_slopes(hypergraph_of(open_hypergraphs(structure), i), z, d, t, out)


@kernel(CONDITIONALS)
def conditionals(structure, i, z, out):
    """Scores whose Gibbs distribution has the marginals z: of an edge log(z_e / z_head), of a
    vertex 0.
    """
    fill_conditionals(hypergraph_of(open_hypergraphs(structure), i), z, out)
