"""Every member of the family against eq. (3), summed over all outputs."""

from itertools import product
from math import inf, isinf, log

import numpy as np
import pytest

from structopt.config import registry
from structopt.errors import ConfigError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.cost.weighted import Weighted
from structopt.loss.family import LossFamily
from structopt.reference.primal import Listed, minimum
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
from tests.messages import raises

BETAS, GAMMAS = (0.5, 1.0, 3.0, inf), (0.0, 1.0, 2.5)
COSTS = {
    "hamming": {},
    "hamming_normalized": {},
    "weighted": {"cost_weights": {"y0": 0.5, "y2": 2.0}},
}
MEMBERS = [
    pytest.param(b, g, c, id=f"{b}-{g}-{c}")
    for b, g, c in product(BETAS, GAMMAS, COSTS)
    if g > 0 or c == "hamming"
]


def problem_of(
    beta,
    gamma,
    cost="hamming",
    order=1,
    inference=None,
    variant="max_loss",
    C=1.0,
    support="all",
    **options,
):
    loss = registry.create(
        "loss", {"name": "family", "beta": beta, "gamma": gamma, "cost": cost, **COSTS[cost]}
    )
    encoded = random_encoded(2, **options)
    return make_problem(
        encoded, LinearChain(order), loss, inference or Exact(), C, support=support, variant=variant
    )


def eq3(listed, weights, beta, gamma):
    """Loss by its definition."""
    s = listed.features @ weights
    margins = (listed.vertices - listed.gold) @ s + gamma * listed.costs
    if isinf(beta):
        return margins.max()
    return margins.max() + log(np.exp(beta * (margins - margins.max())).sum()) / beta


def wrong_labels(problem, i, listed, cost):
    """Costs of the listed outputs, counted label by label."""
    encoded = problem.examples.encoded
    gold, L = encoded.gold[encoded.offsets[i] : encoded.offsets[i + 1]], len(encoded.labels)
    labels = listed.vertices[:, : len(gold) * L].reshape(-1, len(gold), L).argmax(axis=2)
    prices = np.array(
        [COSTS[cost].get("cost_weights", {}).get(encoded.labels[y], 1.0) for y in gold]
    )
    wrong = ((labels != gold) * prices).sum(axis=1)
    return wrong / len(gold) if cost == "hamming_normalized" else wrong


@pytest.mark.parametrize(("beta", "gamma", "cost"), MEMBERS)
def test_value_and_gradient_are_eq3(beta, gamma, cost):
    for options in (
        {},
        {"order": 2, "constrained": True},
        {"anchored": True, "partial": True, "values": True},
    ):
        problem = problem_of(beta, gamma, cost, **options)
        weights = random_weights(problem, 1)
        for i in range(problem.m):
            listed = outputs(problem, i)
            np.testing.assert_allclose(
                listed.costs, wrong_labels(problem, i, listed, cost), atol=1e-12
            )
            value, gradient = loss_and_gradient(problem, weights, i)
            assert value == pytest.approx(eq3(listed, weights, beta, gamma), abs=1e-10)
            if isinf(beta):
                r = residual(problem, instance_scores(problem, weights, i), i)[1]
                matching = np.flatnonzero(
                    (np.abs(listed.vertices - listed.gold - r) < 1e-12).all(axis=1)
                )
                assert len(matching) == 1
                margins = (listed.vertices - listed.gold) @ (
                    listed.features @ weights
                ) + gamma * listed.costs
                assert margins[matching[0]] == pytest.approx(margins.max())
                np.testing.assert_allclose(gradient, listed.features.T @ r, atol=1e-10)


@pytest.mark.parametrize("factor", [0.5, 3.0])
@pytest.mark.parametrize(("beta", "gamma", "cost"), MEMBERS)
def test_footnote_10(beta, gamma, cost, factor):
    """L_{beta/a, a gamma}(a theta) = a L_{beta, gamma}(theta)."""
    one, other = problem_of(beta, gamma, cost), problem_of(beta / factor, factor * gamma, cost)
    weights = random_weights(one, 3)
    for i in range(one.m):
        value, gradient = loss_and_gradient(one, weights, i)
        scaled, same = loss_and_gradient(other, factor * weights, i)
        assert scaled == pytest.approx(factor * value, abs=1e-9)
        np.testing.assert_allclose(same, gradient, atol=1e-9)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (3.0, 1.0), (inf, 1.0)])
def test_footnote_10_for_the_optimum(beta, gamma):
    """(lambda/a, beta/a, a gamma) has the solution a theta; C = 1/(lambda m) grows with a."""
    C, factor = 0.7, 2.0
    listings = []
    problem = problem_of(beta, gamma, attributes=3, lengths=(1, 2, 3), C=C)
    for i in range(problem.m):
        listed = outputs(problem, i)
        listings.append(Listed((listed.vertices - listed.gold) @ listed.features, listed.costs))
    best = minimum(listings, C, beta, gamma)
    scaled = minimum(listings, factor * C, beta / factor, factor * gamma)
    np.testing.assert_allclose(scaled.weights, factor * best.weights, atol=2e-4)
    assert problem.objective(best.weights) == pytest.approx(best.value, rel=1e-6)
    for seed in range(5):
        other = best.weights + 0.01 * random_weights(problem, seed)
        assert problem.objective(other) > best.value


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("inference", [Exact(), Enumeration()], ids=["exact", "enumeration"])
def test_prediction_based(gamma, cost, inference):
    """Score difference plus cost at the mode under the scores alone."""
    problem = problem_of(inf, gamma, cost, 2, inference, "prediction")
    weights = random_weights(problem, 4)
    for i in range(problem.m):
        listed = outputs(problem, i)
        s = listed.features @ weights
        mode = int((listed.vertices @ s).argmax())
        value, gradient = loss_and_gradient(problem, weights, i)
        move = listed.vertices[mode] - listed.gold
        assert value == pytest.approx(move @ s + gamma * listed.costs[mode], abs=1e-10)
        np.testing.assert_allclose(gradient, listed.features.T @ move, atol=1e-10)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("gamma", [0.0, 2.5])
class TestFamily(LossSuite):
    @pytest.fixture
    def problem(self, beta, gamma):
        return problem_of(
            beta, gamma, "weighted" if gamma else "hamming", support="seen", constrained=True
        )


def test_prediction_needs_margins():
    message = r"variant=prediction needs `beta=inf`, and the loss is crf"
    with pytest.raises(ConfigError, match=message):
        LossFamily().kernel("prediction")


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({"beta": float("nan")}, {"match": r"loss\.beta=nan is not a float"}),
        ({"gamma": -1.0}, {"parameter": "loss.gamma", "value": -1.0}),
        ({"gamma": inf}, {"parameter": "loss.gamma", "value": inf}),
        ({"cost": "haming"}, {"parameter": "loss.cost", "match": "Did you mean 'hamming'"}),
        (
            {"cost": "weighted", "cost_weights": {"O": -1.0}},
            {"parameter": "loss.cost_weights.O", "value": -1.0},
        ),
    ],
)
def test_refuses(arguments, fields):
    with raises(ConfigError, **fields):
        registry.create("loss", {"name": "family", **arguments})


def test_cost_of_an_unknown_label():
    loss = LossFamily(cost=Weighted(), cost_weights={"PRE": 2.0})
    with pytest.raises(
        ConfigError,
        match="has the label 'PRE', which the training data do not have. Did you mean 'PER'",
    ):
        loss.variable_costs(("O", "PER"), np.array([0]), np.array([1]))
