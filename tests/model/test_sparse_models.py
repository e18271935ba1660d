"""Models whose weights are mostly 0: saved without them, and without attributes that have no
weights; equal predictions.
"""

from functools import cache

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.core.scorer import SparseFeatures
from tests.parts import gate_cases

SHARED = ["tracker=none", "quiet=true", "objective_every=0"]
RUNS = {
    "attributes": [
        "task=attributes",
        "task.limit=80",
        "loss=crf",
        "optimizer=lbfgs",
        "optimizer.penalty=l1",
        "optimizer.epochs=15",
    ],
    "ner": [
        "task=ner",
        "task.limit=60",
        "optimizer=adagrad",
        "optimizer.penalty=l1",
        "optimizer.C=0.5",
        "optimizer.epochs=3",
        "features.templates=[bias, word, 'suffix(word,2) & word[-1]']",
        "features.transitions=[word]",
    ],
    "dependency": [
        "task=dependency",
        "task.limit=30",
        "optimizer=adagrad",
        "optimizer.penalty=l1",
        "optimizer.C=0.2",
        "optimizer.epochs=2",
        "features.hash_bits=16",
    ],
    "multilabel": [
        "task=multilabel",
        "task.limit=40",
        "optimizer=adagrad",
        "optimizer.penalty=l1",
        "optimizer.C=0.05",
    ],
}
DEV = {"attributes": "crfsuite", "ner": "conll", "dependency": "conllu", "multilabel": "multilabel"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The model of a run in memory, and as its folder has it."""

    def run(name):
        folder = tmp_path_factory.mktemp(name)
        return (
            structopt.train([*RUNS[name], *SHARED], folder=folder),
            structopt.load(folder),
            folder,
        )

    return cache(run)


@pytest.mark.parametrize("name", gate_cases(RUNS, "runs", ("attributes",)))
def test_only_weights_that_are_not_0_are_saved(name, runs):
    trained, saved, _ = runs(name)
    count = np.count_nonzero(trained.weights)
    assert 0 < saved.scorer.count == np.count_nonzero(saved.weights) == count < trained.scorer.count
    assert isinstance(saved.scorer, SparseFeatures)
    inputs = datasets.path("dev", DEV[name])
    assert saved.predict(inputs) == trained.predict(inputs)
    assert saved.pruned().scorer.dimension == saved.scorer.dimension


@pytest.mark.parametrize(
    ("name", "group"), [("attributes", "label"), ("ner", "label"), ("ner", "transition")]
)
def test_attributes_without_weights_are_left_out(name, group, runs):
    trained, saved, _ = runs(name)
    names, tables = trained.task.attribute_names(group), trained.scorer.tables_of(trained.weights)
    expected = [own for own, row in zip(names, tables[group], strict=False) if row.any()]
    assert 0 < len(expected) < len(names)
    assert saved.task.attribute_names(group) == expected
    rows = tables[group][: len(names)]
    np.testing.assert_array_equal(
        saved.scorer.tables_of(saved.weights)[group][: len(expected)], rows[rows.any(axis=1)]
    )


@pytest.mark.parametrize(
    "name", gate_cases(["attributes", "ner", "dependency"], "runs", ("attributes",))
)
def test_training_goes_on_from_them(name, runs, tmp_path):
    trained, _, folder = runs(name)
    more = [f"warm_start.model={folder}", "optimizer.epochs=0"]
    again = structopt.train([*RUNS[name], *SHARED, *more], folder=tmp_path / "again")
    inputs = datasets.path("dev", DEV[name])
    assert np.count_nonzero(again.weights) == np.count_nonzero(trained.weights)
    assert again.predict(inputs) == trained.predict(inputs)


@pytest.mark.nightly("runs")
def test_a_model_of_nothing_can_be_loaded(tmp_path):
    structopt.train([*RUNS["attributes"], *SHARED, "optimizer.c1=1e6"], folder=tmp_path)
    model = structopt.load(tmp_path)
    assert not model.scorer.count and model.task.attribute_names() == []
    assert set(model.predict([[["w"], ["v"]]])[0]) <= set(model.labels)


@pytest.mark.nightly("runs")
def test_a_ridge_saves_all(tmp_path):
    words = [word for word in RUNS["attributes"] if "penalty" not in word]
    model = structopt.train([*words, *SHARED, "optimizer.epochs=2"], folder=tmp_path)
    assert structopt.load(tmp_path).scorer.count == model.scorer.count
    assert structopt.load(tmp_path).task.attribute_names() == model.task.attribute_names()
