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
ROOM = 1 << 12
"""For how many ways to make the symbols of one span there is room at first."""


@inlined
def list_bottoms(grammar, cells, symbol, first_cell, n, b, e, made, place, ways):
    """List the ways to make the bottoms of a span from vertices that are made; return how many, perhaps more than have room.

    Parameters
    ----------
    grammar : tuple of arrays
        See `grammar_of`: inner loops read arrays with names of their own faster than fields of a record.
    cells : tuple of arrays
        First vertices, bottoms and tops of all spans.
    symbol : of the vertices of the sentence
    first_cell : the number of the sentence's first span
    n, b, e : words of the sentence, and the span's ends
    made : which vertices are made
    place : -1 for each symbol, before and after
    """
    pairs, pair_rules, parent, parents, _, _, symbols = grammar
    firsts, bottoms, tops = cells
    cell, count, room = first_cell + span_number(n, b, e), 0, len(ways)
    first, last = firsts[cell], firsts[cell] + bottoms[cell]
    if e == b + 1:
        for v in range(first, last):
            if count < room:
                ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = v, -1, -1
                ways[count, NUMBER], ways[count, SPLIT] = symbol[v], TAG
            count += 1
    else:
        heads = np.int64(0)
        for v in range(first, last):
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
                            if count < room:
                                ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = head, u, v
                                ways[count, NUMBER], ways[count, SPLIT] = r, k
                            count += 1
        for v in range(first, last):
            place[symbol[v]] = -1
    return count


@inlined
def list_steps(grammar, cells, symbol, cell, made, place, ways):
    """List the ways to make the tops of a span from bottoms that are made; return how many."""
    _, _, _, _, bottom_steps, step_top, _ = grammar
    firsts, bottoms, tops = cells
    count, room, first, top = 0, len(ways), firsts[cell], firsts[cell] + bottoms[cell]
    for v in range(top, top + tops[cell]):
        place[symbol[v]] = v
    for v in range(first, top):
        if made[v]:
            for u in range(bottom_steps[symbol[v]], bottom_steps[symbol[v] + 1]):
                head = place[step_top[u]]
                if head >= 0:
                    if count < room:
                        ways[count, HEAD], ways[count, LEFT], ways[count, RIGHT] = head, v, -1
                        ways[count, NUMBER], ways[count, SPLIT] = u, STEP
                    count += 1
    for v in range(top, top + tops[cell]):
        place[symbol[v]] = -1
    return count


@inlined
def put_ways(edges, left, right, number, split, ways, count, first, last, free):
    """Append the first ways, to make the vertices first <= v < last, to the listing, sorted by them; else in their order."""
    for q in range(count):
        edges[ways[q, HEAD] + 1] += 1
    for v in range(first, last):
        free[v] = edges[v]
        edges[v + 1] += edges[v]
    for q in range(count):
        v = ways[q, HEAD]
        at = free[v]
        free[v] = at + 1
        left[at], right[at], number[at], split[at] = ways[q, LEFT], ways[q, RIGHT], ways[q, NUMBER], ways[q, SPLIT]


@inlined
def grammar_of(f):
    """The rules and steps as arrays."""
    return f.pairs, f.pair_rules, f.parent, f.parents, f.bottom_steps, f.step_top, np.int64(f.symbols)


@inlined
def cells_of(f):
    """The vertices of spans as arrays."""
    return f.first, f.bottoms, f.tops


@inlined
def edges_of(f, i):
    """List the edges of sentence i; all its vertices belong to some tree. O(edges), and a look at every split of every span."""
    n, V, E = f.tokens[i + 1] - f.tokens[i], f.vertices[i + 1] - f.vertices[i], f.edges[i + 1] - f.edges[i]
    edges, left, right = np.zeros(V + 1, np.int64), np.empty(E, np.int32), np.empty(E, np.int32)
    number, split = np.empty(E, np.int32), np.empty(E, np.int32)
    made, place = np.ones(V, np.bool_), np.full(f.symbols, -1, np.int32)
    ways, free = np.empty((E, 5), np.int32), np.zeros(V, np.int64)
    grammar, cells, first_cell = grammar_of(f), cells_of(f), f.spans[i]
    symbol, (first, bottoms, tops) = f.symbol[f.vertices[i] : f.vertices[i + 1]], cells
    for b in range(n - 1, -1, -1):
        for e in range(b + 1, n + 1):
            cell = first_cell + span_number(n, b, e)
            if bottoms[cell] > 0:
                low = first[cell]
                top = low + bottoms[cell]
                count = list_bottoms(grammar, cells, symbol, first_cell, n, b, e, made, place, ways)
                put_ways(edges, left, right, number, split, ways, count, low, top, free)
                count = list_steps(grammar, cells, symbol, cell, made, place, ways)
                put_ways(edges, left, right, number, split, ways, count, top, top + tops[cell], free)
    return Listing(edges, left, right, number, split)


@inlined
def listing(structure, i):
    """The same, given the record."""
    return edges_of(open_forests(structure), i)


@inlined
def list_layer(f, i, n, b, e, tops, made, place, ways):
    """List the ways to make the tops of a span (1) or its bottoms (0), in more room where needed; return room and number."""
    grammar, cells, symbol = grammar_of(f), cells_of(f), f.symbol[f.vertices[i] : f.vertices[i + 1]]
    while True:
        if tops:
            listed = list_steps(grammar, cells, symbol, f.spans[i] + span_number(n, b, e), made, place, ways)
        else:
            listed = list_bottoms(grammar, cells, symbol, f.spans[i], n, b, e, made, place, ways)
        if listed <= len(ways):
            return ways, listed
        ways = np.empty((2 * listed, 5), np.int32)


@inlined
def mark_made(f, i, made, place, ways):
    """Mark the vertices of which all that is below can be made; return the room for ways."""
    n = f.tokens[i + 1] - f.tokens[i]
    for b in range(n - 1, -1, -1):
        for e in range(b + 1, n + 1):
            for tops in range(2):
                ways, listed = list_layer(f, i, n, b, e, tops, made, place, ways)
                for q in range(listed):
                    made[ways[q, HEAD]] = True
    return ways


@inlined
def mark_used(f, i, made, used, place, ways):
    """Mark the vertices of complete trees, given those that can be made; return the room for ways, and the number of edges."""
    n, count = f.tokens[i + 1] - f.tokens[i], 0
    whole = f.spans[i] + span_number(n, 0, n)
    tops = f.first[whole] + f.bottoms[whole]
    for v in range(tops, tops + f.tops[whole]):
        used[v] = made[v] and f.symbol[f.vertices[i] + v] == f.root
    for b in range(n):
        for e in range(n, b, -1):
            for layer in range(2):
                ways, listed = list_layer(f, i, n, b, e, 1 - layer, made, place, ways)
                for q in range(listed):
                    if used[ways[q, HEAD]]:
                        count += 1
                        for side in (LEFT, RIGHT):
                            if ways[q, side] >= 0:
                                used[ways[q, side]] = True
    return ways, count


@kernel(types.void(RECORD, LONGS, types.boolean[::1]))
def find_useful(structure, edges, used):
    """Mark the vertices that belong to some complete tree, and write where the edges between them begin.

    Parameters
    ----------
    structure : Record
        Of forests of any vertices; their edges are not looked at.
    edges : int64, shape (m + 1,)
    used : bool, shape (all vertices,)
        False on entry.
    """
    f = open_forests(structure)
    ways, place = np.empty((ROOM, 5), np.int32), np.full(f.symbols, -1, np.int32)
    edges[0] = 0
    for i in range(len(f.tokens) - 1):
        own = used[f.vertices[i] : f.vertices[i + 1]]
        made = np.zeros(len(own), np.bool_)
        ways = mark_made(f, i, made, place, ways)
        ways, count = mark_used(f, i, made, own, place, ways)
        edges[i + 1] = edges[i] + count


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
        Begin, end, split (-1 of a word), number of the rule or of the tag's symbol, bottom, number of the step, top.
    parts : int32, shape (all spans, 4)
        Receives the edge below the bottom, the bottom, the step's edge and the top, as numbers among the parts of the sentence;
        -1 for what the forest does not have.
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
