"""The record of acyclic hypergraphs with up to two tails an edge, and the work record of inference
on them.

An output is a *derivation* of the root, which is the last vertex: every vertex in it has one chosen
edge, and the tails of that edge are in it, too. Parts of an instance of E edges and V vertices, in
this order: its edges, then its vertices.

No derivation reaches a vertex in two ways: below the two tails of an edge there is no common
vertex, as below two disjoint spans.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined


class Hypergraphs(NamedTuple):
    """The structure record, opened; m instances. Tails stand before heads, and edges are sorted by
    their heads.

    Attributes
    ----------
    vertices : (m + 1,) where the vertices of each instance begin
    edges : (all vertices + 1,) where the edges of each vertex begin, among those of all instances
    left, right : vertex, within its instance, that is the first and the second tail of each edge;
    -1: none
    """

    vertices: Longs
    edges: Longs
    left: Ints
    right: Ints


HYPERGRAPHS = RecordLayout(Hypergraphs)
open_hypergraphs = HYPERGRAPHS.compiled


class Hypergraph(NamedTuple):
    """One instance: E edges, V vertices.

    Attributes
    ----------
    edges : (V + 1,) where the edges of each vertex begin, not counted from 0
    left, right : (E,)
    """

    edges: Longs
    left: Ints
    right: Ints


@inlined
def hypergraph_of(h, i):
    """The hypergraph of instance i."""
    edges = h.edges[h.vertices[i] : h.vertices[i + 1] + 1]
    first, last = edges[0], edges[len(edges) - 1]
    return Hypergraph(edges, h.left[first:last], h.right[first:last])


class Scratch(NamedTuple):
    """The work record, opened: scores of parts, and inside scores of vertices."""

    scores: Floats
    inside: Floats


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled
