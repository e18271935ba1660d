"""Estimators that are trained on with more instances: the state goes on, labels append, instances
are counted.
"""

import pickle

import numpy as np
import pytest

from structopt import MultilabelClassifier, SequenceTagger
from structopt.errors import ConfigError, DataError
from tests.estimators.shipped import label_sets, tagged

X, y = tagged()
FIRST = [i for i, labels in enumerate(y) if not any("ORG" in label for label in labels)]
REST = [i for i in range(len(X)) if i not in FIRST]


def part(rows):
    return [X[i] for i in rows], [y[i] for i in rows]


def test_the_first_call_is_fit_and_later_ones_go_on():
    tagger = SequenceTagger(optimizer="adagrad", epochs=3)
    tagger.partial_fit(*part(FIRST), classes=["ignored"])
    assert np.array_equal(
        tagger.model_.weights,
        SequenceTagger(optimizer="adagrad", epochs=3).fit(*part(FIRST)).model_.weights,
    )
    assert tagger.n_samples_seen_ == len(FIRST) and "B-ORG" not in tagger.classes_
    squares = tagger.model_.trained.state["squares"].sum()
    assert tagger.partial_fit(*part(REST)) is tagger
    assert tagger.n_samples_seen_ == len(X) and tagger.n_iter_ == 3
    assert (
        tagger.model_.trained.state["epoch"] == 6
        and tagger.model_.trained.state["squares"].sum() > squares
    )
    assert {"B-ORG"} < set(tagger.classes_) and tagger.score(*part(REST)) > 0.5
    tagger.partial_fit(*part(FIRST))
    assert tagger.n_samples_seen_ == len(X) + len(FIRST)
    assert tagger.fit(*part(FIRST)).n_samples_seen_ == len(FIRST)


@pytest.mark.nightly("runs")
def test_new_columns_are_new_labels():
    X, Y, _ = label_sets()
    few = Y[:, :3].copy()
    classifier = MultilabelClassifier(optimizer="dca", inference="ilp", epochs=2).partial_fit(
        X[:30], few[:30]
    )
    assert classifier.predict(X[:5]).shape == (5, 3)
    classifier.partial_fit(X[30:], Y[30:])
    assert classifier.predict(X[:5]).shape == (
        5,
        Y.shape[1],
    ) and classifier.classes_.tolist() == list(range(Y.shape[1]))
    with pytest.raises(ValueError, match="features"):
        classifier.partial_fit(X[:, :-1], Y)


def test_what_cannot_go_on():
    assert hasattr(SequenceTagger(optimizer="dac"), "partial_fit")
    tagger = SequenceTagger(optimizer="dca", epochs=1).fit(*part(FIRST))
    with pytest.raises(
        ConfigError, match=r"is of optimizer\.C=.*, and this run has optimizer\.C=7\.0"
    ):
        tagger.set_params(C=7.0).partial_fit(*part(REST))
    with pytest.raises(ConfigError, match=r"this model has weights only"):
        pickle.loads(pickle.dumps(tagger)).partial_fit(*part(REST))


@pytest.mark.parametrize("average", [True, False])
def test_a_new_label_that_is_not_predicted_yet_is_reported(average, caplog):
    X = [[{"w": str(j)} for j in range(6)]] * 50
    tagger = SequenceTagger(optimizer="sgd", epochs=3, overrides={"optimizer.average": average})
    tagger.partial_fit(X, [["A", "B"] * 3] * 50)
    caplog.set_level("WARNING", "structopt")
    tagger.partial_fit(X[:2], [["C"] * 6] * 2)
    reports = [text for text in caplog.messages if text.startswith("New labels")]
    predicted = "C" in tagger.predict(X[:1])[0]
    assert len(reports) == average != predicted
    assert all("instance yet: C. " in text and "average=false" in text for text in reports)


@pytest.mark.parametrize("options", [{"c1": 0.1}, {"optimizer": "lbfgs"}], ids=str)
def test_the_reason_why_there_is_no_partial_fit(options):
    tagger = SequenceTagger(**options)
    assert not hasattr(tagger, "partial_fit")
    with pytest.raises(AttributeError, match="optimizer=lbfgs cannot go on with other data: its"):
        tagger.partial_fit([["a"]], [["A"]])
    with pytest.raises(AttributeError, match="object has no attribute 'partial_fitt'"):
        tagger.partial_fitt


@pytest.mark.parametrize(("X", "reason"), [([], "no sentence"), ([[]], "every sentence is empty")])
def test_training_data_without_tokens(X, reason):
    with pytest.raises(DataError, match=reason):
        SequenceTagger().fit(X, X)
