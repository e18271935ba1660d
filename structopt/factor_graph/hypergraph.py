"""Structures whose outputs are derivations of acyclic hypergraphs, every edge a part of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from math import prod

import numpy as np

from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.factor_graph import Calculus
from structopt.core.structure_kind import StructureKind, algorithms, check_count
from structopt.kernels.waist.record import Array, Record


def hypergraph_structure(
    vertices: Array,
    edges: Array,
    left: Array,
    right: Array,
    groups: tuple[PartGroup, ...],
    part_tokens: Mapping[str, Array] | None = None,
) -> Structure:
    """Lay out m acyclic hypergraphs; an instance of E edges and V vertices has E + V parts, its
    edges first.

    Parameters
    ----------
    vertices : int64, shape (m + 1,)
        Where the vertices of each instance begin. They stand after the tails of their edges, and
        the last is the root.
    edges : int64, shape (all vertices + 1,)
        Where the edges of each vertex begin, among those of all instances.
    left, right : int32, shape (all edges,)
        First and second tail of each edge, a vertex of its instance; -1: none. No vertex is below
        both.
    groups : tuple of PartGroup
        The groups that the parts belong to.
    part_tokens : mapping, or None
        See `Structure`.

    Raises
    ------
    ValueError
        For tails that do not stand before their heads, and for groups that have other numbers of
        parts.
    """
    from structopt.kernels.hypergraph.hypergraph import scratch
    from structopt.kernels.hypergraph.record import HYPERGRAPHS
    from structopt.kernels.hypergraph.sizes import most_active

    parts = part_offsets(groups)
    _check(vertices, edges, left, right, parts)
    record = HYPERGRAPHS.pack(vertices=vertices, edges=edges, left=left, right=right)
    return Structure(
        record=record,
        groups=groups,
        parts=parts,
        kind=HYPERGRAPH,
        memory=np.zeros(len(vertices), np.int64),
        work=scratch(*(int(np.diff(offsets).max(initial=0)) for offsets in (parts, vertices))),
        active=int(most_active(record)),
        part_tokens=part_tokens or {},
    )


def hypergraph_calculus() -> Calculus:
    """Load the closed forms of the marginals of these structures."""
    from structopt.kernels.hypergraph import calculus

    return Calculus(calculus.entropy, calculus.slope, calculus.conditionals)


def hypergraph_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all derivations of hypergraph i."""
    from structopt.kernels.hypergraph.record import HYPERGRAPHS

    h = HYPERGRAPHS.open(structure)
    edges = h.edges[h.vertices[i] : h.vertices[i + 1] + 1]
    span = slice(edges[0], edges[-1])
    return derivations(edges - edges[0], h.left[span], h.right[span], i, parts, most)


def derivations(edges: Array, left: Array, right: Array, i: int, parts: int, most: int) -> Array:
    """Part vectors of all derivations of a hypergraph; `edges` says where those of each vertex
    begin, from 0.
    """
    ends = edges.tolist()
    if len(ends) == 1:
        return np.zeros((0, parts))
    ways = [
        [(e, *(int(tail) for tail in (left[e], right[e]) if tail >= 0)) for e in range(*span)]
        for span in zip(ends[:-1], ends[1:], strict=True)
    ]
    check_count(i, _derivations(ways)[-1], "derivations", most)
    listed: list[list[Array]] = []
    needed = _below_the_root(ways)
    for v, choices in enumerate(ways):
        listed.append([])
        for e, *tails in choices if v in needed else ():
            for below in product(*(listed[tail] for tail in tails)):
                listed[v].append(_vertex(parts, (e, ends[-1] + v), below))
    return np.array(listed[-1]).reshape(-1, parts)


HYPERGRAPH = StructureKind(
    "hypergraph",
    partial(algorithms, "hypergraph.hypergraph", "hypergraph.k_best"),
    hypergraph_vertices,
    lists=True,
)
"""Best derivations, inside-outside, and lazy lists of the k best."""


def _derivations(ways: list[list[tuple[int, ...]]]) -> list[float]:
    """How many derivations every vertex has; an edge is its number and its tails."""
    counts: list[float] = []
    for choices in ways:
        counts.append(
            sum(prod((counts[tail] for tail in tails), start=1.0) for _, *tails in choices)
        )
    return counts


def _below_the_root(ways: list[list[tuple[int, ...]]]) -> set[int]:
    """The vertices that derivations of the root use: each has no more derivations than the root."""
    counts, used = _derivations(ways), {len(ways) - 1}
    for v in range(len(ways) - 1, -1, -1):
        for _, *tails in ways[v] if v in used else ():
            if all(counts[tail] for tail in tails):
                used.update(tails)
    return used


def _vertex(parts: int, own: tuple[int, int], below: tuple[Array, ...]) -> Array:
    """The part vector of an edge and its head above the derivations of its tails."""
    vertex = np.zeros(parts)
    for derivation in below:
        vertex += derivation
    vertex[list(own)] = 1.0
    return vertex


def _check(vertices: Array, edges: Array, left: Array, right: Array, parts: Array) -> None:
    """Refuse what is no layout of hypergraphs."""
    heads = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    heads -= np.repeat(vertices[:-1], np.diff(edges[vertices]))
    for tails in (left, right):
        if len(tails) != len(heads) or (tails >= heads).any():
            raise ValueError(
                "Every edge has two tails that stand before its head, or -1 where it has none."
            )
    if not np.array_equal(np.diff(parts), np.diff(edges[vertices]) + np.diff(vertices)):
        raise ValueError(
            "The groups have other numbers of parts than there are edges and vertices."
        )
