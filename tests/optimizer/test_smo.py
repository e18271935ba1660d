"""Factored SMO: the contract, every pair step against listed outputs, and the optimum."""

from functools import partial
from math import inf

import numpy as np
import pytest
from scipy.optimize import nnls

from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.exact import Exact
from structopt.loss.cost.hamming_normalized import HammingNormalized
from structopt.loss.family import HAMMING, LossFamily
from structopt.optimizer.smo import SMO
from structopt.testing.problems import (
    gold_and_cost,
    make_problem,
    outputs,
    random_encoded,
    random_graphs,
    random_weights,
)
from tests.optimizer.classes import DualSuite
from tests.optimizer.composed import abilities, check

HARD = {"constrained": True, "partial": True}
CORPORA = [
    {},
    {"anchored": True, "values": True},
    {"support": "seen"},
    HARD,
    {"lengths": (1,) * 6},
    {"order": 2} | HARD,
]
corpora = pytest.mark.parametrize("options", CORPORA, ids=str)


def problem_of(
    C=0.5, seed=0, gamma=1.0, inference=None, support="all", cost=HAMMING, order=1, **options
):
    encoded = random_encoded(4, **{"lengths": (1, 2, 3, 4, 3, 2)} | options)
    loss = LossFamily(inf, gamma, cost)
    return make_problem(
        encoded, LinearChain(order), loss, inference or Exact(), C, seed, support, positional=True
    )


def trained(problem, passes, method=None):
    """State, weights after every pass, and reports."""
    method = method or SMO()
    state, weights, reports = method.init(problem, np.zeros(problem.dimension)), [], []
    for _ in range(passes):
        state, report = method.step(problem, state)
        weights.append(method.weights(state).copy())
        reports.append(report)
    return state, weights, reports


def assert_bounds(problem, weights, reports, best):
    """D <= P* <= P at every pass; D never falls. The minimum by Clarabel is accurate to about
    1e-8.
    """
    duals = [report.dual for report in reports]
    assert max(duals) <= best.value * (1 + 1e-7)
    assert min(map(problem.objective, weights)) >= best.value * (1 - 1e-7)
    assert np.diff(duals).min() >= -1e-11


def listed_smo(problem, theta, residuals, order):
    """One pass of factored SMO over lists of outputs, dense: residuals and D after it, and losses
    before each visit.
    """
    C, gamma, m = problem.C, problem.loss.gamma, problem.m
    theta, moved_residuals, losses, cost, moved = (
        theta.copy(),
        residuals.copy(),
        0.0,
        0.0,
        np.zeros(problem.dimension),
    )
    for i in order:
        listed, inside = outputs(problem, i), slice(*problem.structure.parts[i : i + 2])
        p = gamma * gold_and_cost(problem, i, len(listed.gold))[1]
        mu = moved_residuals[inside] + listed.gold
        s = listed.features @ theta + p
        values = listed.vertices @ s
        losses += values.max() - listed.gold @ s
        possible = ~((listed.vertices > 0) & (mu <= 1e-12)).any(axis=1)
        y1, y0 = int(values.argmax()), int(np.where(possible, values, inf).argmin())
        e = listed.vertices[y1] - listed.vertices[y0]
        if s @ e > 1e-9:
            step = e @ listed.features
            delta = min((s @ e) / (C * (step @ step)) if step @ step > 0 else inf, mu[e < 0].min())
            mu += delta * e
            theta -= C * delta * step
        moved_residuals[inside] = mu - listed.gold
        cost += p @ moved_residuals[inside]
        moved -= C * moved_residuals[inside] @ listed.features
    return moved_residuals, moved, cost / m - moved @ moved / (2 * C * m), losses


@corpora
class TestFactoredSMO(DualSuite):
    many, decrease = 10, 0.9
    python_passes = 1  # a step makes two outputs tie: later, rounding decides

    @pytest.fixture
    def optimizer(self):
        return lambda: SMO()

    @pytest.fixture
    def problem(self, options):
        return partial(problem_of, 0.3, gamma=2.0, **options)

    def test_starts_from_given_weights(self, optimizer, problem):
        """No dual point belongs to given weights, so that they are refused; zeros are not."""
        method, small = optimizer(), problem(seed=0)
        with pytest.raises(
            ConfigError,
            match="optimizer=smo starts from dual variables, which weights do not determine",
        ):
            method.init(small, random_weights(small, 1))
        assert not method.weights(method.init(small, np.zeros(small.dimension))).any()


@pytest.mark.parametrize(
    ("options", "before"), [*((o, 0) for o in CORPORA), *((o, 2) for o in CORPORA if o is not HARD)]
)
@pytest.mark.parametrize("C", [0.05, 3.0])
def test_steps_are_those_of_listed_outputs(options, C, before):
    """From weights moved at random, so that no two outputs tie (a few do, in a constrained chain
    after some passes).
    """
    problem = problem_of(C, **options)
    method = SMO()
    state = trained(problem, before, method)[0]
    state.theta += random_weights(problem, 6, 0.3)
    point = state.theta.copy(), state.residuals.copy()
    residuals, theta, dual, losses = listed_smo(problem, *point, problem.order(before))
    state, report = method.step(problem, state)
    assert np.abs(residuals - point[1]).max() > 0.01
    np.testing.assert_allclose(state.residuals, residuals, atol=1e-9)
    np.testing.assert_allclose(state.theta, theta, atol=1e-8)
    assert report.dual == pytest.approx(dual, abs=1e-9)
    assert report.loss == pytest.approx(losses, abs=1e-8)


def test_more_steps_a_visit_climb_higher():
    problem = problem_of(3.0, lengths=(4,))
    duals = [trained(problem, 1, SMO(steps=steps))[2][0].dual for steps in (1, 2, 4, 8)]
    assert (np.diff(duals) > 1e-6).all()


@pytest.mark.parametrize(
    "cost", [HAMMING, HammingNormalized()], ids=["hamming", "hamming_normalized"]
)
def test_dual_point_is_feasible_and_has_the_reported_value(cost):
    problem = problem_of(1.0, cost=cost)
    state, weights, reports = trained(problem, 5)
    theta, total = np.zeros(problem.dimension), 0.0
    for i in range(problem.m):
        listed = outputs(problem, i)
        inside = slice(*problem.structure.parts[i : i + 2])
        mu = state.residuals[inside] + listed.gold
        assert mu.min() >= 0
        coefficients = np.linalg.lstsq(listed.vertices.T, mu, rcond=None)[0]
        # in the affine hull: locally consistent
        np.testing.assert_allclose(coefficients @ listed.vertices, mu, atol=1e-9)
        assert coefficients.sum() == pytest.approx(1, abs=1e-9)
        theta += problem.C * (listed.gold - mu) @ listed.features
        total += coefficients @ listed.costs
    np.testing.assert_allclose(weights[-1], theta, atol=1e-10)
    assert reports[-1].dual == pytest.approx(
        total / problem.m - theta @ theta / (2 * problem.m), abs=1e-9
    )


def test_finishes_when_every_instance_is_in_balance():
    problem = problem_of(0.05)
    state, _, reports = trained(problem, 400, SMO(steps=10))
    settled = [epoch for epoch, report in enumerate(reports) if report.finished]
    assert settled
    assert settled[0] > 1
    assert reports[settled[0]].finished == "no instance has two outputs to move mass between"
    assert problem.objective(state.theta) - reports[settled[0]].dual <= 1e-8
    np.testing.assert_allclose(reports[-1].dual, reports[settled[0]].dual, rtol=1e-12)


def test_requires_exact_maximisation():
    assert abilities(SMO()) == Ability.MAP | Ability.EXACT


def test_steps_may_leave_the_marginals_of_graphs_with_loops():
    """Why such graphs are refused, although their best outputs are known."""
    with pytest.raises(CompatibilityError, match="may leave the marginal polytope"):
        check(SMO(), LossFamily(inf, 1.0), Pairwise("complete"))
    problem = make_problem(
        random_graphs(0, (4, 4)), Pairwise("complete"), LossFamily(inf, 1.0), Exact(), 2.0
    )
    state, distances = SMO().init(problem, np.zeros(problem.dimension)), []
    for _ in range(40):
        state, _ = SMO().step(problem, state)
        for i in range(2):
            first, last = problem.structure.parts[i : i + 2]
            listed = outputs(problem, i)
            mu = state.residuals[first:last] + listed.gold
            corners = np.vstack([listed.vertices.T, np.ones(len(listed.vertices))])
            distances.append(nnls(corners, np.append(mu, 1.0))[1])
    assert max(distances) > 1e-3
    assert min(distances) < 1e-9


def test_asks_for_positional_parts():
    assert SMO().needs(LossFamily(inf, 1.0), LinearChain()).positional
    with pytest.raises(
        CompatibilityError, match="optimizer=smo needs marginals of every position in closed form"
    ):
        check(SMO(), LossFamily(inf, 1.0), ArcFactored())
