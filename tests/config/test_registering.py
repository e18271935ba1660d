"""Components by their words, and words for classes of this process."""

from math import inf

import numpy as np
import pytest

import structopt as so
from structopt.config import registry
from structopt.core import entry_points
from tests.messages import raises


@pytest.fixture(autouse=True)
def words(monkeypatch):
    monkeypatch.setattr(entry_points, "_registered", {})


class Doubled(so.LossFamily):
    """A loss of the family with twice the cost."""

    def __init__(self, factor: float = 2.0) -> None:
        super().__init__(inf, factor)
        self.factor = factor


def test_components_have_the_values_of_their_config_files():
    svm = so.component("loss", "svm")
    assert (svm.temperature, svm.gamma) == (0.0, 1.0)
    assert so.component("loss", "svm", gamma=0.5).gamma == 0.5
    assert so.component("optimizer", "lbfgs", memory=7).memory == 7
    assert isinstance(so.component("inference", "ad3"), so.AD3)
    assert so.component("factor_graph", "linear_chain", order=2).order == 2


@pytest.mark.parametrize("kind", ["loss", "optimizer", "inference"])
def test_every_word_makes_a_component(kind):
    """Choices of other components in a config file are for the command line."""
    for word, one in registry.installed(kind).items():
        if one.distribution == entry_points.DISTRIBUTION:
            assert one.is_of(type(so.component(kind, word)))


def test_unknown_words():
    with pytest.raises(so.StructoptError, match="Did you mean 'svm'"):
        so.component("loss", "svn")
    with pytest.raises(so.StructoptError, match="no parameter 'gama'"):
        so.component("loss", "svm", gama=1.0)
    with pytest.raises(so.StructoptError, match="no kind of component called 'losses'"):
        so.component("losses", "svm")


def test_a_registered_word_trains_and_loads(tmp_path):
    assert so.register("loss", "doubled")(Doubled) is Doubled
    so.register("loss", "doubled")(Doubled)  # again, as in a notebook
    assert so.component("loss", "doubled").gamma == 2.0
    assert registry.installed("loss")["doubled"].distribution == "this process"
    words = ["task=ner", "task.limit=10", "optimizer=dca", "optimizer.epochs=1", "tracker=none"]
    model = so.train([*words, "loss=doubled"], folder=tmp_path / "one")
    same = so.train([*words, "loss=svm", "loss.gamma=2"], folder=tmp_path / "two")
    assert np.array_equal(model.weights, same.weights)
    assert so.load(tmp_path / "one").config["loss"] == {"name": "doubled"}
    other = so.train([*words, "loss=doubled", "+loss.factor=1"], folder=tmp_path / "three")
    assert not np.array_equal(model.weights, other.weights)


def test_refusals():
    with raises(so.ArgumentError, parameter="kind", value="losses"):
        so.register("losses", "doubled")
    with raises(so.ArgumentError, parameter="word", value="two words"):
        so.register("loss", "two words")
    with raises(so.ArgumentError, match="is a loss of structopt-trainer", parameter="word"):
        so.register("loss", "svm")(Doubled)
    with raises(so.ArgumentError, match="must inherit from Loss", parameter="cls"):
        so.register("loss", "doubled")(so.DCA)
    empty = type("Empty", (so.Loss,), {})
    with raises(so.ArgumentError, match="Empty lacks value_and_gradient", parameter="cls"):
        so.register("loss", "empty")(empty)
    so.register("loss", "doubled")(Doubled)
    with raises(so.ArgumentError, match="is a loss of this process", parameter="word"):
        so.register("loss", "doubled")(type("Other", (so.LossFamily,), {}))


class WithoutCost(so.Loss):
    """The logistic loss; its constructor takes no cost."""

    def value_and_gradient(self, scores, gold, infer):
        inferred = infer(scores, temperature=1.0)
        return inferred.value - scores @ gold.parts, inferred.marginals - gold.parts


def test_a_loss_without_cost_trains_tasks_that_choose_one(tmp_path):
    so.register("loss", "without_cost")(WithoutCost)
    words = ["task=multilabel", "task.limit=5", "loss=without_cost", "optimizer=adagrad"]
    words += ["optimizer.epochs=1", "tracker=none", "quiet=true"]
    so.train([*words, "inference=loopy_bp"], folder=tmp_path / "run")
    with pytest.raises(so.StructoptError, match="loss=without_cost has no parameter 'cost'"):
        so.train([*words, "loss.cost=hamming"], folder=tmp_path / "other")
    with pytest.raises(so.StructoptError, match="loss=without_cost needs marginals"):
        so.train([*words, "inference=ad3"], folder=tmp_path / "third")
