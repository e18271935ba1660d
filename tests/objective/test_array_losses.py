"""Losses in NumPy in the passes of runs and estimators."""

from dataclasses import replace

import numpy as np
import pytest

import structopt as so
from structopt.core import entry_points
from structopt.core.loss import MAX_LOSS
from structopt.errors import ConfigError
from structopt.loss.presets import CRF
from structopt.run.checks import check_gradient
from structopt.testing.components import component
from structopt.testing.problems import make_problem, random_encoded, random_weights
from tests.messages import raises
from tests.verbs.test_fitting import Focal, LogLoss


class Margin(so.Loss):
    """The structured hinge loss without a cost."""

    temperature = 0.0

    def value_and_gradient(self, s, gold, infer):
        a = infer(s, temperature=0.0)
        assert a.guarantee == "exact"
        return a.value - s @ gold.parts, a.marginals - gold.parts


class Reading(so.Loss):
    """A loss that reads the parts of a group."""

    def value_and_gradient(self, s, gold, infer):
        return np.array([s["label"].sum()]), s


def problem_of(loss):
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(random_encoded(1), graph, loss, inference)


@pytest.mark.parametrize(("loss", "same"), [(LogLoss(), CRF()), (Margin(), so.PerceptronLoss())])
def test_equals_the_kernel_of_the_same_loss(loss, same):
    own, other = problem_of(loss), problem_of(same)
    weights = random_weights(own)
    instances = np.array([2, 0])
    for left, right in (
        (own.gradient(weights), other.gradient(weights)),
        (own.minibatch(weights, instances), other.minibatch(weights, instances)),
    ):
        assert left[0] == pytest.approx(right[0], rel=1e-12)
        np.testing.assert_allclose(left[1], right[1], atol=1e-12)
    assert own.losses(weights) == pytest.approx(other.losses(weights), rel=1e-12)


def test_checks_compare_gradients_of_smooth_losses():
    problem = problem_of(LogLoss())
    assert "agrees with finite differences on 4" in check_gradient(
        problem, random_weights(problem), 0
    )


def test_runs_refuse_what_one_instance_does_not_have():
    problem = problem_of(Reading())
    with raises(so.ArgumentError, parameter="scores.batch.layout", match="single instances"):
        problem.gradient(random_weights(problem))


def test_partial_labels_need_a_kernel():
    class Sets(LogLoss):
        takes_sets = True

    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    encoded = random_encoded(1)
    sets = np.ones((len(encoded.gold), len(encoded.labels)), bool)
    problem = make_problem(replace(encoded, gold_sets=sets), graph, Sets(), inference)
    with raises(so.ArgumentError, parameter="gold", match="known in part only"):
        problem.gradient(random_weights(problem))


def test_variants_need_a_kernel():
    Focal().check_variant(MAX_LOSS)
    with raises(ConfigError, parameter="variant", match="which Focal does not have"):
        Focal().check_variant("prediction")


def test_estimators_train(monkeypatch):
    monkeypatch.setattr(entry_points, "_registered", {})
    so.register("loss", "focal_loss_of_a_test")(Focal)
    X, y = [[{"w": "a"}, {"w": "b"}]] * 4, [["X", "Y"]] * 4
    tagger = so.SequenceTagger(loss=Focal(), optimizer=so.SGD(), C=1.0, epochs=3).fit(X, y)
    assert tagger.predict(X[:1]) == [["X", "Y"]]
