"""StructuredEstimator with every task: fit, predict, score, clone, pickle, and what is refused."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

from structopt import (
    ConstituencyParser,
    DependencyParser,
    GridLabeler,
    SequenceTagger,
    StructuredEstimator,
)
from structopt.errors import ConfigError, DataError
from structopt.estimators.bases import NotFittedError
from structopt.formats.labelled_images import Image
from tests.estimators.every_task import EVERY
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

NAMES = list(EVERY)
GATE = ("ner", "dependency", "multiclass", "multilabel")


@pytest.fixture(scope="module", params=gate_cases(NAMES, "runs", GATE))
def fitted(request):
    task = EVERY[request.param]
    return StructuredEstimator(task=request.param, **task.settings).fit(task.X, task.y), task


def plain(outputs):
    """Outputs that can be compared: arrays as lists, trees as text."""
    return [
        output.labels.tolist() if isinstance(output, Image) else str(output) for output in outputs
    ]


def test_predictions(fitted):
    estimator, task = fitted
    outputs = estimator.predict(task.X)
    assert len(outputs) == len(task.y) == len(estimator.decision_function(task.X))
    assert estimator.score(task.X, task.y) >= task.score
    assert outputs._repr_html_().startswith("<div>") and len(estimator.classes_)


def test_predictions_are_outputs_to_learn_from(fitted):
    estimator, task = fitted
    outputs = estimator.predict(task.X)
    assert estimator.score(task.X, outputs) == pytest.approx(1.0)
    again = clone(estimator).fit(task.X, outputs, sample_weight=np.ones(len(outputs)))
    assert len(again.predict(task.X)) == len(outputs)


def test_clones_and_pickles(fitted):
    estimator, task = fitted
    copy = pickle.loads(pickle.dumps(estimator))
    assert (
        plain(copy.predict(task.X)) == plain(estimator.predict(task.X))
        and copy.get_params() == estimator.get_params()
    )
    with pytest.raises(NotFittedError, match="This StructuredEstimator instance is not fitted yet"):
        clone(estimator).predict(task.X)
    assert np.array_equal(
        clone(estimator).fit(task.X, task.y).model_.weights, estimator.model_.weights
    )


def test_a_dev_split(fitted):
    estimator, task = fitted
    both = clone(estimator).fit(task.X, task.y, X_dev=task.X, y_dev=task.y)
    main = both.model_.task.main_metric
    assert both.metrics_["dev"][main] == pytest.approx(both.score(task.X, task.y))


@pytest.mark.parametrize("name", gate_cases(NAMES, "runs", GATE))
def test_malformed(name):
    task = EVERY[name]
    estimator = StructuredEstimator(task=name, **task.settings)
    many, count = len(task.X) + 1, len(task.X)
    with pytest.raises(
        DataError,
        match=f"<outputs>: there are {many} outputs for {count} instances. Give one for every "
        "instance",
    ):
        estimator.fit(task.X, [*task.y, task.y[0]])
    for outputs in ("y", None, {"a": 1}):
        with pytest.raises(
            DataError, match="<outputs>: .* is not a list of outputs. Give one for every instance"
        ):
            estimator.fit(task.X, outputs)
    for instances in ("X", {"a": 1}):
        with pytest.raises(DataError, match=r"<memory>: the instances are one (string|mapping), "):
            estimator.fit(instances, task.y)
    with pytest.raises(DataError, match="<memory>: the instances are None, which is no list"):
        estimator.fit(None, task.y)
    for instance in (5, None, "X"):
        with pytest.raises(DataError, match="^<memory>:1: "):
            estimator.fit([instance] * count, task.y)
    for outputs, message in task.refused.items():
        with pytest.raises(DataError, match=f"<outputs>:1: {re.escape(message)}"):
            estimator.fit(task.X, [eval(outputs), *task.y[1:]])


def test_documents_without_mentions_have_those_of_their_entities():
    task = EVERY["coreference"]
    bare = [{"sentences": document["sentences"]} for document in task.X]
    estimator = StructuredEstimator(task="coreference", **task.settings)
    assert np.array_equal(
        estimator.fit(bare, task.y).model_.weights, estimator.fit(task.X, task.y).model_.weights
    )
    assert estimator.predict(bare) == [[] for _ in bare]


def test_extracts_stand_for_references():
    task = EVERY["summarization"]
    estimator = StructuredEstimator(task="summarization", **task.settings).fit(
        task.X, [[1], [2], [1]]
    )
    assert estimator.predict(task.X) == [[1], [2], [1]]


@pytest.mark.parametrize(
    "estimator",
    [SequenceTagger(templates="default"), DependencyParser(), ConstituencyParser(), GridLabeler()],
)
@pytest.mark.parametrize("outputs", [None, 5, "y", {"a": 1}])
def test_the_named_estimators_refuse_the_same(estimator, outputs):
    X = [np.zeros((2, 2))] if isinstance(estimator, GridLabeler) else [["Ann", "slept"]]
    with pytest.raises(
        DataError, match="<outputs>: .* is not a list of outputs. Give one for every instance"
    ):
        estimator.fit(X, outputs)


def test_tasks_that_learn_from_files_alone_say_so(monkeypatch):
    from structopt.core.task import Task
    from structopt.task.synthetic import Synthetic

    monkeypatch.setattr(Synthetic, "labelled", Task.labelled)
    with pytest.raises(
        ConfigError, match="This task learns from files, and not from instances in memory."
    ):
        StructuredEstimator(task="synthetic").fit([], [])
