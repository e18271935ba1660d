"""Scores of sets of labels, counted by hand and by scikit-learn."""

import numpy as np
import pytest

from structopt.metrics.label_sets import score, table

GOLD = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], bool)
PREDICTED = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]], bool)


def test_counted_by_hand():
    scores = score(GOLD, PREDICTED)
    assert scores == {
        "micro_f1": pytest.approx(2 * 3 / (4 + 4)),
        "macro_f1": pytest.approx((4 / 5 + 0 + 1) / 3),  # the last label is nowhere
        "subset_accuracy": pytest.approx(1 / 3),
        "hamming_loss": pytest.approx(2 / 12),
        "accuracy": pytest.approx(10 / 12),
    }


def test_nothing_to_find():
    none = np.zeros((2, 3), bool)
    expected = {
        "micro_f1": 0.0,
        "macro_f1": 0.0,
        "subset_accuracy": 1.0,
        "hamming_loss": 0.0,
        "accuracy": 1.0,
    }
    assert score(none, none) == expected
    assert score(none, ~none) == {name: 0.0 for name in expected} | {"hamming_loss": 1.0}


def test_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    for _ in range(5):
        gold, predicted = generator.random((50, 6)) < 0.3, generator.random((50, 6)) < 0.4
        expected = {
            "micro_f1": metrics.f1_score(gold, predicted, average="micro"),
            "macro_f1": metrics.f1_score(gold, predicted, average="macro"),
            "subset_accuracy": metrics.accuracy_score(gold, predicted),
            "hamming_loss": metrics.hamming_loss(gold, predicted),
            "accuracy": 1 - metrics.hamming_loss(gold, predicted),
        }
        assert score(gold, predicted) == pytest.approx(expected, abs=1e-12)


def test_labels_that_are_neither_gold_nor_predicted():
    """They have no F1 here. scikit-learn takes 0 for it unless told, Mulan 1; the page on scores
    converts between the three.
    """
    metrics = pytest.importorskip("sklearn.metrics")
    # F1: 4/5, 0, 1; two labels absent
    gold, predicted = (np.hstack([one, np.zeros((3, 1), bool)]) for one in (GOLD, PREDICTED))
    ours, labels, absent = score(gold, predicted)["macro_f1"], 5, 2
    assert ours == pytest.approx(3 / 5)
    assert metrics.f1_score(
        gold, predicted, average="macro", zero_division=np.nan
    ) == pytest.approx(ours)
    as_zero = metrics.f1_score(gold, predicted, average="macro", zero_division=0)
    assert as_zero == pytest.approx(ours * (labels - absent) / labels) == pytest.approx(9 / 25)
    as_one = metrics.f1_score(gold, predicted, average="macro", zero_division=1)
    assert (
        as_one
        == pytest.approx((ours * (labels - absent) + absent) / labels)
        == pytest.approx(19 / 25)
    )


def test_table():
    assert table(["one", "two", "three", "four"], GOLD, PREDICTED).splitlines() == [
        "3 instances; Hamming loss: 16.67%; subset accuracy: 33.33%; micro F1: 75.00; macro F1: "
        "60.00 over 3 of 4 labels, "
        "which are gold or predicted here",
        "label  precision  recall      F1   found    gold",
        "  one      66.67  100.00   80.00       3       2",
        "  two       0.00    0.00    0.00       0       1",
        "three     100.00  100.00  100.00       1       1",
    ]
