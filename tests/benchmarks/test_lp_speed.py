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
from collections.abc import Callable

import numpy as np
import pytest

from structopt.factor_graph.kinds import LOOPY
from structopt.inference.lp import LP
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


def solvers(
    n: int, K: int, spread: float, kind: str
) -> tuple[np.ndarray, dict[str, Callable[[np.ndarray], float]]]:
    """Return scores of visits, and the solvers by name: each maps scores to the optimal value."""
    row = complete([K] * n)
    structure, generator = structure_of([row]), np.random.default_rng(0)
    sizes = np.array([int(row.widths.sum()), sum(row.privates)])
    draws = np.repeat([1.0, spread], sizes) * generator.normal(size=(VISITS + 1, sizes.sum()))
    scores = draws if kind == "fresh" else draws[0] + 0.05 * np.cumsum(draws[1:], axis=0)
    polytope = full_polytope(structure, int(sizes.sum()))
    found: dict[str, Callable[[np.ndarray], float]] = {"milp": lambda s: milp_value(polytope, s)}
    for name, inference in (
        ("lp", LP()),
        ("lp, kept bases", LP(warm_start=True)),
    ):
        prepared, solve = inference.prepare(structure), inference.kernels(LOOPY).solve
        memory = np.zeros(int(prepared.memory[-1]))
        z = np.zeros(int(sizes.sum()))
        found[name] = lambda s, solve=solve, memory=memory, z=z: solve(
            structure.record, 0, s, 0.0, z, memory, structure.work
        )
    for visit in found.values():
        visit(scores[0])  # imports and compiles what it needs
    return scores[1:], found


@pytest.mark.parametrize("kind", ["fresh", "near"])
@pytest.mark.parametrize(("n", "K", "spread"), SHAPES)
def test_visits(n: int, K: int, spread: float, kind: str) -> None:
    scores, visits = solvers(n, K, spread, kind)
    row = complete([K] * n)
    structure, size = structure_of([row]), int(row.widths.sum()) + sum(row.privates)
    started = time.perf_counter()
    full_polytope(structure, size)
    build = 1e3 * (time.perf_counter() - started)
    expected, values = milliseconds(visits.pop("milp"), scores)
    line = (
        f"\n{n} x {K}, sd {spread:g}, {kind}: milp {expected:.1f} ms, and {build:.1f} ms to build"
    )
    for name, visit in visits.items():
        took, found = milliseconds(visit, scores)
        np.testing.assert_allclose(found, values, rtol=1e-6)
        line += (
            f"; {name} {took:.2f} ms ({expected / took:.0f} and {(expected + build) / took:.0f} "
            "times faster)"
        )
    print(line)
