"""Pair steps against cvxpy on the programs of k-best MIRA, k = 1..10: `pytest
tests/benchmarks/test_k_best_speed.py -s`.

Half the lists are random, half come from a run of k-best MIRA on the files of STRUCTOPT_ATTRIBUTES
(see `test_chain_speed.py`; without it, on the shipped corpus). Both solvers get what their method
needs: ours the products of the rows, cvxpy the rows in a basis of their span, in a program that was
compiled beforehand. Nothing here decides whether the tests pass but the agreement of the solutions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest

from structopt import datasets
from structopt.config import registry
from structopt.core.data.targets import Targets
from structopt.features.attribute_rows import AttributeRows
from structopt.kernels.learn.mira import empty_lists, rank
from structopt.kernels.learn.mira_program import pair_steps
from structopt.kernels.learn.proximal_step import empty_bundle
from structopt.objective.examples import Examples
from structopt.objective.problem import Problem, Settings
from structopt.reference.mira_program import planes_over_weights, solve_step

pytestmark = pytest.mark.benchmark

LISTS, PASSES, C = 200, 2, 0.1
REPEATS = 3  # the fastest counts: a list takes a microsecond, an interruption thousands
List = tuple[np.ndarray, np.ndarray, float]  # rows, heights, C


@pytest.mark.parametrize("source", ["random", "real"])
def test_pair_steps(source: str) -> None:
    lists = random_lists() if source == "random" else real_lists()
    solve(lists[0]), [by_cvxpy(one) for one in lists]  # both are compiled by now
    ours, theirs, largest = 0.0, 0.0, 0.0
    for one in lists:
        (seconds, move), (reference_seconds, reference) = (
            fastest(solve, one),
            fastest(by_cvxpy, one),
        )
        ours, theirs = ours + seconds, theirs + reference_seconds
        largest = max(largest, float(np.abs(move - reference).max(initial=0.0)))
    sizes = sorted({len(heights) for _, heights, _ in lists})
    print(
        f"\n{len(lists)} {source} lists of {sizes[0]} to {sizes[-1]} rows: pair steps "
        f"{1e6 * ours / len(lists):.1f} us a list, "
        f"cvxpy {1e6 * theirs / len(lists):.0f} us, ratio {theirs / ours:.0f}; largest "
        f"difference {largest:.1e}"
    )
    assert largest <= 1e-6


def fastest(
    solver: Callable[[List], tuple[float, np.ndarray]], one: List
) -> tuple[float, np.ndarray]:
    """Seconds and step of the fastest of some runs."""
    return min((solver(one) for _ in range(REPEATS)), key=lambda result: result[0])


def solve(one: List) -> tuple[float, np.ndarray]:
    """Seconds and step of the pair steps."""
    rows, heights, cap = one
    size = len(heights) + 1
    gram, alpha = np.zeros((size, size)), np.zeros(size)
    gram[1:, 1:] = rows @ rows.T
    alpha[0], values = cap, np.concatenate([[0.0], heights])
    tolerance = 1e-12 * max(1.0, float(heights.max()))
    started = time.perf_counter()
    pair_steps(gram, values, alpha, size, tolerance, 100_000)
    return time.perf_counter() - started, -rows.T @ alpha[1:]


def by_cvxpy(one: List) -> tuple[float, np.ndarray]:
    """Seconds and step of the general-purpose solver."""
    rows, heights, cap = one
    basis, coordinates = np.linalg.qr(rows.T)
    started = time.perf_counter()
    move = solve_step(coordinates, heights, cap)
    return time.perf_counter() - started, basis @ move


def random_lists() -> list[List]:
    """Rows of small counts, heights near whole costs, caps of all sizes."""
    generator, lists = np.random.default_rng(0), []
    for trial in range(LISTS):
        k, d = 1 + trial % 10, int(generator.integers(12, 200))
        rows = generator.integers(-2, 3, (k, d)) * (generator.random((k, d)) < 0.3)
        heights = generator.integers(0, 8, k) + generator.normal(size=k)
        lists.append((rows.astype(float), heights, float(10 ** generator.uniform(-3, 1))))
    return lists


def real_lists() -> list[List]:
    """Lists of instances with a loss, at the weights of k-best MIRA after some passes."""
    problem = real_problem()
    method = registry.create("optimizer", {"name": "mira", "C": C, "k_best": 5, "average": False})
    state = method.init(problem, np.zeros(problem.dimension))
    for _ in range(PASSES):
        state, _ = method.step(problem, state)
    lists: list[List] = []
    for i in problem.order(PASSES):
        k = 1 + len(lists) % 10
        bundle = empty_bundle(k, problem.examples.most_parts, problem.dimension)
        scratch = empty_lists(k, problem.structure.most_active), bundle
        rows, _ = rank(
            problem.kernels, problem.data, problem.space, int(i), state.theta, C, False, *scratch
        )
        if rows > 1:
            parts = problem.structure.parts[i + 1] - problem.structure.parts[i]
            vectors = planes_over_weights(problem, int(i), bundle.residuals[1:rows, :parts])[1]
            lists.append((vectors, bundle.heights[1:rows].copy(), C))
        if len(lists) == LISTS:
            break
    return lists


def real_problem() -> Problem:
    folder = os.environ.get("STRUCTOPT_ATTRIBUTES")
    path = Path(folder) / "train.txt" if folder else datasets.path("train", "crfsuite")
    task = registry.create("task", {"name": "attributes"})
    graph = registry.create("factor_graph", {"name": "linear_chain"})
    loss = registry.create("loss", {"name": "svm", "beta": inf, "gamma": 1.0})
    inference = registry.create("inference", {"name": "exact"})
    encoded = task.fit(task.read(path))
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    rows = AttributeRows().fit(encoded, structure, gold)
    examples = Examples(encoded, structure, rows.record(encoded, structure), rows)
    assert encoded.gold is not None
    cost = graph.cost(encoded, structure, np.ones(len(encoded.gold)))
    return Problem(examples, Targets.of_points(gold), cost, loss, inference, Settings(C))
