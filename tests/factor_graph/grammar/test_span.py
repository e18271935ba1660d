"""Span graphs: the contract of factor graphs, the trees of tied charts, costs, readings."""

import numpy as np
import pytest

from structopt.errors import ArgumentError
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.charts import cells_of, span_number
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.factor_graph.grammar.span import Span
from structopt.testing.factor_graph import FactorGraphSuite, dense
from tests.factor_graph.grammar.random_treebanks import random_treebank, thinned
from tests.messages import raises

LENGTHS = (1, 2, 3, 4, 4, 4, 4, 4)


def fitted(kind, encoded, **options):
    graph = kind(**options)
    graph.fit(encoded)
    return graph


class TestContract(FactorGraphSuite):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, LENGTHS, allowed=2)

    @pytest.fixture
    def encoded(self, whole):
        return whole.subset(0, 4)

    @pytest.fixture
    def graph(self, whole):
        return fitted(Span, whole)


class TestContractOfPrunedForests(TestContract):
    @pytest.fixture
    def encoded(self, whole):
        return thinned(whole.subset(1, 4), fitted(Grammar, whole), 4, 0.5)


class TestContractOfBranchingRoots(TestContract):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, (2, 1, 3, 4, 4, 4, 4, 4), allowed=2, branching=True)


class TestContractWithoutBinaryRules(TestContract):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, (1, 1, 1, 1), allowed=2)


def listed(structure, i):
    return structure.kind.vertices(structure.record, i, int(np.diff(structure.parts)[i]), 10**5)


@pytest.mark.parametrize(
    ("seed", "kept", "allowed"), [(0, 1.0, 2), (1, 0.6, 2), (2, 0.4, 1), (5, 0.3, 3)]
)
def test_forests_have_the_trees_of_charts(seed, kept, allowed):
    """Counts of rules, steps and tags, and nodes, tree by tree."""
    whole = random_treebank(seed, (1, 2, 3, 4, *[5] * 8), allowed)
    grammar, span = fitted(Grammar, whole), fitted(Span, whole)
    encoded = whole.subset(0, 5)
    encoded = thinned(encoded, grammar, seed, kept) if kept < 1 else encoded
    charts, packed = grammar.build(encoded), span.build(encoded)
    rules, cells = grammar.rules, cells_of(encoded, grammar.rules)
    R, U, T = len(rules.binary), len(rules.chains), len(rules.tags)
    for i, (edges, nodes) in enumerate(forests.sentences(packed)):
        n = int(np.diff(encoded.offsets)[i])
        tag = edges.split == forests.TAG
        part = np.where(edges.split == forests.STEP, R + edges.number, edges.number)
        part[tag] = R + U + nodes.begin[edges.head[tag]] * T + edges.number[tag] - rules.first_tag
        place = cells.node(
            np.full(len(nodes.begin), i),
            span_number(n, nodes.begin, nodes.end),
            nodes.symbol,
            nodes.above,
        )
        parts = np.concatenate([part, R + U + n * T + place])
        first_anchor = R + U + n * T + int(np.diff(cells.nodes)[i])
        mine, theirs = listed(packed, i), listed(charts, i)
        trees = [tuple(np.bincount(parts, vertex, first_anchor).astype(int)) for vertex in mine]
        assert sorted(trees) == sorted(
            tuple(vertex[:first_anchor].astype(int)) for vertex in theirs
        )
        assert mine.any(axis=0).all()  # nothing is listed that no tree has
        assert (np.diff(edges.head) >= 0).all()


def test_costs_count_what_gold_does_not_have():
    whole = random_treebank(11, LENGTHS, allowed=1)
    graph, encoded = fitted(Span, whole), whole.subset(1, 4)
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    for role, per_word, less in (("rule", 3, 2), ("bracket", 4, 2)):
        counted = graph.counted(role, encoded)
        words = np.diff(encoded.offsets)
        assert counted.lengths.tolist() == (per_word * words - less).tolist()
        prices = 1.0 + np.arange(len(counted.gold))
        cost = graph.cost(encoded, structure, prices, role)
        for i in range(len(encoded)):
            size = int(np.diff(structure.parts)[i])
            p, y = dense(cost, i, size), dense(gold, i, size)
            own = prices[counted.lengths[:i].sum() : counted.lengths[: i + 1].sum()]
            assert p @ y == pytest.approx(-own.sum()) and (p[y == 0] == 0).all()
            assert (np.sort(-p[p != 0]) == np.sort(own)).all()


def test_gold_constituents_are_read_back():
    whole = random_treebank(4, LENGTHS, allowed=1)
    graph = fitted(Span, whole)
    structure = graph.build(whole)
    seen = graph.view("constituents", whole, structure, graph.gold(whole, structure))
    offsets, rows = whole.constituents
    assert seen.offsets.tolist() == offsets.tolist()
    for i in range(len(whole)):
        own = slice(*offsets[i : i + 2])
        assert sorted(map(tuple, seen.constituents[own].tolist())) == sorted(
            map(tuple, rows[own].tolist())
        )
    assert (seen.tags == whole.gold).all()


def test_symbols_that_no_tree_has_leave_nothing():
    whole = random_treebank(6, (3, *[4] * 8), allowed=1)
    graph, encoded = fitted(Span, whole), whole.subset(0, 1)
    from dataclasses import replace

    empty = replace(thinned(encoded, fitted(Grammar, whole), 0, 1.0))
    bottoms = np.zeros_like(empty.candidates.bottoms)
    lost = replace(
        empty,
        candidates=replace(
            empty.candidates,
            offsets=np.zeros_like(empty.candidates.offsets),
            bottoms=bottoms,
            numbers=np.zeros(0, np.int32),
        ),
    )
    structure = graph.build(lost)
    assert structure.parts.tolist() == [0, 0]
    near = graph.nearest(lost, structure)
    assert not near.allowed.any() and len(near.scores.parts) == 0


def test_the_nearest_tree_is_gold_where_it_is_allowed():
    whole = random_treebank(9, LENGTHS, allowed=1)
    graph = fitted(Span, whole)
    structure = graph.build(whole)
    near, gold = graph.nearest(whole, structure), graph.gold(whole, structure)
    assert near.allowed.all()
    for i in range(len(whole)):
        size = int(np.diff(structure.parts)[i])
        s = dense(near.scores, i, size)
        assert dense(gold, i, size) @ s == pytest.approx((listed(structure, i) @ s).max())


def test_options_out_of_range_are_refused():
    with raises(ArgumentError, parameter="horizontal", value=-1):
        Span(horizontal=-1)
    with raises(ArgumentError, parameter="prune_threshold", value=1.0):
        Span(prune_threshold=1.0)
