"""Charts whose rules and steps all have parts of their own, as hypergraphs: for methods with duals of single factors."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure
from structopt.factor_graph.grammar.charts import span_number
from structopt.factor_graph.grammar.constituents import Uses, by_span
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.hypergraph import hypergraph_structure
from structopt.factor_graph.ragged import ends_of
from structopt.kernels.waist.record import Array, Record

TAG, STEP, RULE = range(3)


class Edges(NamedTuple):
    """The edges of the charts of all sentences: what each is.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    kind : int64
        `TAG`, `STEP` or `RULE`.
    number : int64
        Of the tag, the step, or the rule.
    place : int64
        Position of the word; else the number of the span.
    split : int64
        Where the right half begins, below a rule; else 0.
    """

    offsets: Array
    kind: Array
    number: Array
    place: Array
    split: Array

    def keys(self, kind: Array, sentence: Array, number: Array, place: Array, split: Array) -> Array:
        """Numbers that tell edges apart."""
        sizes = [int(one.max(initial=0)) + 2 for one in (self.number, self.place, self.split)]
        key = sentence * 3 + kind
        for size, one in zip(sizes, (number, place, split), strict=True):
            key = key * size + np.minimum(one, size - 1)
        return np.asarray(key)

    def find(self, kind: Array, sentence: Array, number: Array, place: Array, split: Array) -> Array:
        """The edges, numbered over all sentences, that are these; -1 for none."""
        of = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        own = self.keys(self.kind, of, self.number, self.place, self.split)
        order = np.argsort(own, kind="stable")
        wanted = self.keys(kind, sentence, number, place, split)
        at = np.minimum(np.searchsorted(own[order], wanted), max(len(own) - 1, 0))
        return np.where(own[order[at]] == wanted, order[at], -1) if len(own) else np.full(len(wanted), -1)


def positional_structure(charts: Record, trees: EncodedConstituents, rules: Rules) -> Structure:
    """The hypergraphs of charts: a part for every use of a rule or step at its place, and for every tag of a word."""
    from structopt.kernels.grammar.hyperedges import hyperedges

    graphs = [hyperedges(charts, i) for i in range(len(trees))]
    edge_offsets = ends_of(np.array([len(g.left) for g in graphs]))
    vertex_offsets = ends_of(np.array([len(g.nodes) for g in graphs]))
    starts = [np.zeros(1, np.int64), *(g.edges[1:] + shift for g, shift in zip(graphs, edge_offsets.tolist(), strict=False))]
    columns = [np.concatenate([np.zeros(0, np.int64), *(g[k].astype(np.int64) for g in graphs)]) for k in range(4, 8)]
    edges = Edges(edge_offsets, *columns)
    table = trees.tables["label"]
    layout = ("rule", len(rules.binary), 1), ("step", len(rules.chains), 1), ("label", len(rules.tags), table.size)
    groups = (
        PartGroup("edge", 1, edge_offsets, weights=layout),
        PartGroup("node", 1, vertex_offsets, scored=False),
    )
    none = np.zeros(0, np.int32)
    structure = hypergraph_structure(
        vertex_offsets, np.concatenate(starts), np.concatenate([none, *(g.left for g in graphs)]),
        np.concatenate([none, *(g.right for g in graphs)]), groups, {"edge": np.stack(edges[1:], axis=1)},
    )  # fmt: skip
    return replace(structure, attributes={"edge": _weights(edges, trees, rules)})


def edges_of(structure: Structure) -> Edges:
    """What the edges of positional charts are."""
    return Edges(structure.spans("edge")[1], *np.ascontiguousarray(structure.part_tokens["edge"].T))


def _weights(edges: Edges, trees: EncodedConstituents, rules: Rules) -> AttributeTable:
    """The number of each edge's weight, among those of rules, steps, and words with tags; a word that is not known has none."""
    table, R, U, T = trees.tables["label"], len(rules.binary), len(rules.chains), len(rules.tags)
    sentence = np.repeat(np.arange(len(trees)), np.diff(edges.offsets))
    tags = edges.kind == TAG
    word = trees.offsets[sentence[tags]] + edges.place[tags]
    known = np.diff(table.offsets)[word] > 0
    ids = np.where(edges.kind == STEP, R + edges.number, edges.number)
    attribute = np.append(table.ids, 0)[table.offsets[:-1][word]]
    ids[tags] = R + U + attribute * T + edges.number[tags]
    kept = np.ones(len(ids), bool)
    kept[np.flatnonzero(tags)[~known]] = False
    offsets = ends_of(kept.astype(np.int64))
    return AttributeTable(offsets, ids[kept].astype(np.int32), None, R + U + table.size * T)


def gold_edges(structure: Structure, uses: Uses, trees: EncodedConstituents) -> Array:
    """The edges of the gold trees, over all sentences: of each span the rule or the tag below its step, and the step.

    Shape (spans, 2), in the order of the uses.
    """
    assert trees.gold is not None
    edges, sentence = edges_of(structure), uses.sentence
    span = span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end)
    word, none = uses.split == 0, np.zeros(len(span), np.int64)
    number, place = np.where(word, 0, uses.rule), np.where(word, uses.begin, span)
    number[word] = trees.gold[trees.offsets[sentence[word]] + uses.begin[word]]
    below = edges.find(np.where(word, TAG, RULE), sentence, number, place, uses.split)
    gold = np.stack([below, edges.find(none + STEP, sentence, uses.step, span, none)], axis=1)
    assert (gold >= 0).all(), "a gold rule is no candidate"
    return gold


def parts_of(structure: Structure, edges: Array) -> tuple[Array, Array, Array]:
    """The sentence of each edge, its part, and that of the vertex above it."""
    from structopt.kernels.hypergraph.record import HYPERGRAPHS

    offsets, vertices = structure.spans("edge")[1], structure.spans("node")[1]
    h = HYPERGRAPHS.open(structure.record)
    heads = np.repeat(np.arange(len(h.edges) - 1), np.diff(h.edges))[edges]
    sentence = np.searchsorted(offsets, edges, side="right") - 1
    return sentence, edges - offsets[sentence], np.diff(offsets)[sentence] + heads - vertices[sentence]


def gold_of_edges(structure: Structure, gold: Array) -> SparseVectors:
    """The gold edges and the vertices above them."""
    sentence, edge, vertex = parts_of(structure, gold.ravel())
    return SparseVectors.of_parts(np.concatenate([sentence, sentence]), np.concatenate([edge, vertex]), len(structure))


def cost_of_edges(structure: Structure, uses: Uses, gold: Array, weights: Array, nodes: bool) -> SparseVectors:
    """Costs of missing gold rules and steps, given in the order of the uses, the step of a span before its rule.

    Of nodes, in the order of the numbers of spans, the node below the step before the one above.
    """
    if nodes:
        order = by_span(uses)
        sentence, _, vertex = parts_of(structure, gold[order].ravel())
        return _sparse(sentence, vertex, -weights, len(structure))
    rules = uses.split > 0
    both = np.stack([gold[:, 1], np.where(rules, gold[:, 0], -1)], axis=1)
    sentence, edge, _ = parts_of(structure, both[both >= 0])
    return _sparse(sentence, edge, -weights, len(structure))


def _sparse(sentence: Array, parts: Array, values: Array, count: int) -> SparseVectors:
    return SparseVectors(np.searchsorted(sentence, np.arange(count + 1)).astype(np.int64), parts.astype(np.int32), values)
