"""The updates against dense vectors and enumeration; training, resume and refusals on the command
line.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structopt_arow.optimizer import Arow

from structopt.plugin import Array, CompatibilityError, ConfigError, LossFamily
from structopt.plugin.provisional import AttributeTable, Encoded
from structopt.testing.components import check, command, component
from structopt.testing.optimizer import OptimizerSuite
from structopt.testing.problems import make_problem

LABELS, ATTRIBUTES, LENGTHS = 3, 6, (4, 1, 3, 2, 4)


def corpus(random: np.random.Generator) -> Encoded:
    """A few short sequences whose tokens have three real-valued attributes each, some of them
    twice.
    """
    tokens = sum(LENGTHS)
    ids = random.integers(0, ATTRIBUTES, 3 * tokens).astype(np.int32)
    table = AttributeTable(
        np.arange(0, 3 * tokens + 1, 3), ids, random.normal(size=3 * tokens), ATTRIBUTES
    )
    gold = random.integers(0, LABELS, tokens).astype(np.int32)
    return Encoded(np.cumsum([0, *LENGTHS]), {"label": table}, ("a", "b", "c"), gold)


def problem_of(encoded: Encoded, loss: LossFamily, support: str = "all", seed: int = 3) -> Any:
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(encoded, graph, loss, inference, seed=seed, support=support)


def joint_features(encoded: Encoded, i: int, output: tuple[int, ...]) -> Array:
    """phi(x_i, y): values of the attributes by label, then counts of label pairs."""
    table, first = encoded.tables["label"], encoded.offsets[i]
    emissions, transitions = np.zeros((ATTRIBUTES, LABELS)), np.zeros((LABELS, LABELS))
    for t, y in enumerate(output):
        for j in range(table.offsets[first + t], table.offsets[first + t + 1]):
            emissions[table.ids[j], y] += table.values[j]
        if t:
            transitions[output[t - 1], y] += 1
    return np.concatenate([emissions.ravel(), transitions.ravel()])


def naive_pass(
    problem: Any, gamma: float, r: float, mu: Array, sigma: Array, epoch: int
) -> tuple[float, list[Array]]:
    """Visit as the optimizer would, with dense vectors and every output listed; return the losses'
    sum and the iterates.
    """
    encoded, total, iterates = problem.examples.encoded, 0.0, []
    support = problem.examples.scorer.support
    for i in problem.order(epoch):
        iterates.append(mu.copy())
        gold = tuple(int(y) for y in encoded.gold[encoded.offsets[i] : encoded.offsets[i + 1]])
        target = joint_features(encoded, i, gold)
        best, g = -np.inf, target
        for output in itertools.product(range(LABELS), repeat=len(gold)):
            difference = joint_features(encoded, i, output) - target
            value = mu @ difference + gamma * sum(a != b for a, b in zip(output, gold, strict=True))
            if value > best:
                best, g = value, difference
        total += best
        g = g if support is None else g * support
        if best > 0:
            alpha = best / ((g**2 * sigma).sum() + r)
            mu -= alpha * sigma * g
            sigma[:] = 1 / (1 / sigma + g**2 / r)
    return total, iterates


@pytest.mark.parametrize("support", ["all", "seen"])
@pytest.mark.parametrize(("gamma", "r"), [(1.0, 1.0), (0.0, 0.3), (2.0, 20.0)])
def test_updates(gamma: float, r: float, support: str) -> None:
    random = np.random.default_rng(5)
    problem = problem_of(corpus(random), LossFamily(beta=np.inf, gamma=gamma), support)
    start = random.normal(size=problem.dimension)
    if problem.examples.scorer.support is not None:
        start *= problem.examples.scorer.support
    optimizer = Arow(r=r)
    state = optimizer.init(problem, start)
    mu, sigma, iterates = start.copy(), np.ones(problem.dimension), []
    for epoch in range(4):
        state, report = optimizer.step(problem, state)
        total, visited = naive_pass(problem, gamma, r, mu, sigma, epoch)
        iterates += visited
        np.testing.assert_allclose(report.loss, total, rtol=0, atol=1e-12 * max(1.0, total))
        np.testing.assert_allclose(state["mu"], mu, rtol=0, atol=1e-12)
        np.testing.assert_allclose(optimizer.variances(state), sigma, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            optimizer.weights(state), np.mean(iterates, axis=0), rtol=0, atol=1e-12
        )
    assert np.any(mu != start)
    assert sigma.min() < 1


class TestContract(OptimizerSuite):
    """What every optimizer promises."""

    @pytest.fixture
    def optimizer(self) -> Any:
        return Arow

    @pytest.fixture
    def problem(self) -> Any:
        loss = LossFamily(beta=np.inf, gamma=1.0)
        return lambda seed: problem_of(corpus(np.random.default_rng(5)), loss, seed=seed)


def test_without_average() -> None:
    problem = problem_of(corpus(np.random.default_rng(5)), LossFamily(beta=np.inf, gamma=1.0))
    plain, averaged = Arow(average=False), Arow()
    state, other = (
        plain.init(problem, np.zeros(problem.dimension)),
        averaged.init(problem, np.zeros(problem.dimension)),
    )
    state, other = plain.step(problem, state)[0], averaged.step(problem, other)[0]
    assert len(state["lag"]) == 0
    assert np.array_equal(plain.weights(state), other["mu"])


def test_uncompiled_driver_gives_the_same() -> None:
    problem = problem_of(corpus(np.random.default_rng(5)), LossFamily(beta=np.inf, gamma=1.0))
    optimizer = Arow()
    first, _ = optimizer.step(problem, optimizer.init(problem, np.zeros(problem.dimension)))
    compiled = problem.kernels.evaluate
    problem.kernels = problem.kernels._replace(evaluate=lambda *arguments: compiled(*arguments))
    second, _ = optimizer.step(problem, optimizer.init(problem, np.zeros(problem.dimension)))
    np.testing.assert_allclose(second["mu"], first["mu"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"r": 0.0}, "optimizer.r=0.0"),
        ({"C": -1.0}, "optimizer.C=-1.0"),
        ({"epochs": -1}, "optimizer.epochs=-1"),
    ],
)
def test_ranges(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Arow(**parameters)


def test_refuses_a_temperature() -> None:
    with pytest.raises(
        CompatibilityError,
        match=r"optimizer=arow needs loss.beta=inf, a margin between two outputs",
    ):
        check(
            component("factor_graph", "linear_chain"),
            component("inference", "exact"),
            LossFamily(beta=1.0),
            Arow(),
        )


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of five passes over the shipped corpus."""
    folder = tmp_path_factory.mktemp("straight")
    assert (
        command(["optimizer=arow", "tracker=none", "optimizer.epochs=5", f"hydra.run.dir={folder}"])
        == 0
    )
    return folder


def test_trains(straight: Path) -> None:
    assert json.loads((straight / "metrics.json").read_text())["dev"]["f1"] > 0.8


def test_resumes(straight: Path, tmp_path: Path) -> None:
    assert (
        command(
            ["optimizer=arow", "tracker=none", "optimizer.epochs=2", f"hydra.run.dir={tmp_path}"]
        )
        == 0
    )
    assert command([f"resume={tmp_path}", "optimizer.epochs=5"]) == 0
    weights = "model/weights.safetensors"
    assert (tmp_path / weights).read_bytes() == (straight / weights).read_bytes()


def test_typed_loss_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        command(
            [
                "optimizer=arow",
                "loss.beta=1",
                "tracker=none",
                "task.limit=20",
                f"hydra.run.dir={tmp_path}",
            ]
        )
        == 2
    )
    message = capsys.readouterr().err
    assert "optimizer=arow needs loss.beta=inf" in message
    assert message.count("\n") == 1
