"""Pegasos: the contract, every step by dense vectors, the ball, the delay, and cvxpy's optimum."""

from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.errors import CompatibilityError
from structopt.loss.family import LossFamily
from structopt.optimizer.pegasos import Pegasos
from structopt.testing.problems import loss_and_gradient, random_weights
from tests.covering import covering
from tests.optimizer.classes import OnlineSuite
from tests.optimizer.composed import check
from tests.optimizer.online import (
    CRF,
    MARGIN,
    MEMBERS,
    RAMP,
    SHAPES,
    SVM,
    excess,
    optimum,
    problem_of,
    run,
)

members = pytest.mark.parametrize("member", MEMBERS)


def by_hand(problem, batch, passes, weights, delay):
    """Weights before every step, the last ones, losses of every pass, and how many projections
    there were.
    """
    radius = np.sqrt(problem.objective(np.zeros(problem.dimension)) / problem.regularization)
    theta, before, losses, t, projections = weights.copy(), [], [], 0, 0
    for epoch in range(passes):
        losses.append(0.0)
        order = problem.order(epoch)
        for first in range(0, problem.m, batch):
            pairs = [loss_and_gradient(problem, theta, i) for i in order[first : first + batch]]
            before.append(theta)
            losses[-1] += sum(loss for loss, _ in pairs)
            t += 1
            mean = np.mean([gradient for _, gradient in pairs], axis=0)
            theta = (1 - 1 / (t + delay)) * theta - mean / (problem.regularization * (t + delay))
            length = np.linalg.norm(theta)
            if length > radius:
                theta, projections = theta * radius / length, projections + 1
    return before, theta, losses, projections


@pytest.mark.parametrize(
    ("member", "options"),
    [(CRF, {}), (SVM, {"average": True}), (MARGIN, {"batch_size": 4, "delay": "auto"})],
)
class TestPegasos(OnlineSuite):
    many = 40

    @pytest.fixture
    def optimizer(self, options):
        return lambda: Pegasos(**options)

    @pytest.fixture
    def problem(self, member):
        return partial(problem_of, member, 1.0)


@pytest.mark.parametrize(("member", "options", "batch"), covering(MEMBERS, SHAPES, [1, 4, 9]))
def test_steps(member, options, batch):
    for C, delay in ((0.1, 0.0), (5.0, 0.0), (5.0, 2.5)):
        problem = problem_of(member, C, **options)
        initial = random_weights(problem, 1)
        before, last, losses, projections = by_hand(problem, batch, 3, initial, delay)
        assert projections > 0 or C < 1 or delay > 0
        method = Pegasos(batch_size=batch, average=True, delay=delay)
        state, reported = run(method, problem, 3, initial)
        np.testing.assert_allclose(state.theta, last, atol=1e-9)
        averaged = np.average(before, axis=0, weights=np.arange(1, len(before) + 1))
        np.testing.assert_allclose(method.weights(state), averaged, atol=1e-9)
        np.testing.assert_allclose(reported, losses, rtol=1e-9, atol=1e-9)


@members
def test_delay_makes_the_first_step_a_third_of_that_of_polyak(member):
    problem = problem_of(member, 3.0)
    zero = np.zeros(problem.dimension)
    square = np.mean(
        [np.sum(loss_and_gradient(problem, zero, i)[1] ** 2) for i in range(problem.m)]
    )
    state = Pegasos(delay="auto").init(problem, random_weights(problem))
    assert 1 / (problem.regularization * state.delay) == pytest.approx(
        problem.objective(zero) / (3 * square), rel=1e-12
    )
    assert Pegasos().init(problem, zero).delay == 0.0


@members
def test_delay_spares_the_long_first_steps_of_a_large_C(member):
    excesses = {
        delay: excess(Pegasos(average=True, delay=delay), member, 30.0, (1,))
        for delay in (0.0, "auto")
    }
    assert excesses["auto"][0] < 0.5 * excesses[0.0][0]


@members
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_iterates_stay_in_a_ball_that_holds_the_optimum(member, C):
    problem, method = problem_of(member, C), Pegasos()
    radius = np.sqrt(problem.objective(np.zeros(problem.dimension)) / problem.regularization)
    assert np.linalg.norm(optimum(member, C).weights) < radius
    state = method.init(problem, np.zeros(problem.dimension))
    lengths = [np.linalg.norm(method.step(problem, state)[0].theta) for _ in range(60)]
    assert max(lengths) <= radius * (1 + 1e-12)
    assert max(lengths) > 0.1 * radius


def test_refuses_losses():
    with pytest.raises(
        CompatibilityError, match=r"optimizer=pegasos needs a convex loss, which ramp .* is not"
    ):
        check(Pegasos(), RAMP)
    with pytest.raises(CompatibilityError) as caught:
        check(Pegasos(), LossFamily(inf, 0.0))
    assert str(caught.value) == (
        "optimizer=pegasos needs a loss at zero weights, the size of its ball, and perceptron "
        "(beta=inf, gamma=0) has "
        "none: P(0) = 0. Set loss.gamma=1."
    )
    for member in (CRF, SVM, (2.0, 0.0)):
        check(Pegasos(), LossFamily(*member))
