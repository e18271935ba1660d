"""The averaged perceptron: the contract, every step by hand, and what a mistake is."""

from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.optimizer.perceptron import Perceptron
from structopt.testing.optimizer import passes
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)
from tests.optimizer.classes import ListedSuite
from tests.optimizer.composed import check


def problem_of(seed=0, order=1, inference=None, support="seen", C=0.5, **options):
    encoded = random_encoded(4, **({"lengths": (1, 2, 3, 4, 3, 2)} | options))
    return make_problem(
        encoded, LinearChain(order), LossFamily(inf, 0.0), inference or Exact(), C, seed, support
    )


def iterates(problem, count, theta):
    """Weights before each visit, after the last, and the sum of the losses."""
    theta, visited, losses = theta.copy(), [], 0.0
    for epoch in range(count):
        for i in problem.order(epoch):
            visited.append(theta.copy())
            loss, gradient = loss_and_gradient(problem, theta, i)
            theta, losses = theta - gradient, losses + loss
    return visited, theta, losses


def trained(problem, count, weights=None, **options):
    method = Perceptron(**options)
    state, reports = (
        method.init(problem, np.zeros(problem.dimension) if weights is None else weights),
        [],
    )
    for _ in range(count):
        state, report = method.step(problem, state)
        reports.append(report)
    return method.weights(state), reports


def wrong(problem, theta):
    """Instances whose best output is not the gold one, or ties with another."""
    count = 0
    for i in range(problem.m):
        listed = outputs(problem, i)
        margins = (listed.vertices - listed.gold) @ (listed.features @ theta)
        count += int((margins[listed.costs > 0] >= 0).any())
    return count


@pytest.mark.parametrize("average", [False, True])
class TestAveragedPerceptron(ListedSuite):
    start = 0.1  # at zero weights all outputs tie

    @pytest.fixture
    def optimizer(self, average):
        return lambda: Perceptron(average=average)

    @pytest.fixture
    def problem(self):
        return partial(problem_of, C=0.1)

    def test_objective_decreases(self, optimizer, problem):
        """Zero weights have no loss: instead, the loss during passes falls, and the number of
        mistakes.
        """
        method, small = optimizer(), problem(seed=0)
        initial = random_weights(small, 1)
        state = passes(method, small, method.init(small, initial), 50)
        assert small.losses(method.weights(state)) <= 0.5 * small.losses(initial)
        assert wrong(small, method.weights(state)) < wrong(small, initial)


@pytest.mark.parametrize(
    "options", [{}, {"order": 2}, {"anchored": True, "values": True}, {"constrained": True}]
)
def test_average_is_the_mean_of_the_iterates_before_each_update(options):
    problem = problem_of(**options)
    visited, last, losses = iterates(problem, 3, np.zeros(problem.dimension))
    averaged, reports = trained(problem, 3)
    np.testing.assert_allclose(averaged, np.mean(visited, axis=0), atol=1e-12)
    np.testing.assert_array_equal(trained(problem, 3, average=False)[0], last)
    assert sum(report.loss for report in reports) == pytest.approx(losses, abs=1e-9)


def test_steps_by_hand():
    """theta += phi(gold) - phi(best), with the best output found in a list, and without its
    cost.
    """
    problem = problem_of(support="all")
    theta = start = random_weights(problem, 2, 0.5)
    mistakes = 0
    for i in problem.order(0):
        listed = outputs(problem, i)
        best = int((listed.vertices @ (listed.features @ theta)).argmax())
        mistakes += listed.costs[best] > 0
        theta = theta + (listed.gold - listed.vertices[best]) @ listed.features
    assert 0 < mistakes < problem.m
    np.testing.assert_allclose(trained(problem, 1, start, average=False)[0], theta, atol=1e-12)


def test_a_tie_that_decodes_wrongly_is_a_mistake():
    """At zero weights every output ties and every loss is 0; yet the first pass moves."""
    problem = problem_of(lengths=(4,))
    assert loss_and_gradient(problem, np.zeros(problem.dimension), 0)[0] == 0.0
    weights, reports = trained(problem, 1, average=False)
    assert reports[0].loss == 0.0
    assert np.abs(weights).max() >= 1.0


def test_without_mistakes_nothing_moves():
    problem = problem_of(lengths=(2, 3), attributes=40)
    weights, _ = trained(problem, 100, average=False)
    assert wrong(problem, weights) == 0
    again, reports = trained(problem, 1, weights, average=False)
    np.testing.assert_array_equal(again, weights)
    assert reports[0].loss == 0.0


def test_takes_the_perceptron_loss():
    check(Perceptron(), LossFamily(inf, 0.0))
