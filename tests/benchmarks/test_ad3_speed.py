"""AD3 against HiGHS on the same relaxations: `pytest tests/benchmarks/test_ad3_speed.py -s`.

Second-order parsing (a TREE factor, an AUTOMATON a head and side, PAIRS for grandparents), and
complete graphs of TABLE factors; scores are Gaussian, those of the variables with standard
deviation 1. Printed for default options and for passes that go on until the copies agree to 1e-6:
milliseconds an instance, the ratios to HiGHS on full tables from scratch and to inference=lp, how
far the bound stays above the linear program's value, and on how many instances it comes with a
proof that z is the best output. Nothing here decides whether the tests pass but that the bound is
one.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from structopt.factor_graph.kinds import LOOPY
from structopt.inference.ad3 import AD3
from structopt.inference.lp import LP
from structopt.kernels.loopy.factors import PAIRS
from structopt.testing.inference import run
from tests.benchmarks.full_tables import full_polytope, milp_value
from tests.inference.small_graphs import complete, structure_of, tree

pytestmark = pytest.mark.benchmark

INSTANCES = 5
SHAPES = {
    "second order, n = 10": (10, 0.3),
    "second order, n = 20": (20, 0.3),
    "14 x 2, sd .1": ([2] * 14, 0.1),
    "14 x 2, sd .3": ([2] * 14, 0.3),
    "14 x 2, sd 1": ([2] * 14, 1.0),
    "30 x 2, sd .1": ([2] * 30, 0.1),
    "30 x 2, sd .3": ([2] * 30, 0.3),
    "30 x 2, sd 1": ([2] * 30, 1.0),
    "20 x 4, sd .1": ([4] * 20, 0.1),
    "20 x 4, sd .3": ([4] * 20, 0.3),
    "20 x 4, sd 1": ([4] * 20, 1.0),
}


def second_order(n: int):
    """Candidate arcs of n tokens, as numbered by `tree`, with every pair of arcs g -> h -> m."""
    row = tree(n, single_root=True, siblings=True)
    pairs = [
        (h * n + g, m * n + h)
        for m in range(n)
        for h in range(n)
        if h != m
        for g in range(n)
        if g != m
    ]
    row.add(PAIRS, np.ravel(pairs), len(pairs))
    return row


@pytest.mark.parametrize("name", SHAPES)
def test_relaxations(name: str) -> None:
    shape, spread = SHAPES[name]
    row = second_order(shape) if isinstance(shape, int) else complete(shape)
    plain, generator = structure_of([row]), np.random.default_rng(0)
    sizes = np.array([int(row.widths.sum()), sum(row.privates)])
    scores = [
        np.repeat([1.0, spread], sizes) * generator.normal(size=sizes.sum())
        for _ in range(INSTANCES)
    ]
    solver, (seconds, full, values) = LP().kernels(LOOPY), (0.0, 0.0, [])
    run(solver.solve, plain, 0, scores[0], 0.0)  # imports HiGHS, and makes the model
    milp_value(full_polytope(plain, len(scores[0])), scores[0])
    for s in scores:
        started = time.perf_counter()
        values.append(run(solver.solve, plain, 0, s, 0.0)[0])
        between = time.perf_counter()
        milp_value(full_polytope(plain, len(s)), s)
        seconds, full = seconds + between - started, full + time.perf_counter() - between
    print(
        f"\n{name}: HiGHS, tables {1e3 * full / INSTANCES:.1f} ms, inference=lp "
        f"{1e3 * seconds / INSTANCES:.1f} ms"
    )
    for label, inference in (("defaults", AD3()), ("to 1e-6", AD3(passes=20_000, tolerance=1e-6))):
        structure, solve = inference.prepare(plain), inference.kernels(LOOPY).solve
        run(solve, structure, 0, scores[0], 0.0)
        elapsed, excess, proved = 0.0, [], 0
        for s, value in zip(scores, values, strict=True):
            z, work, memory = np.zeros(len(s)), structure.work, np.zeros(0)
            started = time.perf_counter()
            bound = solve(structure.record, 0, s, 0.0, z, memory, work)
            elapsed += time.perf_counter() - started
            excess.append((bound - value) / max(1.0, abs(value)))
            proved += bool(np.isin(z, (0.0, 1.0)).all())
        print(
            f"  AD3, {label}: {1e3 * elapsed / INSTANCES:.2f} ms, ratios {full / elapsed:.0f} "
            f"and {seconds / elapsed:.0f}; "
            f"relative excess at most {max(excess):.1e}; proved {proved} of {INSTANCES}"
        )
        assert min(excess) >= -1e-7
