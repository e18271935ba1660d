"""L-BFGS with an l1 norm: the contract, cvxpy's optimum and its bounds, zeros, and each step within
its orthant.
"""

from functools import partial

import numpy as np
import pytest

from structopt.config.fit_settings import FitSettings
from structopt.core.weights.penalty import LASSO, Penalty
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.optimizer.lbfgs import LBFGS
from structopt.testing.problems import make_problem, random_encoded, random_weights
from tests.optimizer.classes import BatchSuite
from tests.optimizer.listings import minimum_of

CRF, MARGIN, RISK = LossFamily(1.0, 0.0), LossFamily(3.0, 2.5), LossDifference(1.0, 1.0)
OPTIONS = [{"penalty": "l1"}, {"penalty": "elastic"}, {"penalty": "elastic", "c1": 0.4, "c2": 0.05}]
options = pytest.mark.parametrize(
    "chosen", OPTIONS, ids=lambda chosen: "-".join(map(str, chosen.values()))
)


def problem_of(C, chosen, loss=CRF, inference=None, support="seen", seed=0):
    encoded = random_encoded(4, lengths=(1, 2, 3, 4, 3, 2))
    penalty = FitSettings(C, **chosen).regulariser
    return make_problem(
        encoded, LinearChain(), loss, inference or Exact(), C, seed, support, penalty=penalty
    )


def trained(method, problem, count, weights=None):
    """State after some iterations, or where the method ends, and all reports."""
    state, reports = (
        method.init(problem, np.zeros(problem.dimension) if weights is None else weights),
        [],
    )
    while len(reports) < count and not (reports and reports[-1].finished):
        state, report = method.step(problem, state)
        reports.append(report)
    return state, reports


def smooth_gradient(problem, weights):
    """Gradient of P without its l1 norm, dense."""
    decay = problem.regularization * problem.penalty.l2
    return decay * weights + problem.gradient(weights)[1] / problem.m


@pytest.mark.parametrize(
    ("loss", "chosen"),
    [(CRF, OPTIONS[0]), (MARGIN, OPTIONS[1]), (CRF, OPTIONS[2]), (RISK, OPTIONS[2])],
    ids=["crf", "margin", "elastic", "risk"],
)
class TestOWLQN(BatchSuite):
    @pytest.fixture
    def optimizer(self, chosen):
        return lambda: LBFGS(memory=3)

    @pytest.fixture
    def problem(self, loss, chosen):
        return partial(problem_of, 2.0, chosen, loss)


@options
def test_zeros_are_where_no_weight_would_pay(chosen):
    method = LBFGS(gradient_tolerance=1e-7)
    problem = problem_of(1.0, chosen, support="all")
    theta = trained(method, problem, 500)[0].theta
    level = problem.regularization * problem.penalty.l1
    gradient, zero = smooth_gradient(problem, theta), theta == 0
    assert 0 < zero.sum() < len(theta)
    assert np.abs(gradient[zero]).max() <= level * (1 + 1e-5)
    np.testing.assert_allclose(gradient[~zero], -level * np.sign(theta[~zero]), atol=1e-5 * level)


@options
def test_every_iteration_goes_down_within_an_orthant(chosen):
    method, problem = LBFGS(), problem_of(3.0, chosen)
    before = random_weights(problem, 3)
    state, value = method.init(problem, before), problem.objective(before)
    level = problem.regularization * problem.penalty.l1
    for _ in range(8):
        gradient = smooth_gradient(problem, before)
        side = np.where(
            before != 0, np.sign(before), -np.sign(gradient) * (np.abs(gradient) > level)
        )
        state, report = method.step(problem, state)
        after = method.weights(state)
        assert (after * side >= 0).all() and not after[side == 0].any()
        assert report.primal == pytest.approx(problem.objective(after), rel=1e-12)
        assert report.primal < value
        assert report.loss == pytest.approx(problem.losses(after), rel=1e-12)
        before, value = after.copy(), report.primal


def test_pairs_are_of_the_smooth_gradient_and_the_projected_step():
    method, problem = LBFGS(memory=20), problem_of(3.0, {"penalty": "elastic"})
    state, rows = method.init(problem, np.zeros(problem.dimension)), problem.scorer
    theta, gradients = (
        [np.zeros(rows.count)],
        [rows.compress(smooth_gradient(problem, np.zeros(problem.dimension)))],
    )
    for _ in range(8):
        state, _ = method.step(problem, state)
        theta.append(rows.compress(state.theta).copy())
        gradients.append(rows.compress(smooth_gradient(problem, state.theta)))
    assert state.pairs == 8
    np.testing.assert_allclose(state.steps[:8], np.diff(theta, axis=0), atol=1e-15)
    np.testing.assert_allclose(state.changes[:8], np.diff(gradients, axis=0), atol=1e-12)


def test_numbers_of_crfsuite_are_those_of_the_problem():
    """m P = c1 ||theta||_1 + c2 ||theta||^2 + sum of L, whatever C is."""
    for C in (0.5, 7.0):
        problem = problem_of(C, {"penalty": "elastic", "c1": 0.3, "c2": 0.2})
        theta = random_weights(problem, 1)
        expected = 0.3 * np.abs(theta).sum() + 0.2 * theta @ theta + problem.losses(theta)
        assert problem.m * problem.objective(theta) == pytest.approx(expected, rel=1e-12)
    assert FitSettings(4.0, penalty="l1").regulariser == LASSO
    assert FitSettings(4.0, penalty="elastic").regulariser == Penalty(1.0, 1.0)


def test_without_an_l1_norm_it_is_lbfgs():
    choices = {"penalty": "elastic", "c1": 0.0}, {}
    (a, left), (b, right) = (trained(LBFGS(), problem_of(2.0, one), 9) for one in choices)
    np.testing.assert_array_equal(a.theta, b.theta)
    assert [(r.primal, r.dual) for r in left] == [(r.primal, r.dual) for r in right]
    halved = LBFGS(gradient_tolerance=1e-7)
    problem = problem_of(2.0, choices[0] | {"c2": 0.125})
    assert trained(halved, problem, 200)[1][-1].dual == pytest.approx(
        minimum_of(problem).value, rel=1e-5
    )


def test_a_penalty_above_all_gradients_is_finished_at_zero():
    state, reports = trained(LBFGS(), problem_of(1.0, {"penalty": "l1", "c1": 1e6}), 3)
    assert [report.finished for report in reports] == ["the gradient is within 1e-05 of zero"]
    assert not state.theta.any()
    assert reports[0].dual == pytest.approx(reports[0].primal)


def test_risk_goes_down_to_a_stationary_point():
    problem = problem_of(5.0, {"penalty": "l1", "c1": 0.02}, RISK)
    start = random_weights(problem, 2)
    state, reports = trained(LBFGS(), problem, 300, start)
    values = [report.primal for report in reports]
    assert all(b < a for a, b in zip(values, values[1:], strict=False))
    assert reports[-1].finished == "the gradient is within 1e-05 of zero"
    assert (state.theta == 0).sum() > (start == 0).sum()
