"""The chart of a sentence as an acyclic hypergraph: its nodes and the ways to make them that belong to some complete tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.grammar.charts import open_charts, span_number
from structopt.kernels.waist.signatures import inlined

TAG, STEP, RULE = 0, 1, 2
HEAD, LEFT, RIGHT, KIND, NUMBER, PLACE, SPLIT = range(7)
ROOM = 1 << 16
"""For how many edges there is room at first."""


class Hyperedges(NamedTuple):
    """The hypergraph of one sentence: V vertices, by the widths of their spans, bottoms before tops; E edges, by their heads.

    Attributes
    ----------
    nodes : int32, shape (V,)
        The node of the chart that each vertex is.
    edges : int64, shape (V + 1,)
        Where the edges of each vertex begin.
    left, right : int32, shape (E,)
        Vertices below each edge; -1: none.
    kind : int32, shape (E,)
        `TAG`, `STEP` or `RULE`.
    number : int32, shape (E,)
        Of the tag, the unary step, or the binary rule.
    place : int32, shape (E,)
        Position of the word below a tag; else number of the span.
    split : int32, shape (E,)
        Where the right half begins, below a rule; else 0.
    """

    nodes: np.ndarray
    edges: np.ndarray
    left: np.ndarray
    right: np.ndarray
    kind: np.ndarray
    number: np.ndarray
    place: np.ndarray
    split: np.ndarray


class Listing(NamedTuple):
    """The ways to make the nodes of a chart bottom-up.

    Attributes
    ----------
    used : (1,) how many edges there are; perhaps more than there is room for
    edges : (room, 7) nodes of head and tails, kind, number, place, and split
    reached : (nodes,) whether something makes the node
    bottom, top : (N,) nodes of the bottom symbols of one span, and of the top symbols of another, by symbol; -1: none
    """

    used: np.ndarray
    edges: np.ndarray
    reached: np.ndarray
    bottom: np.ndarray
    top: np.ndarray


@inlined
def hyperedges(structure, i):
    """List the edges of the chart of sentence i that belong to some tree; there are no vertices where it has no tree."""
    return edges_of(structure, i, ROOM)


@inlined
def edges_of(structure, i, room):
    """Do the same, with room for so many edges at first."""
    c = open_charts(structure)
    n, final = c.tokens[i + 1] - c.tokens[i], c.spans[i + 1] - 1
    whole, nodes = c.spans[i] + span_number(n, 0, n), c.node[final] + c.bottoms[final] + c.tops[final]
    while True:
        x = Listing(
            np.zeros(1, np.int64), np.empty((room, 7), np.int32), np.zeros(nodes, np.bool_),
            np.full(c.symbols, -1, np.int32), np.full(c.symbols, -1, np.int32),
        )  # fmt: skip
        list_upwards(c, i, n, x)
        if x.used[0] <= room:
            break
        room = x.used[0]
    set_nodes(c, whole, c.bottoms[whole], c.bottoms[whole] + c.tops[whole], x.top)
    return number_vertices(c, i, n, x, keep_downwards(x, x.top[c.root]))


@inlined
def list_upwards(c, i, n, x):
    """List the ways to make each node of which all that is below is made, by the widths of spans."""
    for width in range(1, n + 1):
        for b in range(n - width + 1):
            cell = c.spans[i] + span_number(n, b, b + width)
            if width == 1:
                add_tags(c, cell, b, x)
            else:
                set_nodes(c, cell, 0, c.bottoms[cell], x.bottom)
                for split in range(b + 1, b + width):
                    add_rules(c, i, n, b, split, b + width, x)
                unset_nodes(c, cell, 0, c.bottoms[cell], x.bottom)
            add_steps(c, cell, span_number(n, b, b + width), x)


@inlined
def set_nodes(c, cell, begin, end, nodes):
    """Note the nodes begin..end - 1 of a span by their symbols."""
    for v in range(begin, end):
        nodes[c.node_symbols[c.first[cell] + v]] = c.node[cell] + v


@inlined
def unset_nodes(c, cell, begin, end, nodes):
    """Undo `set_nodes`."""
    for v in range(begin, end):
        nodes[c.node_symbols[c.first[cell] + v]] = -1


@inlined
def add_edge(x, head, left, right, kind, number, place, split):
    """List an edge, if there is room, and count it."""
    q = x.used[0]
    x.used[0] = q + 1
    x.reached[head] = True
    if q < len(x.edges):
        of = x.edges[q]
        of[HEAD], of[LEFT], of[RIGHT], of[KIND], of[NUMBER], of[PLACE], of[SPLIT] = head, left, right, kind, number, place, split


@inlined
def add_tags(c, cell, position, x):
    """List the tags of a word."""
    for v in range(c.bottoms[cell]):
        for t in range(c.tags):
            if c.tag_symbol[t] == c.node_symbols[c.first[cell] + v]:
                add_edge(x, c.node[cell] + v, -1, -1, TAG, t, position, 0)


@inlined
def add_rules(c, i, n, b, split, e, x):
    """List the rules above two spans."""
    lower, upper = c.spans[i] + span_number(n, b, split), c.spans[i] + span_number(n, split, e)
    begin, end, span = c.bottoms[upper], c.bottoms[upper] + c.tops[upper], span_number(n, b, e)
    if c.tops[lower] == 0 or begin == end:
        return
    set_nodes(c, upper, begin, end, x.top)
    for v in range(c.bottoms[lower], c.bottoms[lower] + c.tops[lower]):
        left, symbol = c.node[lower] + v, c.node_symbols[c.first[lower] + v]
        if not x.reached[left]:
            continue
        for g in range(c.left_pairs[symbol], c.left_pairs[symbol + 1]):
            right = x.top[c.right[g]]
            if right < 0 or not x.reached[right]:
                continue
            for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                head = x.bottom[c.parent[r]]
                if head >= 0:
                    add_edge(x, head, left, right, RULE, r, span, split)
    unset_nodes(c, upper, begin, end, x.top)


@inlined
def add_steps(c, cell, span, x):
    """List the unary steps of a span."""
    begin, end = c.bottoms[cell], c.bottoms[cell] + c.tops[cell]
    set_nodes(c, cell, begin, end, x.top)
    for v in range(begin):
        if x.reached[c.node[cell] + v]:
            symbol = c.node_symbols[c.first[cell] + v]
            for u in range(c.bottom_steps[symbol], c.bottom_steps[symbol + 1]):
                head = x.top[c.step_top[u]]
                if head >= 0:
                    add_edge(x, head, c.node[cell] + v, -1, STEP, u, span, 0)
    unset_nodes(c, cell, begin, end, x.top)


@inlined
def keep_downwards(x, root):
    """How many edges of trees every node has: the root is reached from them. Edges are listed after those below them."""
    counts, used = np.zeros(len(x.reached) + 1, np.int64), np.zeros(len(x.reached), np.bool_)
    if root >= 0:
        used[root] = True
    for q in range(x.used[0] - 1, -1, -1):
        head = x.edges[q, HEAD]
        if used[head]:
            counts[head] += 1
            for side in (LEFT, RIGHT):
                if x.edges[q, side] >= 0:
                    used[x.edges[q, side]] = True
    return counts


@inlined
def number_vertices(c, i, n, x, counts):
    """Number the nodes that trees have, and sort the edges by their heads."""
    vertex = np.full(len(x.reached), -1, np.int64)
    nodes, edges, vertices = np.empty(len(vertex), np.int32), np.zeros(len(vertex) + 1, np.int64), 0
    for width in range(1, n + 1):
        for b in range(n - width + 1):
            cell = c.spans[i] + span_number(n, b, b + width)
            for v in range(c.node[cell], c.node[cell] + c.bottoms[cell] + c.tops[cell]):
                if counts[v] > 0:
                    vertex[v], nodes[vertices] = vertices, v
                    edges[vertices + 1] = edges[vertices] + counts[v]
                    vertices += 1
    kept = edges[vertices]
    columns, free = np.empty((7, kept), np.int32), edges.copy()
    for q in range(x.used[0]):
        of = x.edges[q]
        head = vertex[of[HEAD]]
        if head >= 0:
            columns[LEFT, free[head]] = vertex[of[LEFT]] if of[LEFT] >= 0 else -1
            columns[RIGHT, free[head]] = vertex[of[RIGHT]] if of[RIGHT] >= 0 else -1
            for column in range(KIND, 7):
                columns[column, free[head]] = of[column]
            free[head] += 1
    return Hyperedges(
        nodes[:vertices].copy(), edges[: vertices + 1].copy(), columns[LEFT], columns[RIGHT], columns[KIND], columns[NUMBER],
        columns[PLACE], columns[SPLIT],
    )  # fmt: skip
