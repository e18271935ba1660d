"""Grammars: the contract of factor graphs, binarization, rules, costs, saved states, views."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from structopt import datasets
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.errors import ArgumentError, ConfigError, ModelError
from structopt.factor_graph.grammar.binarization import Binarization, Tree, coarse, unbinarized
from structopt.factor_graph.grammar.constituents import trees_of, uses_of
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.factor_graph.grammar.heads import head_of
from structopt.features.attribute_rows import AttributeRows
from structopt.model.pruning import Pruner
from structopt.objective import relative_frequencies
from structopt.task.constituency.constituency import Constituency
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.inference import run
from tests.factor_graph.grammar.random_treebanks import random_treebank, thinned


def fitted(encoded, **options):
    graph = Grammar(**options)
    graph.fit(encoded)
    return graph


@pytest.fixture(scope="module")
def treebank():
    task = Constituency(features={"min_count": 5})
    return task, task.fit(task.read(datasets.path("train", "ptb")))


class TestContract(FactorGraphSuite):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, (1, 2, 3, 4, 4, 4, 4, 4), allowed=2)

    @pytest.fixture
    def encoded(self, whole):
        return whole.subset(0, 4)

    @pytest.fixture
    def graph(self, whole):
        return fitted(whole)


class TestContractOfPrunedCharts(TestContract):
    @pytest.fixture
    def encoded(self, whole):
        return thinned(whole.subset(1, 4), fitted(whole), 4, 0.5)


class TestContractOfBranchingRoots(TestContract):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, (2, 1, 3, 4, 4, 4, 4, 4), allowed=2, branching=True)


class TestContractWithoutBinaryRules(TestContract):
    @pytest.fixture
    def whole(self):
        return random_treebank(3, (1, 1, 1, 1), allowed=2)


def flat(*labels):
    return Tree(
        "X", tuple(Tree(label, (), k, k + 1) for k, label in enumerate(labels)), 0, len(labels)
    )


@pytest.mark.parametrize(
    ("direction", "horizontal", "symbols"),
    [
        ("right", 0, ["@X", "@X"]),
        ("left", 0, ["@X", "@X"]),
        ("right", 1, ["@X[a]", "@X[b]"]),
        ("left", 1, ["@X[d]", "@X[c]"]),
        ("right", 2, ["@X[a]", "@X[a,b]"]),
        ("head", 1, ["@X[d]", "@X[a]"]),
    ],
)
def test_symbols_between(direction, horizontal, symbols):
    binarization = Binarization(
        direction, horizontal, 1, lambda label, children: children.index("c")
    )
    tree = Tree("ROOT", (flat("a", "b", "c", "d"),), 0, 4)
    spans = [span for span in binarization.binary(tree).spans() if span.bottom.startswith("@")]
    assert [span.bottom for span in spans] == symbols
    assert unbinarized(binarization.binary(tree)) == tree


def test_labels_remember_those_above():
    inner = Tree("Y", (Tree("a", (), 0, 1), Tree("b", (), 1, 2)), 0, 2)
    binary = Binarization("right", 0, 2).binary(Tree("R", (Tree("X", (inner,), 0, 2),), 0, 2))
    assert binary.chain == ("R", "X^R", "Y^X")
    assert [coarse(symbol) for symbol in (*binary.chain, "@X^R[a]")] == ["R", "X", "Y", "@X"]


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NNP POS", 1),
        ("NP", "NN CC NN", 0),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 0),
        ("PP", "IN NP", 0),
        ("UNKNOWN", "A B", 1),
    ],
)
def test_heads(label, children, head):
    assert head_of(label, children.split()) == head


@pytest.mark.parametrize(
    "options",
    [
        {"binarization": "right"},
        {"binarization": "left", "horizontal": 1},
        {"binarization": "head", "horizontal": 2, "vertical": 2},
    ],
)
def test_outputs_are_read_back_from_their_parts(treebank, options):
    task, encoded = treebank
    encoded = encoded.subset(0, 400)
    graph = fitted(encoded, **options)
    structure = graph.build(encoded)
    view = graph.view("constituents", encoded, structure, graph.gold(encoded, structure))
    np.testing.assert_array_equal(view.offsets, encoded.constituents[0])
    np.testing.assert_array_equal(view.constituents, encoded.constituents[1])
    np.testing.assert_array_equal(view.tags, encoded.gold)
    trees = task.read(datasets.path("train", "ptb"), 400).trees
    scores = task.evaluate(
        task.read(datasets.path("train", "ptb"), 400), task.decode(encoded, view)
    )
    assert len(trees) == 400 and scores["bracket_f1"] == scores["complete_match"] == 1.0


@pytest.mark.parametrize("direction", ["left", "right", "head"])
@pytest.mark.parametrize(("horizontal", "vertical"), [(0, 1), (1, 2), (2, 3)])
def test_roots_with_several_children(direction, horizontal, vertical):
    """The symbol of the root is above a step only."""
    encoded = random_treebank(5, (2, 3, 4, 5, 6, 7) * 3, branching=True)
    binarization = Binarization(direction, horizontal, vertical, head_of)
    several = 0
    for tree in trees_of(encoded):
        several += len(tree.children) > 1
        span = binarization.binary(tree)
        assert unbinarized(span) == tree
        assert span.top == "ROOT" and "ROOT" not in {one.bottom for one in span.spans()}
    assert several
    graph = fitted(encoded, binarization=direction, horizontal=horizontal, vertical=vertical)
    structure = graph.build(encoded)
    view = graph.view("constituents", encoded, structure, graph.gold(encoded, structure))
    np.testing.assert_array_equal(view.constituents, encoded.constituents[1])


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_binary_trees_undo(treebank, direction):
    _, encoded = treebank
    for horizontal, vertical in ((0, 1), (2, 3)):
        binarization = Binarization(direction, horizontal, vertical, head_of)
        assert all(
            unbinarized(binarization.binary(tree)) == tree
            for tree in trees_of(encoded.subset(0, 300))
        )


def test_costs_count_what_gold_does_not_have():
    whole = random_treebank(5, (3, 4, 4, 5, 4, 5, 4, 5))
    graph, encoded = fitted(whole), whole.subset(0, 2)
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    for role, constant in (("rule", lambda n: 3 * n - 2), ("bracket", lambda n: 2 * (2 * n - 1))):
        units = graph.counted(role, encoded)
        assert (
            units.lengths.tolist() == [constant(3), constant(4)]
            and len(units.gold) == units.lengths.sum()
        )
        cost = graph.cost(encoded, structure, np.ones(len(units.gold)), role)
        for i, n in enumerate((3, 4)):
            size = int(np.diff(structure.parts)[i])
            p, z = dense(cost, i, size), dense(gold, i, size)
            assert p @ z + constant(n) == 0.0
            vertices = structure.kind.vertices(structure.record, i, size, 10**5)
            costs = vertices @ p + constant(n)
            assert costs.min() == 0.0 and costs.max() > 0.0
            group = {"rule": "anchor", "bracket": "node"}[role]
            begins, offsets = structure.spans(group)
            own = slice(int(begins[i]), int(begins[i] + np.diff(offsets)[i]))
            np.testing.assert_array_equal(costs, constant(n) - vertices[:, own] @ z[own])


def test_positional_charts_have_the_same_scores_and_costs():
    whole = random_treebank(6, (1, 2, 4, 5, 4, 4, 5, 4, 5), allowed=2)
    graph, encoded = fitted(whole), whole.subset(0, 4)
    tied, positional = graph.build(encoded), graph.build(encoded, positional=True)
    gold, own = graph.gold(encoded, tied), graph.gold(encoded, positional)
    features, others = (
        AttributeRows().fit(encoded, tied, gold),
        AttributeRows().fit(encoded, positional, own),
    )
    assert features.groups == others.groups
    np.testing.assert_array_equal(features.support, others.support)
    theta = np.random.default_rng(0).normal(size=features.dimension)
    roles = [graph.counted(role, encoded) for role in ("rule", "bracket")]
    prices = [np.random.default_rng(1).random(len(units.gold)) for units in roles]
    for i in range(len(encoded)):
        rows = []
        for structure, scorer in ((tied, features), (positional, others)):
            s = scorer.scores(theta, scorer.prepare(encoded, structure), np.array([i]))
            vertices = structure.kind.vertices(structure.record, i, len(s), 10**5)
            priced = zip(("rule", "bracket"), prices, strict=True)
            costs = [
                dense(graph.cost(encoded, structure, w, role), i, len(s)) for role, w in priced
            ]
            table = np.stack([vertices @ s, *(vertices @ p for p in costs)], axis=1)
            rows.append(table[np.lexsort(np.round(table, 9).T)])
            z = dense(gold if structure is tied else own, i, len(s))
            assert (np.abs(vertices - z).sum(axis=1) == 0).any()
        np.testing.assert_allclose(*rows, atol=1e-9)


def test_relative_frequencies_by_hand():
    encoded = random_treebank(7, (4, 5, 6, 7))
    graph = fitted(encoded)
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    scorer = AttributeRows().fit(encoded, structure, gold)
    tables = scorer.tables_of(relative_frequencies.weights(scorer, encoded, structure, gold, graph))
    uses, rules = uses_of(encoded, graph.binarizer, graph.rules.numbering), graph.rules
    own, above = uses.rule[uses.split > 0], rules.binary[:, 2]
    for r in range(len(above)):
        expected = np.log(np.sum(own == r) / np.sum(above[own] == above[r]))
        assert tables["rule"][0, r] == pytest.approx(expected)
    for u in range(len(rules.tops)):
        count, total = np.sum(uses.step == u), np.sum(rules.tops[uses.step] == rules.tops[u])
        assert tables["step"][0, u] == pytest.approx(np.log(max(count, 0.01) / max(total, 1)))
    words = encoded.tables["label"].ids
    a, t = int(words[0]), int(encoded.gold[0])
    together = np.sum((words == a) & (encoded.gold == t))
    assert tables["label"][a, t] == pytest.approx(np.log(together / np.sum(encoded.gold == t)))


def test_states_are_restored_and_forged_ones_refused():
    encoded = random_treebank(8, (3, 5))
    graph, again = fitted(encoded, horizontal=1), Grammar(horizontal=1)
    values, arrays = graph.state()
    again.restore(SavedState(values, arrays))
    assert again.rules.symbols == graph.rules.symbols and again.rules.chains == graph.rules.chains
    np.testing.assert_array_equal(again.rules.binary, graph.rules.binary)
    for forged in (
        {"symbols": values["symbols"][1:]},
        {"symbols": values["symbols"][:-1]},
        {"chains": [["nowhere"]]},
        {"chains": [[]]},
        {"chains": 3},
        {"categories": []},
        {"tags": None},
    ):
        with pytest.raises(ModelError):
            Grammar().restore(SavedState(values | forged, arrays))
    with pytest.raises(ModelError, match="numbers of symbols"):
        Grammar().restore(SavedState(values, {"binary": arrays["binary"] + 10**6}))


@pytest.mark.parametrize("name", ["@A", "/A", "A^B", "A[B"])
def test_labels_that_symbols_clash_with_are_refused(name):
    encoded = replace(random_treebank(9, (3,)), categories=("ROOT", name, "B", "C"))
    with pytest.raises(ConfigError, match="Rename them"):
        Grammar().fit(encoded)


def test_sentences_without_a_tree_are_predicted_empty(treebank):
    task, encoded = treebank
    graph = fitted(encoded)
    m = len(encoded.subset(0, 3))
    structure = graph.build(encoded.subset(0, 3))
    nothing = SparseVectors(np.zeros(m + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    view = graph.view("constituents", encoded.subset(0, 3), structure, nothing)
    trees = task.decode(encoded.subset(0, 3), view)
    for tree, (a, b) in zip(trees, pairwise(encoded.offsets[:4].tolist()), strict=True):
        assert [leaf.word for leaf in tree.leaves()] == list(encoded.words[a:b])
        assert tree.label == "ROOT" and all(len(node.children) <= 2 for node in tree.children)


def test_pruners_keep_gold_trees_or_the_best_ones(treebank):
    task, encoded = treebank
    few = encoded.subset(0, 60)
    graph = fitted(few, horizontal=1, prune_threshold=0.01)
    pruner = Pruner.train(few, graph.pruning, AttributeRows())
    pruned = pruner.prune(few, keep_gold=True)
    assert pruned.metrics["pruner_recall"] < 1.0 and pruned.metrics["pruner_share"] < 0.1
    structure = graph.build(pruned.encoded)
    graph.gold(pruned.encoded, structure)  # every gold symbol has a node
    assert graph.nearest(pruned.encoded, structure).allowed.all()
    words = task.encode(task.corpus([["the", "dog", "saw", "a", "cat", "."]]))
    kept = graph.build(pruner.prune(words).encoded)
    value, _ = run(kept.kind.exact().solve, kept, 0, np.zeros(int(kept.parts[1])), 0.0)
    assert value == 0.0  # there is a tree


def test_coarsened_marginals_leave_out_what_is_improbable(treebank):
    _, encoded = treebank
    few = encoded.subset(0, 12)
    graph, rng = fitted(few), np.random.default_rng(0)
    exact, partial = (
        graph.build(few),
        {floor: graph.coarsened(floor).build(few) for floor in (1e-9, 1e-3, 0.02, 0.9)},
    )
    for i in range(len(few)):
        s = rng.normal(size=int(exact.parts[i + 1] - exact.parts[i]))
        value, z = run(exact.kind.exact().solve, exact, i, s, 1.0)
        for floor, structure in partial.items():
            same, least = run(structure.kind.exact().solve, structure, i, s, 1.0)
            assert same == value and (least <= z + 1e-12).all()
            if floor == 1e-9:
                assert np.abs(least - z).max() < 1e-6
            if floor == 0.9:  # too little is left, so that nothing is left out
                np.testing.assert_array_equal(least, z)


def test_best_trees_are_kept_where_nothing_else_is_left(treebank):
    task, encoded = treebank
    few = encoded.subset(0, 60)
    words = task.encode(
        task.corpus(
            [
                ["the", "dog", "saw", "a", "cat", "."],
                ["a", "cat", "saw", "the", "dog", "in", "the", "park", "."],
            ]
        )
    )
    spans = []
    for threshold in (1e-3, 0.999):
        graph = fitted(few, prune_threshold=threshold)
        pruned = Pruner.train(few, graph.pruning, AttributeRows()).prune(words)
        kept = graph.build(pruned.encoded)
        for i in range(2):
            value, _ = run(
                kept.kind.exact().solve,
                kept,
                i,
                np.zeros(int(kept.parts[i + 1] - kept.parts[i])),
                0.0,
            )
            assert value == 0.0  # there is a tree
        spans.append(pruned.metrics["pruner_symbols"])
    n = np.array([6, 9])
    assert spans[1] < spans[0]
    # nodes of one tree each, below and above steps
    assert spans[1] * (n * (n + 1) // 2).sum() == (4 * n - 2).sum()


def test_pruners_that_remember_are_refused(treebank):
    _, encoded = treebank
    few = encoded.subset(0, 20)
    graph = fitted(few, prune_threshold=0.01)
    pruner = Pruner.train(few, graph.pruning, AttributeRows())
    pruner.graph = fitted(few, vertical=2)
    with pytest.raises(
        ConfigError, match="remember labels around them. Give a model of horizontal=0"
    ):
        pruner.prune(few)


def test_options_out_of_range_are_refused():
    for options in (
        {"horizontal": -1},
        {"vertical": 0},
        {"prune_threshold": 1.0},
        {"prune_threshold": -0.1},
    ):
        with pytest.raises(ArgumentError, match=r"must be at least|and vertical"):
            Grammar(**options)
