"""Pruners of arcs: what is kept, that a tree survives, recall; training, saving, and models that
are given.
"""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedTrees
from structopt.errors import ConfigError
from structopt.factor_graph.arc_factored import ArcFactored, candidate_arcs
from structopt.factor_graph.arc_pruning import ArcPruning
from structopt.factor_graph.second_order import SecondOrder
from structopt.features.attribute_rows import AttributeRows
from structopt.features.row_places import RowGroup
from structopt.model.pruning import Pruner

TREE_KINDS = [(True, False), (False, False), (True, True), (False, True)]


class NamedArcs(EncodedTrees):
    """Trees in which every candidate arc has one attribute, its own, so that weights are the scores
    of arcs.
    """


def corpus(lengths, seed=0, heads=None, candidates=None):
    generator = np.random.default_rng(seed)
    offsets, total = np.cumsum([0, *lengths]).astype(np.int64), sum(lengths)
    # a random tree with one root: every token hangs on one that came before in a random order
    if heads is None:
        rows = []
        for n in lengths:
            order = generator.permutation(n)
            row = np.zeros(n, np.int32)
            row[order[0]] = order[0]
            for k in range(1, n):
                row[order[k]] = order[generator.integers(k)]
            rows.append(row)
        heads = np.concatenate(rows)
    arcs = int(candidates[0][-1]) if candidates else int(sum(n * n for n in lengths))
    table = AttributeTable(
        np.arange(arcs + 1, dtype=np.int64), np.arange(arcs, dtype=np.int32), None, arcs
    )
    return NamedArcs(
        offsets=offsets,
        tables={"arc": table, "label": table},
        labels=("a", "b"),
        gold=np.zeros(total, np.int32),
        columns=("form",),
        codes=np.zeros((total, 1), np.int32),
        heads=np.asarray(heads, np.int32),
        candidates=candidates,
    )


def pruner(encoded, scores, single_root=True, projective=False, ratio=0.0, max_heads=0):
    """A pruner that gives every arc its score; the last attribute is the constant one."""
    rows = AttributeRows.of([RowGroup("arc", 1, len(scores) + 1)], None)
    graph = {"name": "arc_factored", "single_root": single_root, "projective": projective}
    pruning = ArcPruning(None, ratio, max_heads, 1, 1.0, projective, single_root)
    return Pruner(
        pruning, graph, rows, np.append(scores, 0.0), 1.0, registry.create("factor_graph", graph)
    )


def kept(encoded):
    """Candidate heads of every token, sentence by sentence."""
    arcs, heads = candidate_arcs(encoded)
    rows = [heads[a:b].tolist() for a, b in zip(arcs[:-1], arcs[1:], strict=True)]
    return [rows[a:b] for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]


def is_tree(heads, single_root, projective):
    for start in range(len(heads)):
        m, steps = start, 0
        while heads[m] != m and steps <= len(heads):
            m, steps = heads[m], steps + 1
        if heads[m] != m:
            return False
    spans = [(min(h, m), max(h, m)) if h != m else (-1, m) for m, h in enumerate(heads)]
    crossing = any(a < c < b < d for (a, b), (c, d) in product(spans, spans))
    return (not single_root or sum(h == m for m, h in enumerate(heads)) == 1) and not (
        projective and crossing
    )


def best(rows, scores, n, single_root, projective):
    """The best tree among candidates, given scores[m, h]."""
    trees = [heads for heads in product(*rows) if is_tree(heads, single_root, projective)]
    return max(
        trees, key=lambda heads: sum(scores[m, h] for m, h in enumerate(heads)), default=None
    )


@pytest.mark.parametrize(("single_root", "projective"), TREE_KINDS)
def test_a_tree_survives_whatever_the_weights(single_root, projective):
    lengths = [1, 2, 3, 4, 5, 4, 3]
    encoded = corpus(lengths)
    for seed in range(5):
        scores = 3.0 * np.random.default_rng(seed).normal(size=sum(n * n for n in lengths))
        pruned = pruner(encoded, scores, single_root, projective, 0.999, 1).prune(encoded)
        start = 0
        for n, rows in zip(lengths, kept(pruned.encoded), strict=True):
            matrix = scores[start : start + n * n].reshape(n, n)
            start += n * n
            everything = best([range(n)] * n, matrix, n, single_root, projective)
            assert best(rows, matrix, n, single_root, projective) == everything
            # the likeliest head, and that of the best tree
            assert all(1 <= len(row) <= 2 for row in rows)
        assert pruned.metrics["pruner_heads"] == len(pruned.encoded.candidates[1]) / sum(lengths)


def test_heads_are_kept_by_their_marginals():
    """One token, two tokens: arc marginals of two tokens and one root are those of the two
    trees.
    """
    encoded = corpus([2], heads=[0, 0])
    # heads of token 0: itself (the root), 1; of token 1: 0, itself
    scores = np.log([0.8, 0.2, 0.8, 0.2])
    one, other = 0.8 * 0.8, 0.2 * 0.2  # the trees root -> 0 -> 1 and root -> 1 -> 0
    share = other / one
    assert kept(pruner(encoded, scores, ratio=0.99 * share).prune(encoded).encoded) == [
        [[0, 1], [0, 1]]
    ]
    assert kept(pruner(encoded, scores, ratio=1.01 * share).prune(encoded).encoded) == [[[0], [0]]]


def test_gold_arcs_are_kept_in_training_and_recall_is_what_is_kept_without():
    encoded = corpus([2, 2], heads=[0, 0, 1, 1])
    # both sentences: root -> 0 -> 1; gold in the second is root -> 1 -> 0
    scores = np.array([5.0, 0.0, 5.0, 0.0] * 2)
    cutter = pruner(encoded, scores, max_heads=1)
    held_out, training = cutter.prune(encoded), cutter.prune(encoded, keep_gold=True)
    assert held_out.metrics["pruner_recall"] == training.metrics["pruner_recall"] == 0.5
    assert held_out.summary == "1.0 heads a token, 50.00 % of gold arcs"
    assert kept(held_out.encoded) == [[[0], [0]], [[0], [0]]]
    assert kept(training.encoded) == [[[0], [0]], [[0, 1], [0, 1]]]
    assert (held_out.metrics["pruner_heads"], training.metrics["pruner_heads"]) == (1.0, 1.5)
    structure = SecondOrder().build(training.encoded)
    assert len(SecondOrder().gold(training.encoded, structure).parts) > 0
    unlabelled = cutter.prune(replace(encoded, heads=None))
    assert (unlabelled.metrics["pruner_recall"], unlabelled.summary) == (None, "1.0 heads a token")


def test_heads_that_were_no_candidates_stay_out():
    listed = np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 2], np.int32)
    encoded = corpus([3], heads=[0, 1, 0], candidates=listed)
    pruned = pruner(encoded, np.zeros(5), single_root=False).prune(encoded)
    assert kept(pruned.encoded) == [[[0, 1], [1], [0, 2]]]
    pruned = pruner(encoded, np.array([0.0, 9, 0, 9, 0]), single_root=False, max_heads=1).prune(
        encoded
    )
    assert pruned.metrics["pruner_recall"] == 2 / 3


def test_training_finds_the_gold_arcs_and_is_the_same_twice():
    encoded = corpus([3, 4, 5, 1, 6, 4], seed=3)
    wanted = SecondOrder(pruner_epochs=5, pruner_C=10.0, max_heads=1, prune_ratio=0.0).pruning
    pruners = [Pruner.train(encoded, wanted, AttributeRows("all"), seed=2) for _ in range(2)]
    assert pruners[0].weights.any()
    assert pruners[0].weights.tobytes() == pruners[1].weights.tobytes()
    pruned = pruners[0].prune(encoded)
    assert pruned.metrics == {"pruner_heads": 1.0, "pruner_recall": 1.0}
    assert not np.array_equal(
        Pruner.train(encoded, wanted, AttributeRows("all"), seed=5).weights, pruners[0].weights
    )


@pytest.mark.nightly("runs")
def test_a_saved_pruner_prunes_alike():
    encoded = corpus([4, 3, 5])
    wanted = SecondOrder(max_heads=2, prune_ratio=0.01, single_root=False).pruning
    before = Pruner.train(encoded, wanted, AttributeRows("seen"))
    after = Pruner.restore(wanted, *before.state())
    assert kept(after.prune(encoded).encoded) == kept(before.prune(encoded).encoded)
    assert after.state()[0] == before.state()[0]


def test_a_labelled_model_prunes_by_the_sum_over_labels():
    encoded = corpus([2], heads=[0, 0])
    graph = {"name": "arc_factored", "labeled": True}
    rows = AttributeRows.of([RowGroup("label", 2, 4), RowGroup("arc", 1, 5)], None)
    labels = np.log([0.4, 0.4, 0.1, 0.1, 0.4, 0.4, 0.1, 0.1])
    # the trees' odds: 0.2 * 0.2 / (0.8 * 0.8)
    for ratio, expected in ((0.06, [[[0, 1], [0, 1]]]), (0.07, [[[0], [0]]])):
        pruning = ArcPruning(None, ratio, 0, 1, 1.0, projective=False, single_root=True)
        cutter = Pruner(
            pruning,
            graph,
            rows,
            np.concatenate([labels, np.zeros(5)]),
            1.0,
            registry.create("factor_graph", graph),
        )
        assert kept(cutter.prune(encoded).encoded) == expected


def model(task_state=None, **graph):
    node = {
        "name": "arc_factored",
        "projective": False,
        "labeled": False,
        "single_root": True,
        "repair": "lift",
    } | graph
    options = SimpleNamespace(projective=node["projective"], single_root=node["single_root"])
    task = SimpleNamespace(
        numbering=lambda: task_state or ({"words": ["a"]}, {"codes": np.arange(3)})
    )
    rows = AttributeRows.of([RowGroup("arc", 1, 5)], None)
    return SimpleNamespace(
        config={"factor_graph": node},
        graph=options,
        task=task,
        scorer=rows,
        weights=np.ones(5),
        temperature=1.0,
    )


def test_a_given_model_must_fit():
    task, wanted = model().task, SecondOrder(pruner="runs/first", max_heads=3).pruning
    taken = Pruner.of_model(model(), task, wanted)
    assert (taken.pruning.max_heads, taken.weights.tolist()) == (3, [1.0] * 5)
    with pytest.raises(
        ConfigError, match=r"runs/first is a model of factor_graph=second_order\. Give one of"
    ):
        Pruner.of_model(model(name="second_order"), task, wanted)
    with pytest.raises(ConfigError, match=r"Train it with factor_graph\.single_root=true"):
        Pruner.of_model(model(single_root=False), task, wanted)
    strict = SecondOrder(pruner="runs/first", projective=True).pruning
    with pytest.raises(ConfigError, match=r"Train it with factor_graph\.projective=true"):
        Pruner.of_model(model(), task, strict)
    for state in (
        ({"words": ["b"]}, {"codes": np.arange(3)}),
        ({"words": ["a"]}, {"codes": np.arange(1, 4)}),
    ):
        with pytest.raises(
            ConfigError, match=r"numbers words or relations differently.*same task\.train"
        ):
            Pruner.of_model(model(state), task, wanted)


def test_first_order_graphs_ask_for_no_pruning():
    assert ArcFactored().pruning is None
