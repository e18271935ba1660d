"""Online cutting planes: the contract, every visit against its quadratic program, the optimum, full
caches.
"""

from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError
from structopt.learning.plane_cache import PlaneCache
from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
from structopt.reference.mira_program import k_best_step
from structopt.testing.problems import outputs, random_weights
from tests.optimizer.classes import CuttingSuite
from tests.optimizer.cutting import (
    SHAPES,
    cache_bytes,
    certified,
    dual_by_hand,
    optimum,
    problem_of,
    run,
    trained_in_two_runs,
)


@pytest.mark.parametrize("average", [False, True])
class TestOnlineCuttingPlane(CuttingSuite):
    many, decrease = 10, 0.65  # the minimum is 0.6 of P(0)
    enough, within = 300, 2e-3  # the mean of all iterates

    @pytest.fixture
    def optimizer(self, average):
        return lambda: OnlineCuttingPlane(average=average)

    @pytest.fixture
    def problem(self):
        return partial(problem_of, 0.5)


@pytest.mark.nightly("optima")
@pytest.mark.parametrize("C", [0.05, 0.5, 10.0])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_reaches_the_optimum_with_proof(C, shape):
    problem, best = problem_of(C, **SHAPES[shape]), optimum(C, shape)
    primal, dual = certified(OnlineCuttingPlane(), problem, 300, best, enough=1e-4)
    assert primal == pytest.approx(best.value, rel=1e-4)
    assert primal - dual <= 1e-4 * primal


def visits_by_hand(problem, passes, guide=None):
    """Iterates before each visit and after the last: each visit solves its instance's program over
    the planes kept.
    """
    m = problem.m
    known = [outputs(problem, i) for i in range(m)]
    theta, visited, total = np.zeros(problem.dimension), [], 0.0
    shares, kept = [np.zeros(problem.dimension) for _ in range(m)], [[] for _ in range(m)]
    for epoch in range(passes):
        for i in problem.order(epoch):
            visited.append(theta.copy())
            one = known[i]
            differences, costs = (
                (one.vertices - one.gold) @ one.features,
                problem.loss.gamma * one.costs,
            )
            at = guide if guide is not None and epoch == 0 else theta
            answer = int((differences @ at + costs).argmax())
            total += float((differences @ at + costs)[answer])
            heights = differences @ theta + costs
            if heights[answer] > max([0.0, *heights[kept[i]]]) + 1e-9:
                kept[i].append(answer)
            center = theta + shares[i]
            if kept[i]:
                theta = k_best_step(center, differences[kept[i]], costs[kept[i]], problem.C)
            shares[i] = center - theta
    return visited, theta, total


@pytest.mark.parametrize("C", [0.02, 0.5, 10.0])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_every_visit_solves_its_program(C, shape):
    """With many steps a visit ends at the program's solution, even where the other computation
    keeps other idle planes.
    """
    problem = problem_of(C, **SHAPES[shape])
    visited, last, total = visits_by_hand(problem, 3)
    state, reports = run(OnlineCuttingPlane(steps=10_000), problem, 3)
    np.testing.assert_allclose(state.theta, last, atol=1e-5 * np.abs(last).max())
    assert sum(report.loss for report in reports) == pytest.approx(total, rel=1e-5)
    averaging = OnlineCuttingPlane(steps=10_000, average=True)
    averaged = averaging.weights(run(averaging, problem, 3)[0])
    np.testing.assert_allclose(averaged, np.mean(visited, axis=0), atol=1e-5 * np.abs(last).max())


def test_first_pass_from_given_weights_asks_there():
    problem = problem_of(0.5)
    guide = random_weights(problem, 2)
    _, last, total = visits_by_hand(problem, 2, guide)
    state, reports = run(OnlineCuttingPlane(steps=10_000), problem, 2, guide)
    np.testing.assert_allclose(state.theta, last, atol=1e-5)
    assert sum(report.loss for report in reports) == pytest.approx(total, rel=1e-5)


def test_a_good_start_raises_the_dual_sooner():
    best = optimum(0.5)
    certified(OnlineCuttingPlane(), problem_of(0.5), 10, best, best.weights)
    duals = [
        run(OnlineCuttingPlane(), problem_of(0.5), 1, start)[1][0].dual
        for start in (None, best.weights)
    ]
    assert duals[1] > duals[0]


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_dual_is_that_of_the_cached_planes(steps, shape):
    problem = problem_of(2.0, **SHAPES[shape])
    method = OnlineCuttingPlane(steps=steps)
    state = method.init(problem, np.zeros(problem.dimension))
    for _ in range(6):
        state, report = method.step(problem, state)
        theta, dual = dual_by_hand(problem, PlaneCache(state, problem.structure.parts, 10**8))
        np.testing.assert_allclose(state.theta, theta, atol=1e-9)
        assert report.dual == pytest.approx(dual, rel=1e-9)


def test_keeps_active_planes_only():
    problem = problem_of(10.0)
    state, _ = run(OnlineCuttingPlane(), problem, 20)
    cache = PlaneCache(state, problem.structure.parts, 10**8)
    planes = [plane for i in range(problem.m) for plane in cache.rows(i)[1:]]
    assert len(planes) > problem.m
    assert all(plane.alpha > 0 for plane in planes)


def test_mass_moves_between_planes_when_the_cap_is_full():
    """One instance, its cap used up after the first step: ascent in single coordinates would get
    stuck there.
    """
    problem = problem_of(0.02, lengths=(4,), seed=1)
    method = OnlineCuttingPlane(steps=1)
    state, _ = run(method, problem, 1)
    cache = PlaneCache(state, problem.structure.parts, 10**8)
    null, only = cache.rows(0)
    assert null.alpha == 0.0
    assert only.alpha == 0.02
    first = only.residual
    state, reports = run(method, problem, 200)
    assert problem.objective(state.theta) - reports[-1].dual <= 1e-9
    planes = PlaneCache(state, problem.structure.parts, 10**8).rows(0)[1:]
    assert any((plane.residual != first).any() for plane in planes)


@pytest.mark.parametrize("passes", [1, 5])
def test_agrees_with_a_general_solver(passes):
    problem, method = problem_of(2.0), OnlineCuttingPlane()
    state, _ = run(method, problem, passes)
    before = {name: np.copy(value) for name, value in values_of(state).items()}
    assert method.verify(problem, state, range(problem.m)) < 1e-6
    assert all(np.array_equal(before[name], one) for name, one in values_of(state).items())
    state.plane_gram *= 1.01
    assert method.verify(problem, state, range(problem.m)) > 1e-3


@pytest.mark.nightly("optima")
@pytest.mark.parametrize(
    ("C", "cache_mb", "gap"), [(0.5, 0.004, 1e-4), (0.5, 0.0025, 1e-3), (10.0, 0.0035, 1e-3)]
)
def test_full_cache_merges_and_still_reaches_the_optimum(C, cache_mb, gap):
    """0.0045 is what all planes need, 0.002 what one plane an instance needs: the rate is then that
    of Frank-Wolfe.
    """
    problem, best = problem_of(C), optimum(C)
    method = OnlineCuttingPlane(cache_mb=cache_mb)
    state = method.init(problem, np.zeros(problem.dimension))
    dual, fractional = -inf, False
    for _ in range(300):
        state, report = method.step(problem, state)
        cache = PlaneCache(state, problem.structure.parts, method.limit)
        assert cache_bytes(cache) <= method.limit
        assert dual - 1e-12 <= report.dual <= best.value * (1 + 1e-7)
        dual = report.dual
        fractional = fractional or any(
            (p.residual % 1.0 != 0).any() for i in range(problem.m) for p in cache.rows(i)
        )
        if problem.objective(state.theta) - dual <= gap * best.value:
            break
    assert fractional
    assert problem.objective(state.theta) - dual <= gap * best.value
    theta, by_hand = dual_by_hand(problem, cache)
    np.testing.assert_allclose(state.theta, theta, atol=1e-8)
    assert dual == pytest.approx(by_hand, rel=1e-8)


@pytest.mark.parametrize("cache_mb", [0.0025, 1])
def test_resumes_from_a_checkpoint_with_a_full_cache(cache_mb, tmp_path):
    whole, halves = trained_in_two_runs(
        lambda: OnlineCuttingPlane(average=True, cache_mb=cache_mb),
        problem_of(10.0),
        tmp_path,
    )
    np.testing.assert_array_equal(whole, halves)


def test_refuses_a_cache_without_room():
    problem = problem_of()
    with pytest.raises(
        ConfigError,
        match=r"`cache_mb=0\.0001` is too small: the planes of all instances need",
    ):
        OnlineCuttingPlane(cache_mb=1e-4).init(problem, np.zeros(problem.dimension))
