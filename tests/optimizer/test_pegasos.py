"""Pegasos: the contract, every step by dense vectors, the ball, the delay, and cvxpy's optimum."""

from math import inf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError
from structopt.inference.enumeration import Enumeration
from structopt.loss.family import LossFamily
from structopt.optimizer.pegasos import Pegasos
from structopt.testing.optimizer import OptimizerSuite
from structopt.testing.problems import loss_and_gradient, random_weights
from tests.optimizer.composed import abilities, check
from tests.optimizer.online import (
    CRF,
    MEMBERS,
    RAMP,
    SHAPES,
    SVM,
    excess,
    optimum,
    problem_of,
    run,
    trained,
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


@members
@pytest.mark.parametrize("options", [{}, {"average": True}, {"batch_size": 4, "delay": "auto"}])
class TestPegasos(OptimizerSuite):
    many = 40

    @pytest.fixture
    def optimizer(self, options):
        return lambda: Pegasos(1.0, **options)

    @pytest.fixture
    def problem(self, member):
        return lambda seed: problem_of(member, 1.0, seed)


@members
@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("batch", [1, 4, 9])
def test_steps(member, options, batch):
    for C, delay in ((0.1, 0.0), (5.0, 0.0), (5.0, 2.5)):
        problem = problem_of(member, C, **options)
        initial = random_weights(problem, 1)
        before, last, losses, projections = by_hand(problem, batch, 3, initial, delay)
        assert projections > 0 or C < 1 or delay > 0
        method = Pegasos(C, batch_size=batch, average=True, delay=delay)
        state, reported = run(method, problem, 3, initial)
        np.testing.assert_allclose(state["theta"], last, atol=1e-9)
        averaged = np.average(before, axis=0, weights=np.arange(1, len(before) + 1))
        np.testing.assert_allclose(method.weights(state), averaged, atol=1e-9)
        np.testing.assert_allclose(reported, losses, rtol=1e-9, atol=1e-9)


@members
@pytest.mark.parametrize("options", [{}, {"average": True}, {"batch_size": 4}])
def test_falls_to_the_optimum(member, options):
    for C in (0.1, 1.0):
        excesses = excess(Pegasos(C, **options), member, C, (1, 10, 150))
        assert all(later < earlier for earlier, later in zip(excesses, excesses[1:], strict=False))
        assert -1e-6 < excesses[-1] < 0.05


@members
def test_delay_makes_the_first_step_a_third_of_that_of_polyak(member):
    problem = problem_of(member, 3.0)
    zero = np.zeros(problem.dimension)
    square = np.mean(
        [np.sum(loss_and_gradient(problem, zero, i)[1] ** 2) for i in range(problem.m)]
    )
    state = Pegasos(3.0, delay="auto").init(problem, random_weights(problem))
    assert 1 / (problem.regularization * state["delay"]) == pytest.approx(
        problem.objective(zero) / (3 * square), rel=1e-12
    )
    assert Pegasos(3.0).init(problem, zero)["delay"] == 0.0


@members
def test_delay_spares_the_long_first_steps_of_a_large_C(member):
    excesses = {
        delay: excess(Pegasos(30.0, average=True, delay=delay), member, 30.0, (1,))
        for delay in (0.0, "auto")
    }
    assert excesses["auto"][0] < 0.5 * excesses[0.0][0]


@members
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_iterates_stay_in_a_ball_that_holds_the_optimum(member, C):
    problem, method = problem_of(member, C), Pegasos(C)
    radius = np.sqrt(problem.objective(np.zeros(problem.dimension)) / problem.regularization)
    assert np.linalg.norm(optimum(member, C).weights) < radius
    state = method.init(problem, np.zeros(problem.dimension))
    lengths = [np.linalg.norm(method.step(problem, state)[0]["theta"]) for _ in range(60)]
    assert max(lengths) <= radius * (1 + 1e-12)
    assert max(lengths) > 0.1 * radius


@members
def test_state_keeps_to_the_support(member):
    problem = problem_of(member)
    state, _ = run(Pegasos(average=True), problem, 2)
    free = ~problem.scorer.support
    assert free.any()
    assert all(not state[name][free].any() and state[name].any() for name in ("theta", "total"))


@members
def test_plain_python_kernels_give_the_same_weights(member):
    method, slow = Pegasos(average=True, batch_size=4), problem_of(member, inference=Enumeration())
    np.testing.assert_allclose(
        trained(method, problem_of(member), 2), trained(method, slow, 2), atol=1e-10
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": inf}, r"optimizer\.C=inf must be greater than 0 and finite"),
        ({"delay": -1.0}, r"optimizer\.delay=-1.0 must be at least 0"),
        ({"batch_size": 0}, r"optimizer\.batch_size=0 must be at least 1"),
        (
            {"tolerance": 0.1},
            r"optimizer\.tolerance needs a certified gap; add optimizer\.certificate=true",
        ),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Pegasos(**arguments)


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
        "none: P(0) = 0. Type loss.gamma=1."
    )
    for member in (CRF, SVM, (2.0, 0.0)):
        check(Pegasos(), LossFamily(*member))


def test_certificates_need_a_bound():
    assert abilities(Pegasos(certificate=True)) == Ability.UPPER | Ability.CONVEX
    assert abilities(Pegasos()) == Ability(0)
