"""Value against enumeration, gradient against finite differences, and training as a user meets it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from structopt_squared_hinge.loss import SquaredHinge, squared_hinge

from structopt.cli import main
from structopt.core.data import AttributeTable, Encoded
from structopt.errors import ConfigError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.attribute_rows import AttributeRows
from structopt.inference.exact import Exact
from structopt.kernels.record import Array
from structopt.problem import Examples, Problem
from structopt.testing.loss import LossSuite
from structopt.testing.problems import instance_scores, make_problem, random_encoded

LABELS, LENGTHS = 3, (4, 1, 3)


@pytest.fixture(scope="module", params=[0.0, 1.0, 2.5])
def problem(request: pytest.FixtureRequest) -> Problem:
    random, tokens = np.random.default_rng(1), sum(LENGTHS)
    table = AttributeTable(np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), None, tokens)
    gold = random.integers(0, LABELS, tokens).astype(np.int32)
    encoded = Encoded(np.cumsum([0, *LENGTHS]), {"label": table}, ("a", "b", "c"), gold)
    loss, graph = SquaredHinge(gamma=request.param), LinearChain()
    structure = graph.build(encoded)
    gold_parts = graph.gold(encoded, structure)
    rows = AttributeRows.fit(encoded, structure, gold_parts, {"support": "all"})
    costs = loss.variable_costs(encoded.labels, encoded.gold, np.diff(encoded.offsets))
    examples = Examples(encoded, structure, rows.record(encoded, structure), rows)
    return Problem(examples, gold_parts, graph.cost(encoded, structure, costs), loss, Exact(), C=1.0)


def evaluate(problem: Problem, i: int, s: Array) -> tuple[float, Array]:
    r, k, work = np.zeros(len(s)), problem.kernels, problem.space.work
    data, memory = problem.data, np.zeros(0)
    value = k.evaluate(k.solve, data.structure, data.target, data.parameters, i, s.copy(), r, memory, work)
    return value, r


def enumerated(problem: Problem, i: int, s: Array) -> float:
    """1/2 max(0, h)^2 with every output listed."""
    encoded, gamma = problem.examples.encoded, problem.loss.gamma
    gold = tuple(encoded.gold[encoded.offsets[i] : encoded.offsets[i + 1]])
    emissions, transitions = np.split(s, [len(gold) * LABELS])

    def score(y: tuple[int, ...]) -> float:
        pairs = sum(transitions[a * LABELS + b] for a, b in itertools.pairwise(y))
        return float(sum(emissions[t * LABELS + label] for t, label in enumerate(y)) + pairs)

    outputs = itertools.product(range(LABELS), repeat=len(gold))
    hinge = max(score(y) - score(gold) + gamma * sum(a != b for a, b in zip(y, gold, strict=True)) for y in outputs)
    return 0.5 * max(0.0, hinge) ** 2


@pytest.mark.parametrize("i", range(len(LENGTHS)))
def test_value_and_gradient(problem: Problem, i: int) -> None:
    random, step = np.random.default_rng(i), 1e-5
    parts = int(np.diff(problem.structure.parts)[i])
    for _ in range(10):
        s = random.normal(size=parts)
        value, gradient = evaluate(problem, i, s)
        assert value == pytest.approx(enumerated(problem, i, s), abs=1e-12)
        moves = step * np.eye(parts)
        differences = [(evaluate(problem, i, s + d)[0] - evaluate(problem, i, s - d)[0]) / (2 * step) for d in moves]
        np.testing.assert_allclose(gradient, differences, atol=1e-7)


def test_zero_where_the_margin_is_kept(problem: Problem) -> None:
    encoded = problem.examples.encoded
    s = np.zeros(int(problem.structure.parts[1]))
    s[np.arange(LENGTHS[0]) * LABELS + encoded.gold[: LENGTHS[0]]] = 100.0
    value, gradient = evaluate(problem, 0, s)
    assert value == 0
    assert not gradient.any()


def test_driver_runs_as_python(problem: Problem) -> None:
    assert problem.kernels.evaluate is squared_hinge
    weights = np.random.default_rng(0).normal(size=problem.dimension)
    expected = sum(enumerated(problem, i, instance_scores(problem, weights, i)) for i in range(problem.m))
    assert problem.losses(weights) == pytest.approx(expected)


class TestContract(LossSuite):
    """What every loss promises."""

    @pytest.fixture(params=[0.0, 1.0, 2.5])
    def problem(self, request: pytest.FixtureRequest) -> Problem:
        return make_problem(random_encoded(1), LinearChain(), SquaredHinge(gamma=request.param), Exact())


def test_refusals() -> None:
    with pytest.raises(ConfigError, match=r"loss=squared_hinge has no variant prediction"):
        SquaredHinge().kernel("prediction")
    with pytest.raises(ConfigError, match=r"loss.gamma=-1"):
        SquaredHinge(gamma=-1.0)


def test_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["loss=squared_hinge", "task.limit=200", "optimizer.epochs=5", "tracker=none", f"hydra.run.dir={tmp_path}"]
    assert main(words) == 0
    assert "squared_hinge (gamma=1)" in capsys.readouterr().out
    assert json.loads((tmp_path / "metrics.json").read_text())["dev"]["f1"] > 0.6
