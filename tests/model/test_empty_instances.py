"""An empty instance has the empty output with score 0 and probability 1, and changes no other."""

import logging

import numpy as np
import pytest

from structopt import StructuredEstimator
from structopt.core.ability import Ability
from structopt.errors import DataError
from tests.estimators.every_task import EVERY
from tests.messages import raises

SHAPES = dict.fromkeys(("ner", "chunking", "tagging", "attributes", "grid", "summarization"), 2)
SHAPES |= {"dependency": 1, "constituency": 4, "coreference": 1}
EMPTY = {
    "coreference": {"sentences": [], "mentions": []},
    "summarization": {"sentences": []},
    "grid": np.zeros((0, 0, 2)),
}
GOLD = {"summarization": ["Nothing."], "grid": np.zeros((0, 0), int)}


@pytest.fixture(scope="module", params=SHAPES)
def fitted(request):
    task, of = request.param, EVERY[request.param]
    settings = {**of.settings, "epochs": 2}
    if task == "ner":
        settings["overrides"] = {"features.transitions": ["word"], "factor_graph.order": 1}
    return task, settings, StructuredEstimator(task=task, **settings).fit(of.X, of.y)


def provided(model):
    return model.inference.provides(model.graph.kind)


def test_it_has_the_empty_output_and_changes_no_other(fitted):
    task, _, estimator = fitted
    model, of = estimator.model_, EVERY[task]
    empty, (a, b, *_) = EMPTY.get(task, []), of.X
    calls = {"predict": model.predict, "scores": lambda x: model.scores(x).tolist()}
    if Ability.MARGINALS in provided(model):
        calls["marginals"] = lambda x: list(model.marginals(x))
    if Ability.K_BEST in provided(model):
        calls["k_best"] = lambda x: model.predict_k_best(x, 3)
    for name, call in calls.items():
        first, one, second, other, last = call([empty, a, empty, b, empty])
        assert repr([one, other]) == repr(call([a, b])), name
        (alone,) = call([empty])
        assert repr(first) == repr(second) == repr(last) == repr(alone)
        if name == "scores":
            assert alone == 0.0
        elif name == "marginals":
            assert alone.shape == (0, SHAPES[task])
        elif name == "k_best":
            (best,) = alone
            assert best.score == 0.0
            assert best.probability in (None, 1.0)
            assert repr(best.output) == repr(model.predict([empty])[0])
        elif task == "grid":
            assert alone.labels.shape == (0, 0)
        elif task == "constituency":
            assert not alone.children
        else:
            assert alone == []


def test_the_table_of_marginals_leaves_it_out(fitted):
    task, _, estimator = fitted
    model, empty = estimator.model_, EMPTY.get(task, [])
    if Ability.MARGINALS not in provided(model):
        pytest.skip("this inference has no marginals")
    one = EVERY[task].X[0]
    table = model.marginals([empty, one]).table
    assert table["probability"] == model.marginals([one]).table["probability"]
    assert set(table[model.task.instance]) == {2}
    assert model.marginals([empty]).table == {model.task.instance: [], "probability": []}


def test_training_skips_it_with_a_note(fitted, caplog):
    task, settings, estimator = fitted
    of, empty, gold = EVERY[task], EMPTY.get(task, []), GOLD.get(task, [])
    other = StructuredEstimator(task=task, **settings)
    X, y = [*of.X[:1], empty, *of.X[1:]], [*of.y[:1], gold, *of.y[1:]]
    if task == "constituency":
        with raises(DataError, line=2, match="the output \\[\\] is no tree"):
            other.fit(X, y)
        return
    with caplog.at_level(logging.WARNING):
        other.fit(X, y)
    assert "1 empty " in caplog.text
    assert "the first is number 2." in caplog.text
    assert other.model_.weights.tolist() == estimator.model_.weights.tolist()


def test_tables_and_files_have_it(fitted, tmp_path):
    task, _, estimator = fitted
    if task != "attributes":
        pytest.skip("one task of tokens is enough")
    model = estimator.model_
    table = model.predict_table({"tokens": [[], [["w=Ann"]], []]})
    assert table["labels"][0] == table["labels"][2] == []
    assert table["labels"][1] == model.predict([[{"w": "Ann"}]])[0]
