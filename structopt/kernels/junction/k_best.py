"""The k best outputs on graphs of small tree-width, by the hypergraph of `junction`."""

from __future__ import annotations

import numpy as np

from structopt.kernels.hypergraph.k_best import listed
from structopt.kernels.junction.junction import (
    fill_scores,
    hypergraph_of,
    read_states,
    scratch_of,
    write_output,
)
from structopt.kernels.junction.record import open_work
from structopt.kernels.waist.signatures import K_BEST, kernel
from structopt.kernels.waist.target import list_parts


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best outputs in decreasing score, as the signature says; return how many there
    are.
    """
    w, offsets[0] = open_work(work), 0
    t, x = w.trees, w.tables
    graph = t.graph[i]
    buckets = t.buckets[graph + 1] - t.buckets[graph]
    if buckets == 0:
        values[0], offsets[1] = 0.0, 0
        return 1
    g = hypergraph_of(t, graph, x)
    edges = len(g.left)
    scores, marked = x.scores[: edges + len(g.edges) - 1], x.marginals[:edges]
    fill_scores(t, graph, s, x, scores)
    ends, z = np.zeros(k + 1, np.int64), np.empty(len(s))
    chosen, ones = np.empty(2 * buckets * k, np.int32), np.empty(2 * buckets * k)
    found = listed(g, scores, k, values, ends, chosen, ones, scratch_of(x.inside))
    marked[:] = 0.0
    for q in range(found):
        for at in range(ends[q], ends[q + 1]):
            if chosen[at] < edges:
                marked[chosen[at]] = 1.0
        read_states(t, graph, marked, x.state)
        for at in range(ends[q], ends[q + 1]):
            if chosen[at] < edges:
                marked[chosen[at]] = 0.0
        write_output(t, graph, x.state, z)
        offsets[q + 1] = list_parts(z, offsets[q], parts, counts)
    return found
