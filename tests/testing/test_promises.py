"""What the contract suites say of components that break their contract."""

from inspect import getdoc, getmembers, isfunction
from math import inf

import numpy as np
import pytest

from structopt.plugin import Executor, LossFamily, Optimizer, Report
from structopt.plugin.kernels import add_cost, gold_score, open_target
from structopt.testing import (
    executor,
    factor_graph,
    factor_kind,
    inference,
    loss,
    optimizer,
    report,
    scorer,
    task,
    tracker,
)
from structopt.testing.components import component
from structopt.testing.problems import make_problem, random_encoded

SUITES = [
    executor.ExecutorSuite,
    factor_graph.FactorGraphSuite,
    factor_kind.FactorKindSuite,
    inference.InferenceSuite,
    loss.LossSuite,
    optimizer.OptimizerSuite,
    report.ReportSuite,
    scorer.ScorerContract,
    task.TaskSuite,
    tracker.TrackerSuite,
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.__name__)
def test_every_failure_has_words(suite):
    """Tests say what holds and what to do; fixtures that are to be overridden say so."""
    tests = {name: test for name, test in getmembers(suite, isfunction) if name.startswith("test_")}
    assert tests
    for name, test in tests.items():
        promise, _, remedy = getdoc(test).partition("\n\n")
        assert promise and remedy, f"{suite.__name__}.{name} does not say what to do"
        assert test.__wrapped__.__name__ == name


def squared_without_gold(
    solve, structure, target, parameters, i, s, r, other, answer, memory, work
):
    """A loss that forgets to subtract the gold parts from the derivative."""
    t = open_target(target)
    add_cost(t, i, parameters[1], s)
    return solve(structure, i, s, 0.0, r, memory, work) - gold_score(t, i, s)


def squared_hinge(solve, structure, target, parameters, i, s, r, other, answer, memory, work):
    """A loss below zero."""
    squared_without_gold(solve, structure, target, parameters, i, s, r, other, answer, memory, work)
    return -1.0


class WrongLoss(LossFamily):
    in_family = False

    def __init__(self, function):
        super().__init__(beta=inf, gamma=1.0)
        self.function = function

    def kernel(self, variant="max_loss"):
        return self.function


def problem_with(wrong):
    graph, exact = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(random_encoded(1), graph, wrong, exact)


@pytest.mark.parametrize(
    ("name", "function", "words"),
    [
        (
            "test_perfect_scores",
            squared_without_gold,
            "and the gold parts from `r` (`add_gold(t, i, -1.0, r)`)",
        ),
        (
            "test_gradient",
            squared_without_gold,
            "Write the derivative of the returned value by every score into `r`",
        ),
        ("test_not_negative", squared_hinge, "subtract the gold score of the same scores"),
    ],
)
def test_a_wrong_loss_is_told_what_is_wrong(name, function, words):
    with pytest.raises(AssertionError) as failed:
        getattr(loss.LossSuite(), name)(problem_with(WrongLoss(function)))
    text = str(failed.value)
    assert text.startswith(f"{name}: this loss breaks a promise of its contract: ")
    assert words in text
    assert "assert " in text or "Not equal to tolerance" in text  # the values


class Reversed(Executor):
    workers, shards, mixing = 1, 8, 0

    def map(self, function, shards):
        return [function(shard) for shard in shards][::-1]

    def place(self, make, shard_data):
        raise NotImplementedError


def test_a_wrong_executor_is_told_what_is_wrong():
    with pytest.raises(
        AssertionError, match="(?s)this executor breaks .* in the order of `shards`.*assert "
    ):
        executor.ExecutorSuite().test_results_come_in_shard_order(Reversed())


class Forgetful(Optimizer):
    """Keeps its step length in itself, and not in the state."""

    def __init__(self):
        self.C, self.epochs, self.steps = 1.0, 3, 0

    def init(self, problem, weights):
        return {"theta": weights.copy()}

    def step(self, problem, state):
        self.steps += 1
        losses, gradient = problem.gradient(state["theta"])
        return {"theta": state["theta"] - gradient / self.steps}, Report(loss=losses)

    def weights(self, state):
        return state["theta"]


def test_a_wrong_optimizer_is_told_what_is_wrong():
    def problem(seed):
        return problem_with(LossFamily(beta=inf, gamma=1.0))

    with pytest.raises(
        AssertionError,
        match="(?s)this optimizer breaks .*\nKeep all that a pass changes in the state",
    ):
        optimizer.OptimizerSuite().test_resumes(Forgetful, problem)


REQUIRED = {
    "ExecutorSuite": {"executor"},
    "FactorGraphSuite": {"graph", "encoded"},
    "FactorKindSuite": {"kind", "factor"},
    "InferenceSuite": {"inference", "structure"},
    "LossSuite": {"problem"},
    "OptimizerSuite": {"optimizer", "problem"},
    "ReportSuite": {"reporter", "records"},
    "ScorerContract": {"scorer"},
    "TaskSuite": {"task", "path"},
    "TrackerSuite": {"tracker"},
}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.__name__)
def test_a_missing_fixture_is_named_with_its_value(suite):
    """The failure has the docstring of the fixture; the docstring of the class names it."""
    name = suite.__name__
    mine = type("TestMine", (suite,), {})
    for fixture in REQUIRED[name]:
        definition = vars(suite)[fixture]
        with pytest.raises(NotImplementedError) as raised:
            definition.__wrapped__(mine())
        text = str(raised.value)
        assert f"{name} needs a fixture: override the fixture `{fixture}`" in text
        assert "class of the test, TestMine. Return " in text
        assert f"`{fixture}`" in getdoc(suite)


def test_assertions_of_suites_show_values():
    assert np.isfinite(1.0)
    with pytest.raises(AssertionError, match=r"assert 0 >= 1"):
        executor.ExecutorSuite().test_has_workers(type("None_", (Reversed,), {"workers": 0})())
