"""Passes that raise the objective are undone, and made again with shorter steps."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.errors import ConfigError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.learning.guarded import MOST, Guarded
from structopt.learning.rate import SHORTER
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.objective.options import optioned
from structopt.testing.problems import make_problem, random_encoded, random_weights


class Descent(Optimizer):
    """Steps of length eta down the slope of theta^2 / 2, in place; a message counts them."""

    plan = Plan(shortens=True)

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def init(self, problem: Any, weights: Any) -> dict[str, Any]:
        return {"theta": weights.copy(), "eta": self.eta}

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        state["theta"] -= state["eta"] * state["theta"]
        problem.messages += 1
        return state, Report(loss=1.0)

    def shortened(self, state: dict[str, Any]) -> dict[str, Any]:
        return state | {"eta": state["eta"] * SHORTER}

    def weights(self, state: dict[str, Any]) -> Any:
        return state["theta"]


def square() -> Any:
    def certificate(weights: Any) -> tuple[float, float]:
        return float(weights @ weights) / 2, 0.0

    return SimpleNamespace(
        dimension=1,
        objective=lambda weights: certificate(weights)[0],
        certificate=certificate,
        messages=np.zeros(1),
    )


def test_a_pass_that_raises_the_objective_is_made_again() -> None:
    # theta -> -8 theta; then by 2.25 to -1.25 theta; then by .5625
    problem, one = square(), Guarded(Descent(9.0))
    state, report = one.step(problem, one.init(problem, np.ones(1)))
    assert (state.inner["theta"].tolist(), report.repeated) == ([1 - 9.0 / 16], 2)
    assert report.primal == problem.objective(state.inner["theta"])
    assert report.judging_seconds > 0
    assert problem.messages.tolist() == [1.0]  # those of the passes that were undone are forgotten
    state, report = one.step(problem, state)
    assert (state.inner["eta"], report.repeated) == (9.0 / 16, 0)


def test_a_wrong_result_names_the_inner_optimizer() -> None:
    one = Guarded(Descent(1.0))
    state = one.init(square(), np.ones(1))
    vars(one.optimizer)["step"] = lambda problem, state: None
    with pytest.raises(ConfigError, match=r"Descent.step returned None and must return the pair"):
        one.step(square(), state)
    vars(one.optimizer)["init"] = lambda problem, weights: weights
    with pytest.raises(ConfigError, match=r"Descent.init returned an array .* must return a dict"):
        one.init(square(), np.ones(1))


def test_numbers_that_no_step_keeps_finite_are_reported() -> None:
    problem, one = square(), Guarded(Descent(inf))
    state, report = one.step(problem, one.init(problem, np.ones(1)))
    assert not np.isfinite(state.inner["theta"]).any()
    assert report.primal is not None and not np.isfinite(report.primal)


def test_a_pass_that_cannot_be_mended_is_left_undone() -> None:
    eta = 1e9
    problem, one = square(), Guarded(Descent(eta))
    state, report = one.step(problem, one.init(problem, np.ones(1)))
    assert (state.inner["theta"].tolist(), report.primal, report.repeated) == ([1.0], 0.5, MOST + 1)
    assert state.inner["eta"] == eta * SHORTER ** (MOST + 1)
    assert problem.messages.tolist() == [0.0]


def test_small_rises_are_let_pass() -> None:
    """theta -> -1.04 theta: P rises by 8 %."""
    problem, one = square(), Guarded(Descent(2.04))
    assert one.step(problem, one.init(problem, np.ones(1)))[1].repeated == 0


def test_certificates_come_with_the_objective() -> None:
    problem, one = square(), Guarded(Descent(0.5), certificate=True)
    report = one.step(problem, one.init(problem, np.ones(1)))[1]
    assert (report.primal, report.dual) == (0.125, 0.0)


def test_guards_what_has_a_step_length_where_the_objective_is_known() -> None:
    problem = problem_of(LossFamily())
    guards = {
        name
        for name in registry.installed("optimizer")
        if isinstance(optioned(optimizer_of(name), problem, guard=True), Guarded)
    }
    assert {"sgd", "adagrad", "adadelta"} <= guards
    assert not guards & {
        "dca",
        "mira",
        "perceptron",
        "pegasos",
        "dlpw",
        "lbfgs",
        "sdca",
        "eg",
        "smo",
        "cutting_plane",
    }
    assert not isinstance(optioned(optimizer_of("sgd"), problem), Guarded)


def optimizer_of(name: str, **options: Any) -> Any:
    return registry.create("optimizer", {"name": name, **options})


def problem_of(loss: Any, C: float = 1.0) -> Any:
    return make_problem(
        random_encoded(lengths=(3, 4, 2, 5, 3, 4), attributes=12), LinearChain(), loss, Exact(), C
    )


@pytest.mark.parametrize(
    ("name", "options"), [("sgd", {"eta": 0.05}), ("adagrad", {}), ("adadelta", {})]
)
def test_the_bits_are_the_optimizers_own_where_nothing_rises(
    name: str, options: dict[str, Any]
) -> None:
    problem = problem_of(LossFamily(1.0, 0.0))
    plain, one = optimizer_of(name, **options), Guarded(optimizer_of(name, **options))
    a, b = (method.init(problem, np.zeros(problem.dimension)) for method in (plain, one))
    for _ in range(4):
        a, b, report = plain.step(problem, a)[0], *one.step(problem, b)
        assert report.repeated == 0
        assert plain.weights(a).tobytes() == one.weights(b).tobytes()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sgd", {"eta": 50.0, "C": 20.0}),
        ("adagrad", {"eta": 50.0}),
        ("adadelta", {"epsilon": 100.0}),
    ],
)
def test_steps_that_are_too_long_are_shortened(name: str, options: dict[str, Any]) -> None:
    problem = problem_of(LossFamily(inf, 1.0), options.get("C", 1.0))
    plain, one = optimizer_of(name, **options), Guarded(optimizer_of(name, **options))
    start = np.zeros(problem.dimension)
    astray = plain.weights(plain.step(problem, plain.init(problem, start))[0])
    assert problem.objective(astray) > 1.2 * problem.objective(start)
    state, repeated = one.init(problem, start), 0
    for _ in range(6):
        state, report = one.step(problem, state)
        repeated += report.repeated
    assert repeated > 0
    assert problem.objective(one.weights(state)) < problem.objective(start)


def test_adagrad_keeps_the_weights_of_a_trained_model() -> None:
    """Rates that began at eta / 0.001 made the regulariser alone erase weights without a
    gradient.
    """
    problem = problem_of(LossDifference(inf), C=0.1)
    warm = random_weights(problem, 3, 0.5)
    method = optimizer_of("adagrad", C=0.1)
    weights = method.weights(method.step(problem, method.init(problem, warm))[0])
    assert np.linalg.norm(weights) > 0.5 * np.linalg.norm(warm)
    zero = method.init(problem, np.zeros(problem.dimension))
    assert not zero.squares.any()
