"""Predictions of a few sentences of parsers by a plan are those of the general path, bit by bit."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.factor_graph.arc_plan import ArcPlan
from structopt.factor_graph.grammar import sentence_charts, symbol_pruning
from structopt.formats.trees.dependency_trees import COLUMNS
from structopt.model.model import Model
from structopt.model.sentence_plan import BLOCK, Plans
from tests.parts import gate_cases

OPTIONS: dict[str, tuple[str, ...]] = {
    "arcs": ("task=dependency",),
    "labeled": ("task=dependency", "factor_graph.labeled=true", "factor_graph.projective=true"),
    "trees": ("task=constituency",),
    "viterbi": ("task=constituency", "task.decoding=viterbi", "loss=svm"),
    "memory": ("task=constituency", "factor_graph.horizontal=1", "factor_graph.vertical=2"),
    "free tags": ("task=constituency", "task.tags=free"),
    "rare": ("task=constituency", "factor_graph.prune_threshold=0.4"),
    "span": ("task=constituency", "factor_graph=span"),
}
"""Models; with a high threshold many pruned charts have no tree."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    """Models of these options, each trained once."""
    root, known = tmp_path_factory.mktemp("models"), dict[str, Model]()

    def make(name: str) -> Model:
        if name not in known:
            small = ["task.limit=60", "optimizer.epochs=1", "quiet=true", "tracker=none"]
            folder = root / name.replace(" ", "_")
            known[name] = structopt.train([*OPTIONS[name], *small], folder=folder)
        return known[name]

    return make


def sentences(model: Model) -> list[Any]:
    """The shipped development part, and an empty and a long sentence."""
    if model.config["task"]["name"] == "dependency":
        corpus = model.task.read(datasets.path("dev", "conllu"), 60)
        rows = list(zip(*(corpus.cells[name] for name in COLUMNS), strict=True))
        ends = corpus.offsets.tolist()
        read = [rows[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    else:
        corpus = model.task.read(datasets.path("dev", "ptb"), 60)
        pairs = zip(corpus.words, corpus.tags, strict=True)
        read = [list(zip(words, tags, strict=True)) for words, tags in pairs]
        read += corpus.words[:20]
        read.append(["unknown"])
    return [*read[:30], [], *read[30:], read[0] * 11]


def general(model: Model) -> Model:
    """Return a copy of a model that makes no plan."""
    other = fresh(model)
    other._view_plans.made = True
    if other.pruner is not None:
        other.pruner._plans.made = True
    return other


def fresh(model: Model) -> Model:
    """Return a copy of a model that has not made its plans."""
    other = copy.copy(model)
    other._view_plans = Plans()
    if other.pruner is not None:
        other.pruner = copy.copy(other.pruner)
        other.pruner._plans = Plans()
    return other


@pytest.mark.parametrize("name", gate_cases(OPTIONS, "runs", ("labeled", "trees", "rare")))
def test_views_are_those_of_the_general_path(name: str, models: Any) -> None:
    model = models(name)
    instances, other = sentences(model), general(model)
    expected = list(map(str, other.predict(instances)))
    assert expected == [str(other.predict([x])[0]) for x in instances]
    assert expected == [str(model.predict([x])[0]) for x in instances]
    for size in (2, BLOCK):
        blocks = (instances[k : k + size] for k in range(0, len(instances), size))
        assert expected == [str(one) for block in blocks for one in model.predict(block)]
    assert expected == list(map(str, model.predict(instances)))
    plan = model._view_plans.plan
    kind = ArcPlan if name in ("arcs", "labeled") else sentence_charts.SentenceTrees
    assert plan is None if name == "span" else isinstance(plan, kind)
    assert model.predict([]) == []


@pytest.mark.parametrize("name", gate_cases(["rare", "span"], "runs", 1))
def test_candidates_are_those_of_the_general_path(name: str, models: Any) -> None:
    model = models(name)
    compared = 0
    for first in range(0, 60, 3):
        corpus = model.task.corpus(sentences(model)[first : first + 3])
        encoded, _ = model.task.encode(corpus).without_empty()
        plan = model.pruner.plan(encoded)
        assert plan.takes(encoded)
        found, expected = plan.candidates(encoded), model.pruner.prune(encoded).encoded.candidates
        if found is None:  # the coarser grammar has no tree of some sentence
            continue
        assert found.symbols == expected.symbols
        for field in ("spans", "offsets", "bottoms", "numbers"):
            one, other = getattr(found, field), getattr(expected, field)
            assert np.array_equal(one, other) and one.dtype == other.dtype
        compared += 1
    assert compared > 5


def test_trees_as_input_and_long_sentences_take_the_general_path(models: Any) -> None:
    model = models("trees")
    trees = [str(tree) for tree in model.predict(sentences(model)[:3])]  # makes the plan
    assert list(map(str, model.predict(trees))) == list(map(str, general(model).predict(trees)))
    encoded = model.task.encode(model.task.corpus(trees))
    assert not model._view_plans.plan.takes(encoded)
    long = model.task.encode(model.task.corpus([["the"] * (sentence_charts.WORDS + 1)]))
    assert not model._view_plans.plan.takes(long)


def test_charts_without_space_take_the_general_path(
    models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither charts that are too large for a plan, nor pruned ones that are too large for its
    record.
    """
    model = models("trees")
    instances = sentences(model)[:5]
    expected = list(map(str, general(model).predict(instances)))
    model.predict(instances)
    monkeypatch.setattr(model._view_plans.plan, "_list_finer", lambda *arguments: -1)
    assert list(map(str, model.predict(instances))) == expected
    monkeypatch.setattr(symbol_pruning, "NODES", 10)
    other = fresh(model)
    assert list(map(str, other.predict(instances))) == expected
    assert other._view_plans.made and other._view_plans.plan is None


def test_given_arcs_take_the_general_path(models: Any) -> None:
    model = models("labeled")
    sentence = sentences(model)[0]
    label = model.labels[0]
    given = [[(0, label)] + [None] * (len(sentence) - 1)]
    (output,) = model.predict([sentence], given=given)
    assert (output[0].head, output[0].relation) == (0, label)


@pytest.mark.parametrize("name", ["labeled", "trees"])
def test_threads_forks_and_copies_predict_at_the_same_time(name: str, models: Any) -> None:
    model = models(name)
    instances = sentences(model)[:40]
    expected = [str(general(model).predict([x])) for x in instances]
    model.predict(instances[:1])
    one = lambda x: str(model.predict([x]))  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, instances * 3)) == expected * 3
    other = pickle.loads(pickle.dumps(model))
    assert not other._view_plans.made
    assert [str(other.predict([x])) for x in instances] == expected
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(False)
    child = context.Process(target=lambda: send.send([one(x) for x in instances]))
    child.start()
    assert receive.poll(60)
    assert receive.recv() == expected
    child.join()
