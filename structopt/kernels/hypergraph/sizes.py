"""How many parts derivations have."""

from __future__ import annotations

import numpy as np

from structopt.kernels.hypergraph.record import hypergraph_of, open_hypergraphs
from structopt.kernels.waist.signatures import inlined


@inlined
def most_active(structure):
    """The most parts that a derivation of any instance has."""
    h, most = open_hypergraphs(structure), 0
    for i in range(len(h.vertices) - 1):
        g = hypergraph_of(h, i)
        sizes = np.zeros(len(g.edges), np.int64)
        for v in range(len(g.edges) - 1):
            for e in range(g.edges[v] - g.edges[0], g.edges[v + 1] - g.edges[0]):
                left = sizes[g.left[e]] if g.left[e] >= 0 else 0
                right = sizes[g.right[e]] if g.right[e] >= 0 else 0
                sizes[v] = max(sizes[v], 2 + left + right)
        most = max(most, sizes[len(g.edges) - 2] if len(g.edges) > 1 else 0)
    return most
