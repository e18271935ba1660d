"""Classifiers of sets of labels: the run underneath, matrices of every kind, what is asked about
single labels.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import structopt
from structopt import MultilabelClassifier
from tests.estimators.shipped import label_sets

X, Y, NAMES = label_sets()


@pytest.fixture(scope="module")
def classifier():
    return MultilabelClassifier(epochs=3).fit(X, Y)


def test_the_run_is_that_of_the_command_line(classifier, tmp_path):
    words = ["task=multilabel", "task.limit=60", "optimizer.epochs=3", "tracker=none", "quiet=true"]
    model = structopt.train(words, folder=tmp_path / "run")
    assert np.array_equal(classifier.model_.weights, model.weights)
    sets = [[NAMES[j] for j in np.flatnonzero(row)] for row in classifier.predict(X)]
    assert sets == [sorted(labels, key=NAMES.index) for labels in model.predict(X)]


def test_iterables_are_read_once():
    rows = [X[:20].tolist(), Y[:20].tolist()]
    expected = MultilabelClassifier(epochs=1).fit(*rows)
    read = MultilabelClassifier(epochs=1).fit(*map(iter, rows))
    assert np.array_equal(read.predict(iter(rows[0])), expected.predict(rows[0]))
    assert read.score(*map(iter, rows)) == expected.score(*rows)


def test_sparse_matrices_are_the_same(classifier):
    sparse = MultilabelClassifier(epochs=3).fit(csr_matrix(X), csr_matrix(Y))
    assert np.array_equal(sparse.model_.weights, classifier.model_.weights)
    assert np.array_equal(sparse.predict(csr_matrix(X)), classifier.predict(X))
    assert (
        classifier.classes_.tolist() == list(range(len(NAMES)))
        and classifier.n_features_in_ == X.shape[1]
    )


@pytest.mark.nightly("rest")
def test_decisions_have_the_sign_of_predictions():
    exact = MultilabelClassifier(epochs=2, inference="ilp").fit(X[:30], Y[:30, :4])
    decisions, outputs = exact.decision_function(X[:6]), exact.predict(X[:6])
    assert np.array_equal(decisions > 0, outputs == 1)
    scores = exact.model_.scores(exact._instances(X[:6]))
    for i in range(6):
        flipped = exact.model_.scores(
            exact._instances(X[i : i + 1]), given=[{"2": not outputs[i, 2]}]
        )
        assert abs(decisions[i, 2]) == pytest.approx(scores[i] - flipped[0])


def test_marginals_and_allowed():
    classifier = MultilabelClassifier(epochs=3, edges="none", loss="crf", inference="trw_bp").fit(
        X, Y
    )
    table = classifier.predict_marginals(X[:5])
    assert table.shape == (5, len(NAMES)) and np.array_equal(
        table > 0.5, classifier.predict(X[:5]) == 1
    )
    assert table == pytest.approx(1 / (1 + np.exp(-classifier.decision_function(X[:5]))), abs=1e-5)
    assert classifier.predict(X[:1], allowed=[{0: True, 1: False}])[0, :2].tolist() == [1, 0]


def test_labels_that_never_occur_are_never_predicted():
    wide = np.hstack([Y[:, :2], np.zeros((len(Y), 1), int)])
    classifier = MultilabelClassifier(epochs=2).fit(X, wide)
    assert (
        not classifier.predict(X)[:, 2].any()
        and np.isneginf(classifier.decision_function(X[:2])[:, 2]).all()
    )


def test_one_label_may_be_a_vector_of_any_two_values():
    y = np.where(Y[:, 0] == 1, "yes", "no")
    classifier = MultilabelClassifier(epochs=5).fit(X, y)
    assert set(classifier.predict(X)) <= {"yes", "no"} and classifier.classes_.tolist() == [
        "no",
        "yes",
    ]
    assert classifier.decision_function(X).shape == (len(X),) and classifier.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.arange(len(X)) % 3,
            "y has 3 values. Only binary classification is supported, of every label by itself.",
        ),
        (Y[:5], ""),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_refuses(y, message):
    with pytest.raises(ValueError, match=message):
        MultilabelClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight must have the shape \(\d+,\), and has"):
        MultilabelClassifier().fit(X, Y, sample_weight=[1.0])
