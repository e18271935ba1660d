"""Explanations of every task and factor graph: shares add up to the difference of the scores of the
two outputs.
"""

import json
from functools import cache

import numpy as np
import pytest

import structopt
from structopt import StructuredEstimator, datasets
from structopt.errors import ConfigError
from structopt.model.explanation.differences import Difference
from tests.estimators.every_task import EVERY
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

SHARED = ["tracker=none", "quiet=true", "objective_every=0", "optimizer.epochs=1"]
PERCEPTRON = ["optimizer=perceptron"]
HASHED = ["features.hash_bits=14"]
DEPENDENCY, GRID = ["task=dependency", "task.limit=8", *HASHED], ["task=grid", "task.limit=3"]
MULTILABEL, SUMMARIES = (
    ["task=multilabel", "task.limit=30"],
    ["task=summarization", "task.limit=4", *PERCEPTRON],
)
RUNS = {
    "chain of order 2": (["task=ner", "task.limit=20", "factor_graph.order=2"], "conll"),
    "chunking": (["task=chunking", "task.limit=20"], "conll"),
    "tagging": (["task=tagging", "task.limit=20"], "conll"),
    "attributes": (["task=attributes", "task.limit=20"], "crfsuite"),
    "multiclass": (["task=multiclass", "task.limit=40"], "libsvm"),
    "crossing arcs": (
        [*DEPENDENCY, "factor_graph.projective=false", "factor_graph.labeled=true"],
        "conllu",
    ),
    "second order": ([*DEPENDENCY, "factor_graph=second_order", *PERCEPTRON], "conllu"),
    "span": (["task=constituency", "factor_graph=span", "task.limit=20", *HASHED], "ptb"),
    "grammar": (["task=constituency", "task.limit=40"], "ptb"),
    "grammar of words": (["task=constituency", "task.limit=40", "task.tags=free"], "ptb"),
    "coreference": (["task=coreference", "task.limit=3", *HASHED], "coref"),
    "summaries, ilp": (SUMMARIES, "jsonl"),
    "summaries, lp": ([*SUMMARIES, "inference=lp"], "jsonl"),
    "summaries, greedy": ([*SUMMARIES, "inference=greedy"], "jsonl"),
    "multilabel, ilp": ([*MULTILABEL, "inference=ilp", *PERCEPTRON], "multilabel"),
    "multilabel, mplp": ([*MULTILABEL, "inference=mplp", *PERCEPTRON], "multilabel"),
    "multilabel, loopy": (
        [*MULTILABEL, "inference=loopy_bp", "loss=crf", "optimizer=adagrad"],
        "multilabel",
    ),
    "independent labels": (
        [*MULTILABEL, "factor_graph.edges=none", "inference=trw_bp", "loss=crf"],
        "multilabel",
    ),
    "grid, ad3": ([*GRID, "inference=ad3", *PERCEPTRON], None),
    "grid, trees": ([*GRID, "inference=trw_bp", "loss=crf", "optimizer=adagrad"], None),
    "synthetic": (["task=synthetic", "task.variables=5", *PERCEPTRON], None),
}
GATE = ("chain of order 2", "multiclass", "crossing arcs", "multilabel, mplp", "summaries, lp")
"""Runs that are explained in the gate."""
UNLISTED = {
    name
    for name in RUNS
    if name.startswith(("second order", "summ", "multil", "ind", "grid", "syn"))
}
"""Runs whose inferences list no second output."""
ONE_TREE = {"span", "grammar", "grammar of words"}
"""Runs of which some inputs have one output alone: the others are pruned, or no rule makes them."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return cache(
        lambda name: structopt.train(
            [*RUNS[name][0], *SHARED], folder=tmp_path_factory.mktemp("run")
        )
    )


def explained(trained, path, number, against):
    """The explanation, or None where there is no such output."""
    try:
        return trained.explain(path, sentence=number, against=against)
    except ConfigError as error:
        assert f"against={against}: there is no such output to hold the prediction against." in str(
            error
        )
        return None


def checked(one):
    assert isinstance(one, Difference) and (one.shares or one.difference == 0.0)
    assert one.total == pytest.approx(one.difference, abs=1e-9)
    for sums in (one.by_attribute, one.by_place, one.by_configuration):
        assert sum(amount for _, amount in sums) == pytest.approx(one.difference, abs=1e-9)
    assert json.loads(one.written("json"))["difference"] == one.difference
    assert one.written("html").startswith("<!DOCTYPE html>") and one.title in one.written("text")


@pytest.mark.parametrize("name", gate_cases(RUNS, "runs", GATE))
def test_shares_add_up(name, model):
    trained, path = (
        model(name),
        "dev" if RUNS[name][1] is None else datasets.path("dev", RUNS[name][1]),
    )
    # few of their gold trees are no predictions
    numbers = range(1, 9) if name.startswith("second order") else range(1, 4)
    answers = {
        (against, number): explained(trained, path, number, against)
        for against in ("auto", "runner_up", "gold", "change")
        for number in numbers
    }
    for one in filter(None, answers.values()):
        checked(one)
    assert any(answers["auto", number] for number in numbers)
    listed = [answers["runner_up", number] for number in numbers]
    assert not any(listed) if name in UNLISTED else any(listed) if name in ONE_TREE else all(listed)
    if trained.task.view == "labels":
        assert all(answers["change", number] for number in numbers)


@pytest.mark.parametrize("name", gate_cases(EVERY, "runs", ("ner", "multilabel")))
def test_every_task_has_a_runner_up_where_all_outputs_are_listed(name):
    """Of few outputs `enumeration` lists them all, whatever the factor graph: the two best are
    those that are explained.
    """
    task = EVERY[name]
    estimator = StructuredEstimator(task=name, **task.settings).fit(task.X, task.y)
    # outputs that are made of marginals need not be the best ones
    rounded = estimator.model_.task.rounds_marginals
    listing = estimator.model_ if rounded else estimator.model_.with_inference("enumeration")
    for number, (best, *others) in enumerate(listing.predict_k_best(task.X[:2], 2), 1):
        if not others:  # the rules make one tree
            assert (
                name == "constituency" and explained(listing, task.X, number, "runner_up") is None
            )
            continue
        one = listing.explain(task.X, sentence=number, against="runner_up")
        checked(one)
        if not rounded:
            np.testing.assert_allclose(
                sorted(one.scores), sorted([best.score, others[0].score]), atol=1e-9
            )


@pytest.mark.parametrize(
    "name",
    gate_cases(
        sorted(EVERY.keys() - {"summarization", "constituency"}), "runs", ("ner", "multilabel")
    ),
)
def test_estimators_explain_instances_in_memory(name):
    task = EVERY[name]
    checked(StructuredEstimator(task=name, **task.settings).fit(task.X, task.y).explain(task.X, 2))


def test_where_nothing_stands_against_a_prediction_it_is_told():
    task = EVERY["summarization"]
    estimator = StructuredEstimator(task="summarization", **task.settings).fit(task.X, task.y)
    with pytest.raises(
        ConfigError,
        match=r"with_inference\(\.\.\.\) with exact, or enumeration, which lists the k best",
    ):
        estimator.explain(task.X, 1)
