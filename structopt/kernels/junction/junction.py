"""Exact inference on graphs of small tree-width, whose hypergraph is listed first; then as on any
acyclic hypergraph.

The hypergraph of a graph stays in the scratch until an instance with another graph is visited.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.hypergraph.hypergraph import solved
from structopt.kernels.hypergraph.record import Hypergraph
from structopt.kernels.junction.record import open_work
from structopt.kernels.junction.tables import fill_index, fill_table, sum_out
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel


@inlined
def scratch_of(inside):
    """The work record of hypergraphs, with these inside scores."""
    at = np.array([0, 0, 0, 0, len(inside)])
    return Record(np.empty(0, np.int32), np.empty(0, np.int64), inside, at)


@inlined
def list_edges(t, graph, x):
    """Write the edges of the hypergraph of a graph, unless they are there."""
    if x.known[0] == graph + 1:
        return
    first, x.known[0], x.starts[0] = t.buckets[graph], graph + 1, 0
    left, right, starts = x.left, x.right, x.starts
    for b in range(first, t.buckets[graph + 1]):
        widths = t.widths[t.digits[b] : t.digits[b + 1]]
        begin, end, below = t.edge[b], t.edge[b] + t.cells[b], t.left[b]
        left[begin:end], right[begin:end] = -1, -1
        if below >= 0:
            strides = t.left_strides[t.digits[b] : t.digits[b + 1]]
            fill_index(widths, strides, t.vertex[first + below], left[begin:end])
        below = t.right[b]
        if below >= 0:
            strides = t.right_strides[t.digits[b] : t.digits[b + 1]]
            fill_index(widths, strides, t.vertex[first + below], right[begin:end])
        for v in range(t.cells[b] // widths[0]):
            starts[t.vertex[b] + v + 1] = begin + (v + 1) * widths[0]


@inlined
def hypergraph_of(t, graph, x):
    """The hypergraph of a graph, which has variables."""
    list_edges(t, graph, x)
    last = t.buckets[graph + 1] - 1
    edges = t.edge[last] + t.cells[last]
    return Hypergraph(x.starts[: t.vertex[last] + 2], x.left[:edges], x.right[:edges])


@inlined
def fill_scores(t, graph, s, x, scores):
    """Fill in the scores of edges from the scores of parts; vertices score 0."""
    scores[:] = 0.0
    for b in range(t.buckets[graph], t.buckets[graph + 1]):
        table = scores[t.edge[b] : t.edge[b] + t.cells[b]]
        fill_table(t, b, s, table, x.places, x.values)


@inlined
def read_states(t, graph, marked, state):
    """Read the states of the variables off the edges that are marked, one of each bucket."""
    for b in range(t.buckets[graph + 1] - 1, t.buckets[graph] - 1, -1):
        first, last = t.digits[b], t.digits[b + 1]
        if t.variables[first] < 0:
            continue
        edge, size = t.edge[b], np.int64(t.widths[first])
        for d in range(first + 1, last):
            edge += size * state[t.variables[d]]
            size *= t.widths[d]
        for y in range(t.widths[first]):
            if marked[edge + y] != 0.0:
                state[t.variables[first]] = y


@inlined
def write_output(t, graph, state, z):
    """Write the indicators of the parts of an output, given the states of the variables."""
    z[:] = 0.0
    for b in range(t.buckets[graph], t.buckets[graph + 1]):
        for term in range(t.terms[b], t.terms[b + 1]):
            c, first = np.int64(0), t.strides[term]
            for d in range(t.strides[term + 1] - first):
                c += np.int64(t.stride[first + d]) * state[t.variables[t.digits[b] + d]]
            if t.part[term] >= 0:
                z[t.part[term] + c] = 1.0
            else:
                at = t.lists[term] + c
                for q in range(t.ends[at], t.ends[at + 1]):
                    z[t.listed[q]] = 1.0


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over outputs, and its maximiser z; O(cells).

    Returns -inf, with z = 0, if no output has a finite score.
    """
    w, z[:] = open_work(work), 0.0
    t, x = w.trees, w.tables
    graph = t.graph[i]
    if t.buckets[graph] == t.buckets[graph + 1]:
        return 0.0
    g = hypergraph_of(t, graph, x)
    parts = len(g.left) + len(g.edges) - 1
    scores, marginals = x.scores[:parts], x.marginals[:parts]
    fill_scores(t, graph, s, x, scores)
    value = solved(g, scores, temperature, marginals, scratch_of(x.inside))
    if value == -inf:
        return value
    if temperature == 0.0:
        read_states(t, graph, marginals, x.state)
        write_output(t, graph, x.state, z)
        return value
    for b in range(t.buckets[graph], t.buckets[graph + 1]):
        table = marginals[t.edge[b] : t.edge[b] + t.cells[b]]
        sum_out(t, b, table, z, x.places, x.values)
    return value
