"""Small random hypergraphs over the spans of sentences: no derivation reaches a vertex in two
ways.
"""

import numpy as np

from structopt.core.data.structure import PartGroup
from structopt.factor_graph.hypergraph import hypergraph_structure

SHAPES = ((1, 1), (1, 3), (2, 2), (3, 2), (4, 2), (5, 1))
"""Words and symbols of each instance."""


def ways_of(generator, n, symbols):
    """Tails of the edges of every vertex of one sentence; vertices are spans with a symbol, by
    their widths.
    """
    number, ways = {}, []
    for width in range(1, n + 1):
        for b in range(n - width + 1):
            for symbol in range(symbols):
                options = [
                    (number[b, b + width, lower], -1)
                    for lower in range(symbol)
                    if generator.random() < 0.5
                ]
                if width == 1:
                    options += [(-1, -1)] * int(generator.integers(1, 3))
                for split in range(b + 1, b + width):
                    tails = [
                        (number[b, split, y], number[split, b + width, z])
                        for y in range(symbols)
                        for z in range(symbols)
                    ]
                    options += [one for one in tails if generator.random() < 0.6]
                number[b, b + width, symbol] = len(ways)
                ways.append([options[k] for k in generator.permutation(len(options))])
    return ways


def packed(listed):
    """The structure of instances that are lists of vertices, which are lists of edges, which are
    pairs of tails.
    """
    vertices = np.cumsum([0, *map(len, listed)]).astype(np.int64)
    edges = np.cumsum([0, *(len(ways) for instance in listed for ways in instance)]).astype(
        np.int64
    )
    tails = np.array(
        [tail for instance in listed for ways in instance for tail in ways], np.int32
    ).reshape(-1, 2)
    groups = PartGroup("edge", 1, edges[vertices]), PartGroup("vertex", 1, vertices)
    return hypergraph_structure(
        vertices,
        edges,
        np.ascontiguousarray(tails[:, 0]),
        np.ascontiguousarray(tails[:, 1]),
        groups,
    )


def random_ways(seed, shapes=SHAPES):
    """One instance of every shape, each with a derivation, as lists for `packed`."""
    generator, listed = np.random.default_rng(seed), []
    while len(listed) < len(shapes):
        ways = ways_of(generator, *shapes[len(listed)])
        structure = packed([ways])
        if len(structure.kind.vertices(structure.record, 0, int(structure.parts[1]), 10_000)):
            listed.append(ways)
    return listed


def random_structure(seed, shapes=SHAPES):
    """The structure of `random_ways`."""
    return packed(random_ways(seed, shapes))
