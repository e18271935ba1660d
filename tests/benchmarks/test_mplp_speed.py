"""MPLP against HiGHS on the same relaxations, and DLPW against learners that solve them.

`pytest tests/benchmarks/test_mplp_speed.py -s`. Complete graphs; scores are Gaussian, those of the
variables with standard deviation 1. Printed for HiGHS on full tables from scratch (as most packages
ask it, building included), for inference=lp, and for MPLP until the bound falls by little:
milliseconds an instance, the ratios to both, and how far the bound stays above the linear program's
value. Then, on random wide graphs, seconds until the objective is within 1 % of the best one found.
Nothing here decides whether the tests pass but that the bound is one.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np
import pytest

from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.loss.cost.hamming_normalized import HammingNormalized
from structopt.loss.family import LossFamily
from structopt.objective.problem import Problem
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dlpw import DLPW
from structopt.optimizer.pegasos import Pegasos
from structopt.testing.inference import run
from structopt.testing.problems import make_problem, random_graphs
from tests.benchmarks.full_tables import full_polytope, milp_value
from tests.inference.small_graphs import complete, structure_of

pytestmark = pytest.mark.benchmark

INSTANCES = 5
SHAPES = {
    f"{n} x {K}, sd {spread:g}": (n, K, spread)
    for n, K in ((14, 2), (30, 2), (20, 4))
    for spread in (0.1, 0.3, 1.0)
}


def timed(solve, structure, scores):
    """Seconds in all, and the values."""
    values, seconds = [], 0.0
    for s in scores:
        z, memory = np.zeros(len(s)), np.zeros(0)
        started = time.perf_counter()
        values.append(solve(structure.record, 0, s, 0.0, z, memory, structure.work))
        seconds += time.perf_counter() - started
    return seconds, np.array(values)


@pytest.mark.parametrize("name", SHAPES)
def test_relaxations(name: str) -> None:
    n, K, spread = SHAPES[name]
    row = complete([K] * n)
    plain, generator, highs = (
        structure_of([row]),
        np.random.default_rng(0),
        LP().kernels(LOOPY).solve,
    )
    sizes = np.array([int(row.widths.sum()), sum(row.privates)])
    scores = [
        np.repeat([1.0, spread], sizes) * generator.normal(size=sizes.sum())
        for _ in range(INSTANCES)
    ]
    run(highs, plain, 0, scores[0], 0.0)  # imports HiGHS, and makes the model
    seconds, values = timed(highs, plain, scores)
    milp_value(full_polytope(plain, len(scores[0])), scores[0])  # imports scipy's
    started = time.perf_counter()
    expected = [milp_value(full_polytope(plain, len(s)), s) for s in scores]
    full = time.perf_counter() - started
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    print(
        f"\n{name}: HiGHS, tables {1e3 * full / INSTANCES:.1f} ms, inference=lp "
        f"{1e3 * seconds / INSTANCES:.1f} ms"
    )
    for tolerance in (1e-3, 1e-4, 1e-6):
        inference = MPLP(passes=20_000, tolerance=tolerance)
        structure, solve = inference.prepare(plain), inference.kernels(LOOPY).solve
        run(solve, structure, 0, scores[0], 0.0)
        elapsed, bounds = timed(solve, structure, scores)
        excess = (bounds - values) / np.maximum(1.0, abs(values))
        print(
            f"  MPLP, tolerance {tolerance:g}: {1e3 * elapsed / INSTANCES:.3f} ms, ratios "
            f"{full / elapsed:.0f} and "
            f"{seconds / elapsed:.0f}; relative excess at most {excess.max():.1e}"
        )
        assert excess.min() >= -1e-7


def learning_curve(method, problem: Problem, judge: Problem, budget: float):
    """(seconds of training, objective) after every pass, until the seconds are spent."""
    state, seconds, curve = method.init(problem, np.zeros(problem.dimension)), 0.0, []
    while seconds < budget:
        started = time.perf_counter()
        state, report = method.step(problem, state)
        seconds += time.perf_counter() - started
        curve.append((seconds, judge.objective(method.weights(state).copy())))
        if report.finished:
            break
    return curve


def test_learning() -> None:
    """30 complete graphs of 14 variables with two states, each variable and edge with weights of
    its own.
    """
    encoded, C = random_graphs(0, (14,) * 30, 2, attributes=30, wide=True, values=True), 0.03
    loss, graph, exact = LossFamily(inf, 1.0, HammingNormalized()), Pairwise(), LP()
    judge = make_problem(encoded, graph, loss, MPLP().converged(), C)
    curves = {}
    for name, method, inference, budget in (
        ("dlpw", DLPW(), MPLP(10, 0.0, warm_start=True), 5.0),
        ("pegasos + lp", Pegasos(), exact, 40.0),
        ("cutting_plane + lp", CuttingPlane(), exact, 40.0),
    ):
        curves[name] = learning_curve(
            method, make_problem(encoded, graph, loss, inference, C), judge, budget
        )
    best = min(value for curve in curves.values() for _, value in curve)
    print()
    for name, curve in curves.items():
        reached = next((seconds for seconds, value in curve if value <= 1.01 * best), inf)
        print(
            f"{name}: {reached:.3f} s of training to within 1 % of {best:.5f}; least objective "
            f"{min(value for _, value in curve):.5f}, {curve[-1][0] / len(curve):.4f} s a pass"
        )
