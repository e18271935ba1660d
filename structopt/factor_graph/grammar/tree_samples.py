"""Samples of trees, drawn from the root down by the marginals of a packed forest."""

from __future__ import annotations

import numpy as np

from structopt.core.parts.batch import Batch
from structopt.core.parts.parts import Parts
from structopt.core.parts.ragged import ends_of
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.rules import Rules
from structopt.kernels.waist.record import Array


def forest_scores(scores: Parts, forest: Batch) -> Parts:
    """Return the scores of a grammar as scores of the edges and nodes of a forest."""
    batch, edges, nodes = scores.batch, forest.layout("edge"), forest.layout("node")
    flat = np.zeros(int(forest.offsets[-1]))
    begin, _, split, number = forest.positions("edge").T
    sentence = edges.instances
    own = np.searchsorted(batch.kept, sentence)
    group = np.empty(edges.positions)
    step, tag = split == forests.STEP, split == forests.TAG
    rule, words = ~step & ~tag, ends_of(batch.lengths)[sentence] + begin
    group[rule] = scores["rule"][own[rule], number[rule]]
    group[step] = scores["step"][own[step], number[step]]
    group[tag] = scores["label"][words[tag], number[tag]]
    edges.put(flat, group)
    table = scores.padded("node", 0.0)
    nodes.put(flat, table[(nodes.instances, *nodes.padded_coordinates.T)])
    return Parts(forest, flat, -np.inf)


def drawn_trees(
    forest: Batch, rules: Rules, marginals: Parts, k: int, generator: np.random.Generator
) -> list[Array]:
    """Return k derivations of each sentence, one set of all sentences after the other.

    The part below a node is drawn given the node, independently of all others. The probability of
    an edge given the node above it is the quotient of their marginals.

    Parameters
    ----------
    forest : Batch
    rules : Rules
    marginals : Parts
        Marginals of its edges and nodes.
    k : int
    generator : numpy.random.Generator
    """
    empty = np.zeros((0, 5), np.int64)
    trees = [[empty] * len(forest) for _ in range(k)]
    listed = zip(forest.kept.tolist(), forests.sentences(forest.structure), strict=True)
    users = forest.positions("edge")[:, 3]
    offsets = forest.layout("edge").offsets
    edge_marginals = marginals["edge"]
    for i, (edges, vertices) in listed:
        own = slice(int(offsets[i]), int(offsets[i + 1]))
        sentence = _Sentence(rules, edges, vertices, edge_marginals[own], users[own])
        for copy in trees:
            copy[i] = sentence.drawn(generator)
    return [tree for copy in trees for tree in copy]


class _Sentence:
    """The forest of a sentence, with its edges by the nodes above them."""

    def __init__(
        self,
        rules: Rules,
        edges: forests.Edges,
        vertices: forests.Vertices,
        marginals: Array,
        numbers: Array,
    ) -> None:
        self.rules, self.numbers = rules, numbers
        self.edges, self.begins, self.ends = edges, vertices.begin, vertices.end
        columns = vertices.begin, vertices.end, vertices.above, vertices.symbol
        places = zip(*(column.tolist() for column in columns), strict=True)
        self.vertex = {place: v for v, place in enumerate(places)}
        self.order = np.argsort(edges.head, kind="stable")
        self.first = np.searchsorted(edges.head[self.order], np.arange(len(self.begins) + 1))
        self.weights = np.maximum(marginals, 0.0)[self.order]

    def drawn(self, generator: np.random.Generator) -> Array:
        """Return a derivation, shape (2 n - 1, 5)."""
        n, rows = int(self.ends.max()), list[tuple[int, ...]]()
        stack, binary = [(0, n, 0)], self.rules.binary
        while stack:
            begin, end, symbol = stack.pop()
            step = self._edge(self.vertex[begin, end, True, symbol], generator)
            bottom = int(self.rules.bottoms[self.edges.number[step]])
            edge = self._edge(self.vertex[begin, end, False, bottom], generator)
            split = max(int(self.edges.split[edge]), 0)
            if split:
                left, right = binary[self.edges.number[edge], :2].tolist()
                stack += [(split, end, right), (begin, split, left)]
            rows.append((begin, end, split, int(self.numbers[edge]), int(self.numbers[step])))
        return np.array(rows, np.int64)

    def _edge(self, vertex: int, generator: np.random.Generator) -> int:
        """Draw an edge below a node."""
        first, last = self.first[vertex : vertex + 2].tolist()
        cumulated = np.cumsum(self.weights[first:last])
        place = int(np.searchsorted(cumulated, generator.random() * cumulated[-1], "right"))
        return int(self.order[min(first + place, last - 1)])
