"""The texts of errors that `structopt.estimators` raises, in one table."""

import numpy as np
import pytest

from structopt import SequenceTagger
from structopt.errors import ArgumentError, StructoptError
from structopt.estimators.application import further_settings
from structopt.estimators.matrices import checked_indicators

X = [[{"a": 1.0}]]
Y = [["O"]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: SequenceTagger(C=1.0, c2=0.1).fit(X, Y),
            "C=1.0 has no effect with c2=0.1, which sets the same penalty. Leave one of them "
            "out: C is 1 / (2 c2).",
        ),
        (
            lambda: SequenceTagger(c2=0.0).fit(X, Y),
            "c2=0.0 leaves the weights free to grow without bound. Set c1 or c2 above 0.",
        ),
        (
            lambda: SequenceTagger(overrides=3).fit(X, Y),
            "overrides=3 must be a mapping, {'optimizer.eta': 0.1}, or a list, "
            "['optimizer.eta=0.1'].",
        ),
        (
            lambda: further_settings("a=1"),
            "overrides='a=1' must be a mapping, {'optimizer.eta': 0.1}, or a list, "
            "['optimizer.eta=0.1'].",
        ),
        (
            lambda: SequenceTagger().fit(X, Y, sample_weight=[-1.0]),
            "instance 0: sample_weight=-1.0 must be at least 0.",
        ),
        (
            lambda: checked_indicators(np.zeros((3, 1)), np.array([0, 1, 2])),
            "y has 3 values. Only binary classification is supported, of every label by "
            "itself. Give an indicator matrix, of shape (instances, labels).",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (
            [["Z", None]],
            "instance 0, position 0: allowed=Z is not a label of the model. Labels: A, B; None is "
            "open.",
        ),
        (
            [["A"]],
            "<allowed>:1: the output has 1 cells for 2 tokens. Give one cell for each, and None "
            "for open ones.",
        ),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_marginals", "predict_k_best"])
def test_errors_name_the_argument_of_the_estimator(method, allowed, text):
    X = [[{"a": 1.0}, {"b": 1.0}]]
    tagger = SequenceTagger(epochs=1).fit(X, [["A", "B"]])
    with pytest.raises(StructoptError) as raised:
        getattr(tagger, method)(X, allowed=allowed)
    assert str(raised.value) == text


def test_files_are_evaluated_and_lists_are_compared():
    model = SequenceTagger(epochs=1).fit(X, Y).model_
    with pytest.raises(ArgumentError) as raised:
        model.evaluate(X)
    assert raised.value.parameter == "path"
    assert str(raised.value).endswith("For instances in memory use compare(instances, outputs).")
