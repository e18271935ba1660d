"""Stochastic gradient descent: the contract, every step by dense vectors, the choice of eta, and
cvxpy's optimum.
"""

from functools import partial
from math import inf, nan

import numpy as np
import pytest

from structopt.config.wording import keyed
from structopt.errors import ConfigError
from structopt.learning.rate import CANDIDATES, best_rate
from structopt.optimizer.sgd import SGD as SGD
from structopt.testing.problems import loss_and_gradient, random_weights
from tests.covering import covering
from tests.optimizer.classes import OnlineSuite
from tests.optimizer.online import CRF, MARGIN, MEMBERS, SHAPES, SVM, problem_of, run, trained

members = pytest.mark.parametrize("member", MEMBERS)


def by_hand(problem, eta, passes, weights):
    """Weights before every update, the last ones, and the sum of the losses of every pass."""
    theta, before, losses, t = weights.copy(), [], [], 0
    for epoch in range(passes):
        losses.append(0.0)
        for i in problem.order(epoch):
            before.append(theta)
            loss, gradient = loss_and_gradient(problem, theta, i)
            losses[-1] += loss
            theta = theta - eta / (1 + t / problem.m) * (gradient + problem.regularization * theta)
            t += 1
    return before, theta, losses


@pytest.mark.parametrize(
    ("member", "options"),
    [(CRF, {"eta": 0.5}), (SVM, {"eta": 0.5, "average": True}), (MARGIN, {"average": True})],
)
class TestSGD(OnlineSuite):
    @pytest.fixture
    def optimizer(self, options):
        return lambda: SGD(**options)

    @pytest.fixture
    def problem(self, member):
        return partial(problem_of, member, 1.0)


@pytest.mark.parametrize(
    ("member", "options", "rate"),
    covering(MEMBERS, SHAPES, [(1.0, 0.7), (0.02, 0.115), (0.02, 0.05)]),
)
def test_steps(member, options, rate):
    """With C=0.02, eta * lambda is 0.96 at first, so that the scale becomes too small in every
    pass.
    """
    C, eta = rate
    problem = problem_of(member, C, **options)
    initial = random_weights(problem, 1)
    before, last, losses = by_hand(problem, eta, 3, initial)
    plain, reported = run(SGD(eta=eta), problem, 3, initial)
    np.testing.assert_allclose(plain.theta, last, atol=1e-10)
    np.testing.assert_allclose(reported, losses, atol=1e-9)
    np.testing.assert_allclose(
        trained(SGD(eta=eta, average=True), problem, 3, initial),
        np.mean(before, axis=0),
        atol=1e-10,
    )


@members
@pytest.mark.parametrize("average", [False, True])
def test_auto_takes_the_rate_with_the_best_pass(member, average):
    problem = problem_of(member, C=3.0)  # 1/lambda = 18: 100 is refused
    initial = random_weights(problem, 3)
    objectives = {
        eta: problem.objective(trained(SGD(eta=eta, average=average), problem, 1, initial))
        for eta in CANDIDATES[:-1]
    }
    best = min(objectives, key=objectives.get)
    state = SGD(average=average).init(problem, initial)
    assert state.eta == best
    np.testing.assert_array_equal(state.theta, initial)
    fixed, chosen = (
        trained(SGD(eta=eta, average=average), problem, 3, initial) for eta in (best, "auto")
    )
    np.testing.assert_array_equal(fixed, chosen)


def test_auto_asks_the_judge():
    problem = problem_of()
    # who is nearest to small weights
    problem.judge = lambda weights: -abs(np.abs(weights).max() - 0.05)
    assert SGD().init(problem, np.zeros(problem.dimension)).eta in (0.01, 0.1)
    problem.judge = lambda weights: 0.0
    assert SGD().init(problem, np.zeros(problem.dimension)).eta == CANDIDATES[0]


@pytest.mark.parametrize(
    ("scores", "best"), [([1, 3, 2], 1), ([2, 2, 2], 0), ([nan, 1, inf], 1), ([nan, nan, nan], 0)]
)
def test_best_rate(scores, best):
    rates = (0.1, 1.0, 10.0)
    assert (
        best_rate(
            rates, lambda eta: np.array([eta]), lambda weights: scores[rates.index(weights[0])]
        )
        == rates[best]
    )
    assert (
        best_rate(rates, lambda eta: np.array([eta if eta > 0.5 else inf]), lambda weights: 0.0)
        == 1.0
    )


def test_refuses_rates_that_overshoot():
    problem = problem_of(C=0.5)  # 1/lambda = 3
    start = np.zeros(problem.dimension)
    with pytest.raises(ConfigError) as caught, keyed():
        SGD(eta=3.0).init(problem, start)
    assert str(caught.value) == (
        "optimizer.eta=3 is too large: eta * lambda must be below 1. Here lambda = 1/(C m) with "
        "C=0.5 and m=6, so that "
        "optimizer.eta must be below 3. Set it so, or raise optimizer.C."
    )
    SGD(eta=2.999).init(problem, start)
    with pytest.raises(
        ConfigError,
        match=r"`eta='auto'`, which begins with 0\.001, is too large.* below 0\.0006\.",
    ):
        SGD().init(problem_of(C=1e-4), start)


def test_the_certificate_is_below_the_optimum_and_closes():
    problem = problem_of(CRF)
    gaps = [
        np.subtract(*problem.certificate(trained(SGD(eta=1.0), problem, passes)))
        for passes in (1, 100)
    ]
    assert gaps[0] > 0.05 > 1e-4 > gaps[1] >= 0
