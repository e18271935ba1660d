"""The line search of stochastic dual coordinate ascent against a general-purpose one."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.chain import calculus
from structopt.kernels.learn import sdca
from structopt.kernels.waist import target
from structopt.kernels.waist.signatures import Kernels
from structopt.loss.family import LossFamily
from structopt.testing.problems import make_problem, outputs, random_encoded, random_weights

MEMBERS = [(1.0, 0.0), (0.3, 1.0), (5.0, 2.0)]


def problem_of(beta, gamma, **options):
    encoded = random_encoded(2, **({"lengths": (1, 2, 5, 9)} | options))
    return make_problem(
        encoded, LinearChain(), LossFamily(beta, gamma), Exact(), 1.0, positional=True
    )


def starts(problem, i):
    """The gold output, a point near it, and one inside the polytope, which the entropy's slope is
    finite at.
    """
    n = int(np.diff(problem.structure.parts)[i])
    gold, inside = np.zeros(n), np.zeros(n)
    target.add_gold(target.TARGET.open(problem.data.target), i, 1.0, gold)
    problem.kernels.solve(
        problem.data.structure, i, np.zeros(n), 1.0, inside, np.zeros(0), problem.space.work
    )
    return [gold, 0.9999 * gold + 0.0001 * inside, inside]


def plain(problem):
    """Kernels for calls from Python."""
    return Kernels(*problem.kernels)


@pytest.mark.parametrize(
    "options", [{}, {"anchored": True, "values": True}, {"constrained": True, "partial": True}]
)
@pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_line_search_finds_the_maximum(beta, gamma, C, options):
    problem = problem_of(beta, gamma, **options)
    data, space, k = problem.data, problem.space, plain(problem)
    theta = random_weights(problem, 1)
    for i in range(problem.m):
        for z in starts(problem, i):
            n = len(z)
            entropy = calculus.entropy(data.structure, i, z)
            _, value, here, slope = sdca.look(k, data, space, i, theta, z)
            d = space.direction[:n].copy()
            gap = value - here - entropy / beta
            if not d.any():  # the constraints leave one output
                assert gap == pytest.approx(0.0, abs=1e-12)
                continue
            Q, trial = C * sdca.pull(k, data, space, i), np.zeros(3)
            tau = sdca.line_search(k, data, space, i, z, slope, Q, gap, trial)
            assert trial[2] == pytest.approx(
                calculus.entropy(data.structure, i, z + tau * d), abs=1e-9
            )

            def f(t, z=z, d=d, i=i, slope=slope, Q=Q):
                return (
                    t * slope
                    - t * t * Q / 2
                    + calculus.entropy(data.structure, i, z + t * d) / beta
                )

            grid = minimize_scalar(
                lambda t: -f(t), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
            )
            assert f(tau) - f(0.0) >= 0.99 * (-grid.fun - f(0.0)) - 1e-9
            assert f(tau) > f(0.0)

            def slope_at(t, z=z, d=d, i=i, slope=slope, Q=Q):
                out = np.zeros(2)
                calculus.slope(data.structure, i, z, d, t, out)
                return slope - t * Q + out[0] / beta

            root = (
                brentq(slope_at, 1e-12, 1.0, xtol=1e-15)
                if slope_at(1.0) < 0 < slope_at(1e-12)
                else 1.0
            )
            assert tau == pytest.approx(root, rel=2 * sdca.PRECISION)


@pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
def test_slope_of_the_dual_at_the_oracles_answer_is_the_ridge_alone(beta, gamma):
    """So that 1 always brackets the root, and the gap is a Kullback-Leibler divergence over
    beta.
    """
    problem = problem_of(beta, gamma)
    data, space, k, out = problem.data, problem.space, plain(problem), np.zeros(2)
    theta = random_weights(problem, 3, 0.1)
    for i in range(problem.m):
        z = starts(problem, i)[2]
        _, value, here, slope = sdca.look(k, data, space, i, theta, z)
        d, answer = space.direction[: len(z)].copy(), space.answer[: len(z)].copy()
        calculus.slope(data.structure, i, z, d, 1.0, out)
        assert abs(slope) > 1e-3
        # z + d loses digits of small marginals
        assert slope + out[0] / beta == pytest.approx(0.0, abs=1e-6)
        gap = value - here - calculus.entropy(data.structure, i, z) / beta
        logs, others = np.zeros(len(z)), np.zeros(len(z))
        calculus.conditionals(data.structure, i, z, logs)
        calculus.conditionals(data.structure, i, answer, others)
        assert gap == pytest.approx(z @ (logs - others) / beta, abs=1e-9)


def test_slopes_bring_the_entropy_along():
    problem = problem_of(1.0, 0.0)
    for i in range(problem.m):
        gold, near, inside = starts(problem, i)
        for z in (gold, near):
            two, three = np.zeros(2), np.zeros(3)
            for t in (1e-6, 0.3, 1.0):
                calculus.slope(problem.data.structure, i, z, inside - z, t, two)
                calculus.slope(problem.data.structure, i, z, inside - z, t, three)
                np.testing.assert_array_equal(two, three[:2])
                moved = z + t * (inside - z)
                assert three[2] == pytest.approx(
                    calculus.entropy(problem.data.structure, i, moved), abs=1e-12
                )


def test_pullback_keeps_what_is_small():
    """Directions of 1e-11 move the weights too: theta must stay that of the dual point."""
    problem = problem_of(1.0, 0.0)
    data, space, k = problem.data, problem.space, plain(problem)
    i, listed = 3, outputs(problem, 3)
    d = 1e-11 * (listed.vertices[5] - listed.gold)
    space.direction[: len(d)] = d
    expected = listed.features.T @ d
    assert sdca.pull(k, data, space, i) == pytest.approx(expected @ expected, rel=1e-9)
    theta, z = np.zeros(problem.dimension), np.zeros(len(d))
    sdca.move(k, data, space, i, theta, np.zeros(0), z, 0.5, 2.0, 1.0)
    np.testing.assert_allclose(theta, -expected, atol=1e-24)
    np.testing.assert_allclose(z, 0.5 * d, atol=1e-24)
