"""Value against enumeration, gradient against finite differences, and training on the command
line.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structopt_squared_hinge.loss import SquaredHinge, squared_hinge

from structopt import ArgumentError
from structopt.plugin import Array, ConfigError
from structopt.plugin.provisional import AttributeTable, Encoded
from structopt.testing.components import command, component
from structopt.testing.loss import LossSuite
from structopt.testing.problems import instance_scores, make_problem, random_encoded, residual

LABELS, LENGTHS = 3, (4, 1, 3)


def problem_of(encoded: Encoded, gamma: float) -> Any:
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(encoded, graph, SquaredHinge(gamma=gamma), inference)


@pytest.fixture(scope="module", params=[0.0, 1.0, 2.5])
def problem(request: pytest.FixtureRequest) -> Any:
    random, tokens = np.random.default_rng(1), sum(LENGTHS)
    table = AttributeTable(np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), None, tokens)
    gold = random.integers(0, LABELS, tokens).astype(np.int32)
    return problem_of(
        Encoded(np.cumsum([0, *LENGTHS]), {"label": table}, ("a", "b", "c"), gold), request.param
    )


@pytest.fixture(scope="module", params=[0.0, 1.0, 2.5])
def partial_problem(problem: Any, request: pytest.FixtureRequest) -> Any:
    """The same sequences with partial labels: two allowed labels at some of the tokens, and any
    label at the last.
    """
    encoded, random = problem.examples.encoded, np.random.default_rng(2)
    allowed = np.eye(LABELS, dtype=bool)[encoded.gold]
    open_ones = random.random(len(allowed)) < 0.5
    allowed[open_ones, (encoded.gold[open_ones] + 1) % LABELS] = True
    allowed[-1] = True
    return problem_of(replace(encoded, gold_sets=allowed), request.param)


def enumerated(problem: Any, i: int, s: Array) -> float:
    """1/2 max(0, h)^2 with every output listed."""
    encoded, gamma = problem.examples.encoded, problem.loss.gamma
    tokens = slice(*encoded.offsets[i : i + 2])
    gold = tuple(encoded.gold[tokens])
    known = (
        np.eye(LABELS, dtype=bool)[encoded.gold[tokens]]
        if encoded.gold_sets is None
        else encoded.gold_sets[tokens]
    )
    emissions, transitions = np.split(s, [len(gold) * LABELS])

    def score(y: tuple[int, ...]) -> float:
        pairs = sum(transitions[a * LABELS + b] for a, b in itertools.pairwise(y))
        return float(sum(emissions[t * LABELS + label] for t, label in enumerate(y)) + pairs)

    def cost(y: tuple[int, ...]) -> int:
        return sum(not allowed[label] for allowed, label in zip(known, y, strict=True))

    outputs = list(itertools.product(range(LABELS), repeat=len(gold)))
    hinge = max(score(y) + gamma * cost(y) for y in outputs) - max(
        score(y) for y in outputs if not cost(y)
    )
    return 0.5 * max(0.0, hinge) ** 2


@pytest.mark.parametrize("i", range(len(LENGTHS)))
def test_value_and_gradient(problem: Any, i: int) -> None:
    check_value_and_gradient(problem, i)


@pytest.mark.parametrize("i", range(len(LENGTHS)))
def test_partial_labels(partial_problem: Any, i: int) -> None:
    """The target is the best output that agrees with the known labels."""
    assert partial_problem.targets.sets.any()
    check_value_and_gradient(partial_problem, i)


def check_value_and_gradient(problem: Any, i: int) -> None:
    random, step = np.random.default_rng(i), 1e-5
    parts = int(np.diff(problem.structure.parts)[i])
    for _ in range(10):
        s = random.normal(size=parts)
        value, gradient = residual(problem, s, i)
        assert value == pytest.approx(enumerated(problem, i, s), abs=1e-12)
        moves = step * np.eye(parts)
        differences = [
            (residual(problem, s + d, i)[0] - residual(problem, s - d, i)[0]) / (2 * step)
            for d in moves
        ]
        np.testing.assert_allclose(gradient, differences, atol=1e-7)


def test_zero_where_the_margin_is_kept(problem: Any) -> None:
    encoded = problem.examples.encoded
    s = np.zeros(int(problem.structure.parts[1]))
    s[np.arange(LENGTHS[0]) * LABELS + encoded.gold[: LENGTHS[0]]] = 100.0
    value, gradient = residual(problem, s, 0)
    assert value == 0
    assert not gradient.any()


def test_driver_runs_as_python(problem: Any) -> None:
    assert problem.kernels.evaluate is squared_hinge
    weights = np.random.default_rng(0).normal(size=problem.dimension)
    expected = sum(
        enumerated(problem, i, instance_scores(problem, weights, i)) for i in range(problem.m)
    )
    assert problem.losses(weights) == pytest.approx(expected)


class TestContract(LossSuite):
    """What every loss promises."""

    @pytest.fixture(params=[0.0, 1.0, 2.5])
    def problem(self, request: pytest.FixtureRequest) -> Any:
        return problem_of(random_encoded(1), request.param)


def test_refusals() -> None:
    with pytest.raises(ConfigError, match=r"loss=squared_hinge has no variant prediction"):
        SquaredHinge().kernel("prediction")
    with pytest.raises(ArgumentError, match=r"^gamma=-1"):
        SquaredHinge(gamma=-1.0)


def test_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "loss=squared_hinge",
        "task.limit=200",
        "optimizer.epochs=5",
        "tracker=none",
        f"hydra.run.dir={tmp_path}",
    ]
    assert command(words) == 0
    assert "squared_hinge (gamma=1)" in capsys.readouterr().out
    assert json.loads((tmp_path / "metrics.json").read_text())["dev"]["f1"] > 0.6
