"""MIRA: the contract, and every step against the quadratic program of the listed outputs."""

from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.core.optimizer_state import values_of
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.learn.mira import empty_lists, k_best_pass
from structopt.kernels.learn.proximal_step import empty_bundle
from structopt.kernels.waist.interruptible import run_driver
from structopt.loss.family import LossFamily
from structopt.optimizer import mira
from structopt.optimizer.dca import DCA
from structopt.optimizer.mira import MIRA
from structopt.reference.mira_program import k_best_step
from structopt.reference.proximal_step import proximal_step
from structopt.testing.inference import best_listed
from structopt.testing.problems import (
    gold_and_cost,
    instance_scores,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)
from tests.optimizer.classes import ListedSuite
from tests.optimizer.composed import abilities
from tests.optimizer.listings import listed_instance

variants = pytest.mark.parametrize("variant", ["max_loss", "prediction"])
CORPORA = [
    {},
    {"order": 2},
    {"anchored": True, "values": True},
    {"constrained": True, "partial": True},
    {"support": "all"},
]


def problem_of(
    C=0.5, seed=0, order=1, inference=None, variant="max_loss", support="seen", gamma=1.0, **options
):
    encoded = random_encoded(4, **({"lengths": (1, 2, 3, 4, 3, 2)} | options))
    loss = LossFamily(inf, gamma)
    return make_problem(
        encoded, LinearChain(order), loss, inference or Exact(), C, seed, support, variant
    )


def trained(problem, method, count, weights):
    state, losses = method.init(problem, weights), 0.0
    for _ in range(count):
        state, report = method.step(problem, state)
        losses += report.loss
    return method.weights(state), losses


def best_rows(problem, i, theta, k, gamma):
    """Rows and costs of the k best outputs; which of those that tie is left to the inference."""
    listed, (gold, cost) = (
        outputs(problem, i),
        gold_and_cost(problem, i, np.diff(problem.structure.parts)[i]),
    )
    margins = (listed.vertices - listed.gold) @ (listed.features @ theta) + gamma * listed.costs
    s = instance_scores(problem, theta, i) + gamma * cost
    values, vertices = best_listed(problem.list_kernels.k_best, problem.structure, i, s, k)
    np.testing.assert_allclose(values - gold @ s, np.sort(margins)[::-1][:k], atol=1e-9)
    return (vertices - gold) @ listed.features, (vertices - gold) @ cost


def visits(problem, k, variant, count, theta):
    """Weights before each visit, after the last, and the losses: single visits, each compared with
    the program's solution.

    Each begins where the last one ended, to the bit, since steps make ties, and rounding decides
    which output is listed.
    """
    gamma, theta, visited, losses = problem.loss.gamma, theta.copy(), [], 0.0
    bundle = empty_bundle(k, problem.examples.most_parts, problem.dimension)
    lists, totals = empty_lists(k, problem.structure.most_active), np.zeros(2)
    for i in (i for epoch in range(count) for i in problem.order(epoch)):
        visited.append(theta.copy())
        rows, costs = best_rows(problem, i, theta, k, gamma if variant == "max_loss" else 0.0)
        rest = np.zeros(0), 0.0, problem.C, variant == "prediction", lists, bundle, totals
        of = problem.list_kernels, problem.data, problem.space
        run_driver(k_best_pass, *of, np.array([i]), theta, *rest)
        losses += totals[0]
        assert totals[0] == pytest.approx(rows[0] @ visited[-1] + gamma * costs[0], abs=1e-9)
        np.testing.assert_allclose(
            theta, k_best_step(visited[-1], rows, gamma * costs, problem.C), atol=1e-6
        )
    return visited, theta, losses


@pytest.mark.parametrize("k_best", [1, 5])
@variants
class TestMira(ListedSuite):
    start = 0.3  # at zero weights outputs tie
    many, decrease = 1, 0.97  # the first pass only: later ones add without removing, and P may rise

    @pytest.fixture
    def optimizer(self, variant, k_best):
        return lambda: MIRA(variant=variant, k_best=k_best)

    @pytest.fixture
    def problem(self, variant):
        return partial(problem_of, 0.1, variant=variant)

    def test_objective_decreases(self, optimizer, problem, variant, k_best):
        if (variant, k_best) == ("prediction", 1):
            pytest.skip("the one output that is looked at is not the one whose loss is counted")
        super().test_objective_decreases(optimizer, problem)


@pytest.mark.parametrize("options", CORPORA)
@pytest.mark.parametrize("k", [2, 4])
@variants
def test_every_step_solves_its_program(variant, k, options):
    problem = problem_of(0.3, variant=variant, gamma=1.5, **options)
    start = random_weights(problem, 1, 0.3)
    visited, last, losses = visits(problem, k, variant, 2, start)
    averaged, met = trained(problem, MIRA(variant=variant, k_best=k), 2, start)
    np.testing.assert_allclose(averaged, np.mean(visited, axis=0), atol=1e-9)
    assert met == pytest.approx(losses)
    np.testing.assert_array_equal(
        trained(problem, MIRA(variant=variant, k_best=k, average=False), 2, start)[0], last
    )


@pytest.mark.parametrize("C", [0.02, 0.5, 20.0])
def test_a_list_of_all_outputs_gives_the_proximal_step_of_the_loss(C):
    problem = problem_of(C, lengths=(3, 2, 3))
    theta = start = random_weights(problem, 3, 0.5)
    for i in problem.order(0):
        theta = proximal_step(theta, listed_instance(problem, i), C, inf, 1.0)
    np.testing.assert_allclose(
        trained(problem, MIRA(k_best=27, average=False), 1, start)[0], theta, atol=1e-6
    )


@pytest.mark.parametrize("average", [False, True])
@variants
def test_one_best_is_dual_coordinate_ascent_to_the_last_bit(variant, average):
    problem = problem_of(variant=variant)
    start = random_weights(problem, 1, 0.3)
    methods = [cls(average=average, variant=variant) for cls in (MIRA, DCA)]
    np.testing.assert_array_equal(*(trained(problem, method, 3, start)[0] for method in methods))


@variants
def test_the_second_best_matters(variant):
    problem = problem_of(variant=variant)
    start = random_weights(problem, 1, 0.3)
    one, two = (trained(problem, MIRA(variant=variant, k_best=k), 2, start)[0] for k in (1, 2))
    assert np.abs(one - two).max() > 0.01


def test_without_losses_nothing_moves():
    """After enough passes over separable data every margin is as large as its cost."""
    problem = problem_of(10.0, lengths=(2, 3), attributes=40)
    weights = trained(problem, MIRA(k_best=3, average=False), 50, np.zeros(problem.dimension))[0]
    assert problem.losses(weights) <= 1e-9
    again, loss = trained(problem, MIRA(k_best=3, average=False), 1, weights)
    np.testing.assert_allclose(again, weights, atol=1e-9)
    assert loss <= 1e-9


def verified(problem, method, passes):
    state = method.init(problem, random_weights(problem, 1, 0.3))
    for _ in range(passes):
        state, _ = method.step(problem, state)
    kept = {name: np.copy(value) for name, value in values_of(state).items()}
    difference = method.verify(problem, state, range(problem.m))
    for name, value in values_of(state).items():
        np.testing.assert_array_equal(value, kept[name])
    return difference


@pytest.mark.parametrize("options", [{}, {"anchored": True, "values": True}])
@pytest.mark.parametrize("k", [1, 4])
@variants
def test_verify_finds_no_difference(variant, k, options):
    problem = problem_of(variant=variant, **options)
    assert verified(problem, MIRA(variant=variant, k_best=k), 1) <= 1e-8


@pytest.mark.parametrize("k", [1, 4])
def test_verify_finds_a_step_that_is_too_short(k, monkeypatch):
    problem = problem_of()
    data, kernels = (problem.data, problem.space), problem.kernels

    def shortened(driver, kernels, data, space, order, theta, *rest):
        before = theta.copy()
        run_driver(driver, kernels, data, space, order, theta, *rest)
        theta -= 0.01 * (theta - before)

    monkeypatch.setattr(
        problem, "run", lambda driver, *rest: shortened(driver, kernels, *data, *rest)
    )
    monkeypatch.setattr(mira, "run_driver", shortened)
    assert verified(problem, MIRA(k_best=k), 1) > 1e-4


def test_needs_lists_only_where_k_is_above_one():
    assert abilities(MIRA()) == Ability.MAP
    assert abilities(MIRA(k_best=2)) == Ability.K_BEST
