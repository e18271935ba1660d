"""L-BFGS: the contract, the optimum and its bounds, and each part against a dense one."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from structopt.core.ability import Ability
from structopt.errors import CompatibilityError
from structopt.factor_graph.kinds import CHAIN
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.learning.training import Callback
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.optimizer.lbfgs import LBFGS, Ray
from structopt.run.resumable import Resumable
from structopt.testing.optimizer import stored
from structopt.testing.problems import make_problem, random_encoded, random_weights
from tests.optimizer.classes import BatchSuite
from tests.optimizer.composed import abilities, check
from tests.optimizer.listings import minimum_of

MEMBERS = [LossFamily(1.0, 0.0), LossFamily(1.0, 1.0), LossFamily(3.0, 2.5), LossFamily(0.5, 1.0)]
RISK = LossDifference(1.0, 1.0)
members = pytest.mark.parametrize("loss", MEMBERS, ids=lambda loss: loss.member)
smooth = pytest.mark.parametrize("loss", [*MEMBERS, RISK], ids=lambda loss: loss.member)


def problem_of(loss=MEMBERS[0], C=2.0, seed=0, order=1, inference=None, support="seen", **options):
    encoded = random_encoded(4, **({"lengths": (1, 2, 3, 4, 3, 2)} | options))
    return make_problem(encoded, LinearChain(order), loss, inference or Exact(), C, seed, support)


def trained(problem, count, weights=None, **options):
    """State after some iterations, or where the method ends, and all reports."""
    method, reports = LBFGS(**options), []
    state = method.init(problem, np.zeros(problem.dimension) if weights is None else weights)
    while len(reports) < count and not (reports and reports[-1].finished):
        state, report = method.step(problem, state)
        reports.append(report)
    return state, reports


def gradient_of(problem, weights):
    """Gradient of P, dense."""
    return problem.regularization * weights + problem.gradient(weights)[1] / problem.m


@smooth
class TestLBFGS(BatchSuite):
    @pytest.fixture
    def optimizer(self):
        return lambda: LBFGS(memory=3)

    @pytest.fixture
    def problem(self, loss):
        return partial(problem_of, loss, 2.0, anchored=True, values=True)


@smooth
def test_reports_what_the_problem_says(loss):
    problem = problem_of(loss)
    method = LBFGS()
    state = method.init(problem, random_weights(problem, 1))
    for _ in range(5):
        state, report = method.step(problem, state)
        theta = method.weights(state)
        assert report.loss == pytest.approx(problem.losses(theta), rel=1e-12)
        assert report.primal == pytest.approx(problem.objective(theta), rel=1e-12)
        np.testing.assert_allclose(
            problem.scorer.expand(state.gradient), gradient_of(problem, theta), atol=1e-12
        )
        assert report.negative_losses == 0
        if loss.convex:
            assert report.dual == pytest.approx(
                problem.certificate(theta).dual, rel=1e-9, abs=1e-12
            )
        else:
            assert report.dual is None


@pytest.mark.parametrize("loss", [MEMBERS[0], MEMBERS[2]], ids=lambda loss: loss.member)
def test_agrees_with_the_lbfgs_of_scipy(loss):
    problem = problem_of(loss, 2.0, support="all", order=2)
    answer = minimize(
        lambda theta: (problem.objective(theta), gradient_of(problem, theta)),
        np.zeros(problem.dimension),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-12, "gtol": 1e-8, "maxiter": 1000},
    )
    assert trained(problem, 300)[1][-1].primal == pytest.approx(answer.fun, rel=1e-6)


@smooth
def test_every_iteration_goes_down_and_keeps_the_wolfe_conditions(loss):
    problem = problem_of(loss, 10.0)
    method = LBFGS()
    state = method.init(problem, random_weights(problem, 3))
    before, value = random_weights(problem, 3), problem.objective(random_weights(problem, 3))
    for k in range(8):
        state, report = method.step(problem, state)
        after = method.weights(state)
        step, slopes = (
            after - before,
            [gradient_of(problem, w) @ (after - before) for w in (before, after)],
        )
        assert slopes[0] < 0
        assert report.primal <= value + 1e-4 * slopes[0]
        assert abs(slopes[1]) <= 0.9 * abs(slopes[0])
        if k == 0:
            down = -gradient_of(problem, before)
            np.testing.assert_allclose(
                step / np.linalg.norm(step), down / np.linalg.norm(down), atol=1e-9
            )
        before, value = after.copy(), report.primal


def bfgs_matrix(steps, changes):
    """Inverse Hessian by the BFGS formula, oldest pair first (Nocedal and Wright, 7.16), from s^T y
    / y^T y of the newest.
    """
    identity = np.eye(len(steps[0]))
    H = identity * (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for s, y in zip(steps, changes, strict=True):
        rho = 1 / (s @ y)
        V = identity - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return H


@pytest.mark.parametrize("memory", [1, 3, 20])
def test_directions_are_those_of_the_bfgs_formula(memory):
    problem = problem_of(C=10.0)
    method, rows = LBFGS(memory=memory), problem.scorer
    state = method.init(problem, np.zeros(problem.dimension))
    theta, gradients = (
        [np.zeros(rows.count)],
        [rows.compress(gradient_of(problem, np.zeros(problem.dimension)))],
    )
    for _ in range(8):
        state, _ = method.step(problem, state)
        theta.append(rows.compress(state.theta))
        gradients.append(state.gradient.copy())
        ray = Ray(problem)
        ray.begin(state)
        slope = ray._aim(state)
        H = bfgs_matrix(np.diff(theta, axis=0)[-memory:], np.diff(gradients, axis=0)[-memory:])
        np.testing.assert_allclose(ray.direction, -H @ gradients[-1], rtol=1e-6, atol=1e-9)
        assert slope == pytest.approx(ray.direction @ gradients[-1])
    assert state.pairs == 8


class Interrupted(Exception):
    """Ends a run after its checkpoint was written."""


@pytest.mark.parametrize("support", ["seen", "all"])
def test_resumes_from_a_checkpoint_with_the_same_bits(tmp_path, support):
    def trainer(folder, *callbacks):
        problem = problem_of(support=support)
        (tmp_path / folder).mkdir(exist_ok=True)
        method = LBFGS(memory=3)
        return Resumable(problem, method, 8, folder=tmp_path / folder, after=callbacks)

    whole = trainer("whole")
    whole.start(np.zeros(whole.problem.dimension))

    class Stop(Callback):
        def passed(self, training, row):
            if row["epoch"] == 5:
                raise Interrupted

    broken = trainer("broken", Stop())
    broken.start(np.zeros(broken.problem.dimension))
    with pytest.raises(Interrupted):
        broken.run()
    again = trainer("broken")
    assert again.resume()
    np.testing.assert_array_equal(again.run(), whole.run())
    assert len(whole.progress.evaluations) >= 9


def test_stops_by_its_certified_gap(tmp_path):
    problem = problem_of()
    method = LBFGS(gradient_tolerance=0.0)
    trainer = Resumable(problem, method, 200, 1e-3, folder=tmp_path)
    trainer.start(np.zeros(problem.dimension))
    weights = trainer.run()
    assert trainer.progress.stopped.startswith("the certified gap is")
    assert problem.objective(weights) <= minimum_of(problem).value * 1.001


def test_warm_start_at_the_optimum_is_finished_at_once():
    problem = problem_of()
    theta = trained(problem, 200, gradient_tolerance=1e-9)[0].theta
    state, reports = trained(problem, 1, theta, gradient_tolerance=1e-6)
    np.testing.assert_array_equal(state.theta, theta)
    assert reports[0].finished == "the gradient is within 1e-06 of zero"
    assert len(reports[0].evaluations) == 1


def test_a_gradient_of_zero_is_finished():
    problem = problem_of(labels=1)
    state, reports = trained(problem, 3, gradient_tolerance=0.0)
    assert [report.finished for report in reports] == ["the gradient is within 0 of zero"]
    assert not state.theta.any()


def test_first_step_starts_at_length_one_and_evaluates_twice():
    problem = problem_of(C=1e4)
    state, reports = trained(problem, 1)
    assert len(reports[0].evaluations) >= 2
    assert all(seconds > 0 for seconds in reports[0].evaluations)
    doublings = np.log2(np.linalg.norm(state.theta))
    assert doublings == pytest.approx(round(doublings), abs=1e-9)


def test_wrong_pairs_are_forgotten():
    """A curvature of the wrong sign makes an ascent direction: the step goes down the gradient, and
    drops the other pairs.
    """
    problem = problem_of()
    state, _ = trained(problem, 4)
    state.curvature[:, 0] *= -1
    before = state.theta.copy()
    down, value = -gradient_of(problem, before), problem.objective(before)
    state, report = LBFGS().step(problem, state)
    move = state.theta - before
    np.testing.assert_allclose(move / np.linalg.norm(move), down / np.linalg.norm(down), atol=1e-9)
    assert state.pairs == 1
    assert report.primal < value
    assert not report.finished


def test_no_lower_objective_ends_it_where_it_was():
    problem = problem_of()
    state, _ = trained(problem, 4)
    true = problem.gradient

    def upside_down(weights, out=None):
        """Loss that is higher everywhere than at the weights before the step."""
        loss, gradient = true(weights, out)
        return loss + 100 * np.linalg.norm(weights - before), gradient

    before = state.theta.copy()
    kept = stored(state)
    problem.gradient = upside_down
    state, report = LBFGS().step(problem, state)
    assert report.finished == "the line search found no lower objective"
    assert report.primal == kept.objective
    for name in ("theta", "gradient", "loss", "objective"):
        np.testing.assert_array_equal(getattr(state, name), getattr(kept, name))


def test_one_optimizer_serves_two_problems():
    method = LBFGS()
    problems = [problem_of(), problem_of(lengths=(2, 3, 1), attributes=4)]
    states = [method.init(problem, np.zeros(problem.dimension)) for problem in problems]
    for _ in range(4):
        states = [
            method.step(problem, state)[0] for problem, state in zip(problems, states, strict=True)
        ]
    for problem, state in zip(problems, states, strict=True):
        np.testing.assert_array_equal(state.theta, trained(problem, 4)[0].theta)


def test_risk_goes_down_to_a_stationary_point():
    problem = problem_of(RISK, 5.0)
    state, reports = trained(problem, 200, random_weights(problem, 2))
    values = [report.primal for report in reports]
    assert all(b < a for a, b in zip(values, values[1:], strict=False))
    assert reports[-1].finished == "the gradient is within 1e-05 of zero"
    assert values[-1] < 0.6 * problem.objective(np.zeros(problem.dimension))
    assert np.linalg.norm(gradient_of(problem, state.theta)) < 1e-4


def test_requires_a_bound_on_the_marginals():
    assert abilities(LBFGS()) == Ability.MARGINALS | Ability.UPPER
    assert abilities(LBFGS()) in Exact().provides(CHAIN)


def test_refuses_a_gap_where_there_is_none():
    check(LBFGS(), RISK)
    check(LBFGS(), LossFamily(), tolerance=0.1)
    message = (
        r"optimizer\.tolerance needs a convex loss, which risk \(beta=1, gamma=1\) is not: "
        r"others have no certified gap"
    )
    with pytest.raises(CompatibilityError, match=message):
        check(LBFGS(), RISK, tolerance=0.1)
