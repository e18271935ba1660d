"""Estimators whose components are objects."""

import pickle

import numpy as np
import pytest

import structopt as so
from tests.messages import raises

X = [[{"word": w} for w in s.split()] for s in ("Ann slept", "Oslo is cold", "Bob saw Ann")] * 3
Y = [["PER", "O"], ["LOC", "O", "O"], ["PER", "O", "PER"]] * 3


def weights(**parameters):
    return so.SequenceTagger(C=0.5, epochs=3, **parameters).fit(X, Y).model_.weights


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ({"loss": so.SVM(), "optimizer": so.DCA()}, {"loss": "svm", "optimizer": "dca"}),
        (
            {"loss": so.LossFamily(2.0, 0.5), "optimizer": so.SDCA(planes=3)},
            {
                "loss": "family",
                "beta": 2.0,
                "gamma": 0.5,
                "optimizer": "sdca",
                "overrides": {"optimizer.planes": 3},
            },
        ),
        (
            {"optimizer": so.AdaGrad(eta=0.2)},
            {"optimizer": "adagrad", "overrides": {"optimizer.eta": 0.2}},
        ),
        (
            {"optimizer": so.LBFGS(), "loss": so.SoftmaxMargin()},
            {"optimizer": "lbfgs", "loss": "softmax_margin"},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::structopt.ConvergenceWarning")
def test_objects_are_equal_to_words(objects, words):
    assert weights(**objects).tobytes() == weights(**words).tobytes()


def test_words_name_the_preset():
    tagger = so.SequenceTagger(loss=so.SVM(), optimizer=so.DCA())
    assert {"loss=svm", "optimizer=dca"} <= set(tagger.words)


def test_copies():
    tagger = so.SequenceTagger(loss=so.SVM(), optimizer=so.AdaGrad(eta=0.2))
    sklearn = pytest.importorskip("sklearn.base")
    copied = sklearn.clone(tagger)
    copied.set_params(optimizer__eta=0.3)
    assert (tagger.optimizer.eta, copied.optimizer.eta) == (0.2, 0.3)
    assert copied.config["optimizer"]["eta"] == 0.3
    assert pickle.loads(pickle.dumps(tagger)).words == tagger.words


def test_grid_search_over_objects():
    selection = pytest.importorskip("sklearn.model_selection")
    losses = [so.SVM(), so.CRF()]
    search = selection.GridSearchCV(
        so.SequenceTagger(optimizer="dca", epochs=1), {"loss": losses, "C": [1.0]}, cv=3
    )
    search.fit(X, Y)
    assert search.best_params_["loss"] in losses


def test_replace():
    method = so.AdaGrad(eta=0.2)
    assert method.replace(eta=0.3).eta == 0.3
    assert method.eta == 0.2
    assert isinstance(so.LBFGS().replace(memory=5), so.LBFGS)
    with raises(so.ArgumentError, match="Did you mean 'eta'", parameter="etta"):
        method.replace(etta=1.0)


class Own(so.LossFamily):
    """A class without a word."""


def test_a_class_without_a_word():
    with raises(so.StructoptError, match="The class Own has no word", parameter="loss"):
        so.SequenceTagger(loss=Own()).fit(X, Y)
    assert np.isfinite(weights(loss=so.CRF())).all()
