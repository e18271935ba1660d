"""Linear programs against scipy's HiGHS on the full description: `pytest
tests/benchmarks/test_lp_speed.py -s`.

Complete graphs; scores are Gaussian, those of the variables with standard deviation 1. *Fresh*:
every visit has scores of its own; *near*: those of the last visit, moved by a twentieth, as
learning does. Printed: milliseconds a visit of `scipy.optimize.milp` on `local_polytope` (once
without and once with what building it takes), and of inference=lp without and with kept bases.
Nothing here decides whether the tests pass but that the values agree.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from structopt.factor_graph.kinds import LOOPY
from structopt.inference.lp import LinearProgram
from tests.benchmarks.full_tables import full_polytope, milp_value
from tests.inference.small_graphs import complete, structure_of

pytestmark = pytest.mark.benchmark

VISITS = 6
SHAPES = [(n, K, spread) for n, K in ((14, 2), (30, 2), (20, 4)) for spread in (0.1, 0.3, 1.0)]


def milliseconds(visit, scores):
    """Mean time a visit, and the values."""
    started = time.perf_counter()
    values = [visit(s) for s in scores]
    return 1e3 * (time.perf_counter() - started) / len(scores), np.array(values)


@pytest.mark.parametrize("kind", ["fresh", "near"])
@pytest.mark.parametrize(("n", "K", "spread"), SHAPES)
def test_visits(n: int, K: int, spread: float, kind: str) -> None:
    row = complete([K] * n)
    structure, generator = structure_of([row]), np.random.default_rng(0)
    sizes = np.array([int(row.widths.sum()), sum(row.privates)])
    draws = np.repeat([1.0, spread], sizes) * generator.normal(size=(VISITS + 1, sizes.sum()))
    scores = draws if kind == "fresh" else draws[0] + 0.05 * np.cumsum(draws[1:], axis=0)
    full_polytope(structure, int(sizes.sum()))  # imports what it needs
    started = time.perf_counter()
    polytope = full_polytope(structure, int(sizes.sum()))
    build = 1e3 * (time.perf_counter() - started)
    milp_value(polytope, scores[0])  # imports scipy's
    expected, values = milliseconds(lambda s: milp_value(polytope, s), scores[1:])
    line = (
        f"\n{n} x {K}, sd {spread:g}, {kind}: milp {expected:.1f} ms, and {build:.1f} ms to build"
    )
    for name, inference in (
        ("lp", LinearProgram()),
        ("lp, kept bases", LinearProgram(warm_start=True)),
    ):
        prepared, solve = inference.prepare(structure), inference.kernels(LOOPY).solve
        memory = np.zeros(int(prepared.memory[-1]))
        z = np.zeros(int(sizes.sum()))

        def visit(s, solve=solve, memory=memory, z=z):
            return solve(structure.record, 0, s, 0.0, z, memory, structure.work)

        visit(scores[0])
        took, found = milliseconds(visit, scores[1:])
        np.testing.assert_allclose(found, values, rtol=1e-6)
        line += (
            f"; {name} {took:.2f} ms ({expected / took:.0f} and {(expected + build) / took:.0f} "
            "times faster)"
        )
    print(line)
