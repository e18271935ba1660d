"""The edges of packed forests, listed; and the vertices that belong to some complete tree."""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.forest.record import Listing, open_forests
from structopt.kernels.grammar.charts import span_number
from structopt.kernels.waist.signatures import INTS, LONGS, RECORD, inlined, kernel

HEAD, LEFT, RIGHT, NUMBER, SPLIT = range(5)
STEP, TAG = 0, -1
"""The splits of edges that are no rules."""
ROOM = 1 << 16
"""For how many ways there is room at first, where their number is not known."""


@inlined
def list_ways(f, i, made, ways):
    """List the ways to make the vertices of sentence i from each other; return how many, perhaps
    more than there is room.

    Vertices that some way makes are marked in `made`, where none is at first. Ways to make a vertex
    stand before those that use it, and the ways of a span in the order of their splits. O(ways),
    and a look at every split of every span. Inner loops read arrays that have names of their own,
    and hand none to a function: each would be counted as a reference.
    """
    pairs, pair_rules, parent, parents, symbols = (
        f.pairs,
        f.pair_rules,
        f.parent,
        f.parents,
        np.int64(f.symbols),
    )
    bottom_steps, step_top, firsts, bottoms, tops = (
        f.bottom_steps,
        f.step_top,
        f.first,
        f.bottoms,
        f.tops,
    )
    n, first_cell, symbol = (
        f.tokens[i + 1] - f.tokens[i],
        f.spans[i],
        f.symbol[f.vertices[i] : f.vertices[i + 1]],
    )
    place, count, room = np.full(f.symbols, -1, np.int32), 0, len(ways)
    for b in range(n - 1, -1, -1):
        for e in range(b + 1, n + 1):
            cell = first_cell + span_number(n, b, e)
            low = firsts[cell]
            top, high, heads = low + bottoms[cell], low + bottoms[cell] + tops[cell], np.int64(0)
            if low == top:
                continue
            if e == b + 1:
                for v in range(low, top):
                    made[v] = True
                    if count < room:
                        ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = v, -1, -1
                        ways[count, NUMBER], ways[count, SPLIT] = symbol[v], TAG
                    count += 1
            for v in range(low, top):
                place[symbol[v]] = v
                heads |= np.int64(1) << np.int64(symbol[v] & 63)
            for k in range(b + 1, e):
                lower, upper = first_cell + span_number(n, b, k), first_cell + span_number(n, k, e)
                lefts, rights = firsts[lower] + bottoms[lower], firsts[upper] + bottoms[upper]
                if tops[upper] == 0:
                    continue
                for u in range(lefts, lefts + tops[lower]):
                    if not made[u]:
                        continue
                    row = symbol[u] * symbols
                    for v in range(rights, rights + tops[upper]):
                        g = pairs[row + symbol[v]]
                        if g < 0 or parents[g] & heads == 0 or not made[v]:
                            continue
                        for r in range(pair_rules[g], pair_rules[g + 1]):
                            head = place[parent[r]]
                            if head >= 0:
                                made[head] = True
                                if count < room:
                                    ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = (
                                        head,
                                        u,
                                        v,
                                    )
                                    ways[count, NUMBER], ways[count, SPLIT] = r, k
                                count += 1
            for v in range(low, top):
                place[symbol[v]] = -1
            for v in range(top, high):
                place[symbol[v]] = v
            for v in range(low, top):
                if made[v]:
                    for u in range(bottom_steps[symbol[v]], bottom_steps[symbol[v] + 1]):
                        head = place[step_top[u]]
                        if head >= 0:
                            made[head] = True
                            if count < room:
                                ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = (
                                    head,
                                    v,
                                    -1,
                                )
                                ways[count, NUMBER], ways[count, SPLIT] = u, STEP
                            count += 1
            for v in range(top, high):
                place[symbol[v]] = -1
    return count


@inlined
def edges_of(f, i):
    """List the edges of sentence i, sorted by the vertices above them; all its vertices belong to
    some tree.
    """
    V, E = f.vertices[i + 1] - f.vertices[i], f.edges[i + 1] - f.edges[i]
    ways, edges, free = np.empty((E, 5), np.int32), np.zeros(V + 1, np.int64), np.empty(V, np.int64)
    left, right, number, split = (
        np.empty(E, np.int32),
        np.empty(E, np.int32),
        np.empty(E, np.int32),
        np.empty(E, np.int32),
    )
    list_ways(f, i, np.zeros(V, np.bool_), ways)
    for q in range(E):
        edges[ways[q, HEAD] + 1] += 1
    for v in range(V):
        free[v] = edges[v]
        edges[v + 1] += edges[v]
    for q in range(E):
        v = ways[q, HEAD]
        at = free[v]
        free[v] = at + 1
        left[at], right[at], number[at], split[at] = (
            ways[q, LEFT],
            ways[q, RIGHT],
            ways[q, NUMBER],
            ways[q, SPLIT],
        )
    return Listing(edges, left, right, number, split)


@inlined
def listing(structure, i):
    """The same, given the record."""
    return edges_of(open_forests(structure), i)


@inlined
def mark_root(f, i, used):
    """Mark the vertex of the root over the whole sentence, if there is one."""
    n = f.tokens[i + 1] - f.tokens[i]
    whole = f.spans[i] + span_number(n, 0, n)
    tops = f.first[whole] + f.bottoms[whole]
    for v in range(tops, tops + f.tops[whole]):
        if f.symbol[f.vertices[i] + v] == f.root:
            used[v] = True


@kernel(types.void(RECORD, LONGS, types.boolean[::1]))
def find_useful(structure, edges, used):
    """Mark the vertices that belong to some complete tree, and write where the edges between them
    begin.

    Parameters
    ----------
    structure : Record
        Of forests of any vertices; their edges are not looked at.
    edges : int64, shape (m + 1,)
    used : bool, shape (all vertices,)
        False on entry.
    """
    f, ways = open_forests(structure), np.empty((ROOM, 5), np.int32)
    edges[0] = 0
    for i in range(len(f.tokens) - 1):
        own = used[f.vertices[i] : f.vertices[i + 1]]
        listed = list_ways(f, i, np.zeros(len(own), np.bool_), ways)
        if listed > len(ways):
            ways = np.empty((listed + listed // 2, 5), np.int32)
            list_ways(f, i, np.zeros(len(own), np.bool_), ways)
        mark_root(f, i, own)
        edges[i + 1] = edges[i]
        for q in range(listed - 1, -1, -1):
            if own[ways[q, HEAD]]:
                edges[i + 1] += 1
                for side in (LEFT, RIGHT):
                    if ways[q, side] >= 0:
                        own[ways[q, side]] = True
        if edges[i + 1] == edges[i]:
            own[:] = False  # the root, of which there is no way


@kernel(types.void(RECORD, types.int64, INTS, INTS, INTS))
def write_edges(structure, i, head, number, split):
    """Write the vertex above each edge of sentence i, and what `Listing` says of it."""
    x = listing(structure, i)
    for v in range(len(x.edges) - 1):
        head[x.edges[v] : x.edges[v + 1]] = v
    number[:], split[:] = x.number, x.split


@kernel(types.void(RECORD, types.int64, INTS, INTS, types.boolean[::1]))
def write_vertices(structure, i, begin, end, above):
    """Write the span of each vertex of sentence i, and whether it stands above the step."""
    f = open_forests(structure)
    n = f.tokens[i + 1] - f.tokens[i]
    for b in range(n):
        for e in range(b + 1, n + 1):
            cell = f.spans[i] + span_number(n, b, e)
            first, tops = f.first[cell], f.first[cell] + f.bottoms[cell]
            last = tops + f.tops[cell]
            begin[first:last], end[first:last] = b, e
            above[first:tops], above[tops:last] = False, True


@inlined
def edge_of(x, v, number, split):
    """The edge of a vertex with a number and a split; -1 for none."""
    for at in range(x.edges[v], x.edges[v + 1]):
        if x.number[at] == number and x.split[at] == split:
            return at
    return -1


@kernel(types.void(RECORD, LONGS, types.int64[:, ::1], types.int32[:, ::1]))
def find_parts(structure, offsets, spans, parts):
    """Find the parts of given trees.

    Parameters
    ----------
    structure : Record
    offsets : int64, shape (m + 1,)
        Where the spans of each sentence's tree begin.
    spans : int64, shape (all spans, 7)
        Begin, end, split (-1 of a word), number of the rule or of the tag's symbol, bottom, number
        of the step, top.
    parts : int32, shape (all spans, 4)
        Receives the edge below the bottom, the bottom, the step's edge and the top, as numbers
        among the parts of the sentence; -1 for what the forest does not have.
    """
    f = open_forests(structure)
    for i in range(len(offsets) - 1):
        n, E = f.tokens[i + 1] - f.tokens[i], f.edges[i + 1] - f.edges[i]
        x, symbol = edges_of(f, i), f.symbol[f.vertices[i] : f.vertices[i + 1]]
        for q in range(offsets[i], offsets[i + 1]):
            b, e, split, number, bottom, step, top = spans[q]
            cell = f.spans[i] + span_number(n, b, e)
            first, tops = f.first[cell], f.first[cell] + f.bottoms[cell]
            parts[q] = -1
            for v in range(first, tops + f.tops[cell]):
                if v < tops and symbol[v] == bottom:
                    parts[q, 0], parts[q, 1] = edge_of(x, v, number, split), E + v
                elif v >= tops and symbol[v] == top:
                    parts[q, 2], parts[q, 3] = edge_of(x, v, step, STEP), E + v
