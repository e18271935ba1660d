"""Ramp loss and risk bounds against their definition, summed over all outputs, and against each
other.
"""

from math import inf, isinf, log

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError, StructoptError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.cost.weighted import Weighted
from structopt.loss.difference import LossDifference
from structopt.loss.family import HAMMING, LossFamily
from structopt.testing.loss import LossSuite
from structopt.testing.problems import (
    instance_scores,
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
    residual,
)
from tests.covering import covering
from tests.messages import raises
from tests.optimizer.composed import check

MEMBERS = [(1.0, 1.0), (inf, 1.0), (0.5, 2.5), (3.0, 1.0), (inf, 2.5)]
members = pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
STRUCTURES = [
    {},
    {"order": 2, "constrained": True},
    {"anchored": True, "partial": True, "values": True},
]
WEIGHTED = {"y0": 0.5, "y2": 2.0}


def problem_of(loss, order=1, inference=None, C=1.0, support="all", **options):
    return make_problem(
        random_encoded(2, **options),
        LinearChain(order),
        loss,
        inference or Exact(),
        C,
        support=support,
    )


def value_of(beta, scores, costs):
    """(1/beta) log sum exp beta (s + c) - (1/beta) log sum exp beta s, or its limit."""
    if isinf(beta):
        return (scores + costs).max() - scores.max()
    top = beta * scores.max()
    return (
        log(np.exp(beta * (scores + costs) - top).sum()) - log(np.exp(beta * scores - top).sum())
    ) / beta


def mean_of(beta, scores, vertices):
    """Marginals, or the best output."""
    if isinf(beta):
        return vertices[scores.argmax()]
    p = np.exp(beta * (scores - scores.max()))
    return p @ vertices / p.sum()


@pytest.mark.parametrize(
    ("member", "weights_of_costs", "inference", "options"),
    covering(MEMBERS, [None, WEIGHTED], [Exact(), Enumeration()], STRUCTURES),
)
def test_value_and_residual_are_the_definition(member, weights_of_costs, inference, options):
    beta, gamma = member
    loss = LossDifference(
        beta, gamma, Weighted() if weights_of_costs else HAMMING, weights_of_costs
    )
    problem = problem_of(loss, inference=inference, **options)
    for i in range(problem.m):
        listed = outputs(problem, i)
        for seed in range(3):
            s = instance_scores(problem, random_weights(problem, seed, 1.5), i)
            value, r = residual(problem, s, i)
            scores, costs = listed.vertices @ s, gamma * listed.costs
            assert value == pytest.approx(value_of(beta, scores, costs), abs=1e-10)
            expected = mean_of(beta, scores + costs, listed.vertices) - mean_of(
                beta, scores, listed.vertices
            )
            np.testing.assert_allclose(r, expected, atol=1e-10)


@pytest.mark.parametrize("options", STRUCTURES, ids=str)
@members
def test_is_the_difference_of_two_members(beta, gamma, options):
    one, augmented, plain = (
        problem_of(loss, **options)
        for loss in (LossDifference(beta, gamma), LossFamily(beta, gamma), LossFamily(beta, 0.0))
    )
    weights = random_weights(one, 5)
    for i in range(one.m):
        value, gradient = loss_and_gradient(one, weights, i)
        (high, up), (low, down) = (
            loss_and_gradient(augmented, weights, i),
            loss_and_gradient(plain, weights, i),
        )
        assert value == pytest.approx(high - low, abs=1e-10)
        np.testing.assert_allclose(gradient, up - down, atol=1e-10)


@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0, 30.0])
def test_bounds(scale):
    """Risk <= risk bound <= largest cost; cost of the best output <= ramp <= hinge, and <= largest
    cost.
    """
    risk, ramp, hinge = (
        problem_of(loss)
        for loss in (LossDifference(1.0), LossDifference(inf), LossFamily(inf, 1.0))
    )
    for seed in range(3):
        weights = random_weights(risk, seed, scale)
        for i in range(risk.m):
            listed = outputs(risk, i)
            scores = listed.vertices @ instance_scores(risk, weights, i)
            p = np.exp(scores - scores.max())
            value = loss_and_gradient(risk, weights, i)[0]
            assert p @ listed.costs / p.sum() - 1e-9 <= value <= listed.costs.max() + 1e-9
            value = loss_and_gradient(ramp, weights, i)[0]
            best = listed.costs[scores >= scores.max() - 1e-12].max()
            assert (
                best - 1e-9
                <= value
                <= min(listed.costs.max(), loss_and_gradient(hinge, weights, i)[0]) + 1e-9
            )


def test_cooling_ends_at_the_ramp_loss():
    ramp = problem_of(LossDifference(inf))
    weights = random_weights(ramp, 1)
    for i in range(ramp.m):
        value, gradient = loss_and_gradient(ramp, weights, i)
        distances = []
        for beta in (1.0, 10.0, 1e4):
            cold, slope = loss_and_gradient(problem_of(LossDifference(beta)), weights, i)
            distances.append(abs(cold - value))
        assert distances[2] <= 2e-3
        assert distances[2] <= distances[0] + 1e-12
        np.testing.assert_allclose(slope, gradient, atol=1e-3)


@members
def test_footnote_10(beta, gamma):
    """Delta L_{beta/a, a gamma}(a theta) = a delta L_{beta, gamma}(theta)."""
    one, other = (
        problem_of(LossDifference(beta, gamma)),
        problem_of(LossDifference(beta / 3, 3 * gamma)),
    )
    weights = random_weights(one, 3)
    for i in range(one.m):
        (value, gradient), (scaled, same) = (
            loss_and_gradient(one, weights, i),
            loss_and_gradient(other, 3 * weights, i),
        )
        assert scaled == pytest.approx(3 * value, abs=1e-9)
        np.testing.assert_allclose(same, gradient, atol=1e-9)


@members
def test_is_not_convex(beta, gamma):
    """Some chord lies below it: it is bounded, and not constant."""
    problem = problem_of(LossDifference(beta, gamma))
    ends = [random_weights(problem, seed, 3.0) for seed in range(6)]
    below = [
        loss_and_gradient(problem, (a + b) / 2, i)[0]
        > sum(loss_and_gradient(problem, e, i)[0] for e in (a, b)) / 2 + 1e-3
        for a in ends
        for b in ends
        for i in range(problem.m)
    ]
    assert any(below)


@members
class TestDifference(LossSuite):
    @pytest.fixture
    def problem(self, beta, gamma):
        return problem_of(
            LossDifference(beta, gamma, Weighted(), WEIGHTED), support="seen", constrained=True
        )


def test_what_it_says_of_itself():
    risk, ramp = LossDifference(), LossDifference(inf)
    assert (risk.member, ramp.member) == ("risk (beta=1, gamma=1)", "ramp (beta=inf, gamma=1)")
    assert (risk.requires, ramp.requires) == (Ability.MARGINALS, Ability.MAP)
    assert not (risk.convex or risk.in_family)
    created = [registry.create("loss", {"name": name}) for name in ("ramp", "risk")]
    assert [type(loss) for loss in created] == [LossDifference, LossDifference]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": -1.0}, r"loss\.gamma=-1\.0 must be at least 0 and finite"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ConfigError, match=message):
        registry.create("loss", {"name": "ramp", **arguments})


def test_has_no_other_variant():
    with raises(ConfigError, parameter="variant", value="prediction"):
        LossDifference(inf).kernel("prediction")


REFUSING = [
    "dca",
    "mira",
    "eg",
    "smo",
    "sdca",
    "cutting_plane",
    "online_cutting_plane",
    "pegasos",
    "perceptron",
]


def optimizer_of(name):
    """Make an optimizer that is installed."""
    return registry.create("optimizer", {"name": name})


@pytest.mark.parametrize("beta", [1.0, inf])
@pytest.mark.parametrize("name", REFUSING)
def test_refused_by_optimizers_that_need_tangents_or_a_dual(name, beta):
    with pytest.raises(StructoptError, match=f"optimizer={name} ") as caught:
        check(optimizer_of(name), LossDifference(beta))
    assert isinstance(caught.value, CompatibilityError)


@pytest.mark.parametrize("beta", [1.0, inf])
@pytest.mark.parametrize("name", ["sgd", "adagrad", "adadelta"])
def test_optimizers_that_follow_gradients_train_with_it(name, beta):
    problem = problem_of(
        LossDifference(beta), C=5.0, lengths=(3, 4, 2, 5, 3, 4, 2, 3), attributes=12
    )
    optimizer = optimizer_of(name)
    check(optimizer, problem.loss)
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(60):
        state, report = optimizer.step(problem, state)
        assert np.isfinite(report.loss)
    assert problem.losses(optimizer.weights(state)) < 0.9 * problem.losses(
        np.zeros(problem.dimension)
    )
