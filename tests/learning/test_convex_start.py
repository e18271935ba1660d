"""The start from a convex loss: which loss, for how many passes, and what their reports say."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from structopt.config import registry
from structopt.errors import ArgumentError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.cost.weighted import Weighted
from structopt.loss.difference import CONVEX_PASSES, LossDifference
from structopt.loss.family import LossFamily
from structopt.objective.options import optioned
from structopt.testing.problems import make_problem, random_encoded
from tests.messages import raises


def problem_of(loss: Any) -> Any:
    return make_problem(
        random_encoded(lengths=(3, 4, 2, 5, 3, 4), attributes=12), LinearChain(), loss, Exact(), 5.0
    )


def test_the_loss_says_what_it_begins_with() -> None:
    first = LossDifference(inf, 2.5, Weighted(), {"y0": 0.5}).begins_with(warm=False)
    assert first is not None
    assert (first.passes, first.loss.member, first.loss.convex) == (
        CONVEX_PASSES,
        "svm (beta=inf, gamma=2.5)",
        True,
    )
    assert isinstance(first.loss.cost, Weighted) and first.loss.cost_weights == {"y0": 0.5}
    assert LossDifference(1.0).begins_with(warm=True) is None
    beginning = LossDifference(1.0, convex_passes=3).begins_with(warm=True)
    assert beginning is not None and beginning.passes == 3
    assert LossDifference(1.0, convex_passes=0).begins_with(warm=False) is None
    assert LossFamily(1.0).begins_with(warm=False) is None


def test_refuses_fewer_than_no_passes() -> None:
    with raises(ArgumentError, parameter="convex_passes", value=-1):
        LossDifference(inf, convex_passes=-1)


@pytest.mark.parametrize(
    ("name", "beta"), [("sgd", inf), ("adagrad", inf), ("adadelta", 1.0), ("lbfgs", 1.0)]
)
def test_the_convex_passes_and_then_those_of_the_loss(name: str, beta: float) -> None:
    """Like two runs, the second from the weights of the first; guarded or not."""
    problem = problem_of(LossDifference(beta, convex_passes=3))
    convex = problem_of(LossFamily(beta, 1.0))

    def optimizer() -> Any:
        return registry.create("optimizer", {"name": name})

    beginning = problem.loss.begins_with(warm=False)
    one = optioned(optimizer(), problem, guard=True, beginning=beginning)
    state, reports = one.init(problem, np.zeros(problem.dimension)), []
    for _ in range(5):
        state, report = one.step(problem, state)
        reports.append((report.convex_pass, report.dual, report.finished))
        if report.convex_pass is not None:
            assert report.primal is None
    assert [one[0] for one in reports] == [1, 2, 3, None, None]
    assert all(one[1:] == (None, "") for one in reports[:3])
    weights = np.zeros(problem.dimension)
    for part, passes in ((convex, 3), (problem, 2)):
        plain = optimizer()
        expected = plain.init(part, weights)
        for _ in range(passes):
            expected, _report = plain.step(part, expected)
        weights = plain.weights(expected).copy()
    assert one.weights(state).tobytes() == weights.tobytes()


def test_another_loss_shares_the_messages() -> None:
    problem = problem_of(LossDifference(inf))
    other = problem.with_loss(LossFamily(inf, 1.0))
    assert other.messages is problem.messages
    weights = np.linspace(-1.0, 1.0, problem.dimension)
    assert other.objective(weights) == problem_of(LossFamily(inf, 1.0)).objective(weights)
    assert problem.loss.member.startswith("ramp") and other.objective(weights) != problem.objective(
        weights
    )
