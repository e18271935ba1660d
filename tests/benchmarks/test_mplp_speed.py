"""MPLP against HiGHS on the same relaxations, and DLPW against learners that solve them.

`pytest tests/benchmarks/test_mplp_speed.py -s`. Complete graphs; scores are Gaussian, those of the variables with standard
deviation 1. Printed for HiGHS on full tables, on the compact form of binary pairs (three rows an edge), and for MPLP until the
bound falls by little: milliseconds an instance, ratios, and how far the bound stays above the linear program's value. Then, on
random wide graphs, seconds until the objective is within 1 % of the best one found. Nothing here decides whether the tests
pass but that the bound is one.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np
import pytest

from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.lp import LinearProgram
from structopt.inference.mplp import MPLP
from structopt.kernels.factors import PAIRS
from structopt.loss.family import LossFamily
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dlpw import DLPW
from structopt.optimizer.pegasos import Pegasos
from structopt.problem import Problem
from structopt.testing.inference import run
from structopt.testing.problems import make_problem, random_graphs
from tests.inference.small_graphs import binary, complete, structure_of

pytestmark = pytest.mark.benchmark

INSTANCES = 5
SHAPES = {f"{n} x {K}, sd {spread:g}": (n, K, spread) for n, K in ((14, 2), (30, 2), (20, 4)) for spread in (0.1, 0.3, 1.0)}


def compact(n: int, s):
    """The same graph of two states with one part a variable and one an edge, and its scores, but for a constant."""
    row, first, pairs = binary(n), 2 * n, [(a, b) for b in range(n) for a in range(b)]
    row.add(PAIRS, np.ravel(pairs), len(pairs))
    nodes, tables = s[1:first:2] - s[0:first:2], s[first:].reshape(-1, 2, 2)
    for (a, b), table in zip(pairs, tables, strict=True):
        nodes[a] += table[1, 0] - table[0, 0]
        nodes[b] += table[0, 1] - table[0, 0]
    joint = tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0] + tables[:, 0, 0]
    return structure_of([row]), np.concatenate([nodes, joint]), s[0:first:2].sum() + tables[:, 0, 0].sum()


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
    plain, generator, highs = structure_of([row]), np.random.default_rng(0), LinearProgram().kernels("factors").solve
    sizes = np.array([int(row.widths.sum()), sum(row.privates)])
    scores = [np.repeat([1.0, spread], sizes) * generator.normal(size=sizes.sum()) for _ in range(INSTANCES)]
    run(highs, structure_of([complete([2, 2])]), 0, np.zeros(8), 0.0)  # imports HiGHS
    seconds, values = timed(highs, plain, scores)
    print(f"\n{name}: HiGHS, tables {1e3 * seconds / INSTANCES:.1f} ms")
    if K == 2:
        small = [compact(n, s) for s in scores]
        fewer, found = timed(highs, small[0][0], [s for _, s, _ in small])
        np.testing.assert_allclose(found + [constant for *_, constant in small], values, rtol=1e-6)
        print(f"  HiGHS, compact {1e3 * fewer / INSTANCES:.1f} ms")
        seconds = min(seconds, fewer)
    for tolerance in (1e-3, 1e-4, 1e-6):
        inference = MPLP(passes=20_000, tolerance=tolerance)
        structure, solve = inference.prepare(plain), inference.kernels("factors").solve
        run(solve, structure, 0, scores[0], 0.0)
        elapsed, bounds = timed(solve, structure, scores)
        excess = (bounds - values) / np.maximum(1.0, abs(values))
        print(f"  MPLP, tolerance {tolerance:g}: {1e3 * elapsed / INSTANCES:.3f} ms, ratio {seconds / elapsed:.0f}; relative "
              f"excess at most {excess.max():.1e}")  # fmt: skip
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
    """30 complete graphs of 14 variables with two states, each variable and edge with weights of its own."""
    encoded, C = random_graphs(0, (14,) * 30, 2, attributes=30, wide=True, values=True), 0.03
    loss, graph, exact = LossFamily(inf, 1.0, "hamming_normalized"), Pairwise(), LinearProgram()
    judge = make_problem(encoded, graph, loss, MPLP().converged(), C)
    curves = {}
    for name, method, inference, budget in (
        ("dlpw", DLPW(C), MPLP(10, 0.0, warm_start=True), 5.0),
        ("pegasos + lp", Pegasos(C), exact, 40.0),
        ("cutting_plane + lp", CuttingPlane(C), exact, 40.0),
    ):
        curves[name] = learning_curve(method, make_problem(encoded, graph, loss, inference, C), judge, budget)
    best = min(value for curve in curves.values() for _, value in curve)
    print()
    for name, curve in curves.items():
        reached = next((seconds for seconds, value in curve if value <= 1.01 * best), inf)
        print(f"{name}: {reached:.3f} s of training to within 1 % of {best:.5f}; least objective "
              f"{min(value for _, value in curve):.5f}, {curve[-1][0] / len(curve):.4f} s a pass")  # fmt: skip
