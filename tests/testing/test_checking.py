"""Contract suites on one component, by a call."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import structopt as so
from structopt.core.cost import Cost
from structopt.testing.factor_kind import OneFactor
from structopt.tracker.none import NoTracker
from tests.messages import raises
from tests.verbs.test_fitting import Descent, Focal, LogLoss


class Ascent(Descent):
    """A step in the wrong direction."""

    def step(self, problem, state):
        return {"w": state["w"] + 0.1 * problem.value_and_gradient(state["w"])[1]}


class Flipped(LogLoss):
    """A gradient with the wrong sign."""

    def value_and_gradient(self, s, gold, infer):
        value, gradient = super().value_and_gradient(s, gold, infer)
        return value, -gradient


class Uncertain(so.Exact):
    """An inference that finds no best outputs."""

    def kernels(self, kind):
        kernels = super().kernels(kind)

        def solve(structure, i, s, temperature, z, *rest):
            return kernels.solve(structure, i, -s, temperature, z, *rest)

        return kernels._replace(solve=solve)


@pytest.mark.parametrize("component", [Focal(), LogLoss(), so.SVM(), Descent(), so.Exact()])
def test_promises_hold(component):
    so.check(component)


@pytest.mark.parametrize(
    ("component", "broken"),
    [
        (Flipped(), ["test_gradient: this loss breaks a promise", "central differences"]),
        (Ascent(), ["test_objective_decreases", "Check sign and length of the steps"]),
        (Uncertain(), ["this inference breaks a promise"]),
    ],
)
def test_broken_promises(component, broken):
    with pytest.raises(so.StructoptError, match="breaks its contract") as raised:
        so.check(component)
    for words in broken:
        assert re.search(re.escape(words), str(raised.value))


class Free(Cost):
    """A cost that pays for errors."""

    def of_variables(self, labels, gold, lengths, numbers):
        return -np.ones(len(gold))


def test_other_kinds(tmp_path):
    so.check(so.component("cost", "hamming"))
    so.check(so.CostMatrix(1.0 - np.eye(3)))
    with pytest.raises(so.StructoptError, match="test_no_output_costs_less: this cost breaks"):
        so.check(Free())
    so.check(so.component("features", "attribute_rows", support="all"))
    so.check(so.component("executor", "serial"))
    so.check(so.component("factor_kind", "exactly_one"), factor=OneFactor((1, 1, 1)))
    path = tmp_path / "train.txt"
    path.write_text("a B-X\nb O\n\nc O\n\nd B-X\ne I-X\n", encoding="utf8")
    so.check(so.component("task", "ner"), path=path)
    with raises(so.ArgumentError, parameter="path", match="without a default"):
        so.check(so.component("task", "ner"))


class Fragile(NoTracker):
    """A tracker that raises if its store cannot be written."""

    def __init__(self, path="."):
        self.path = path

    def start(self, run):
        next(Path(self.path).iterdir())


def test_trackers():
    so.check(NoTracker())
    so.check(Fragile())
    with pytest.raises(
        so.StructoptError, match="test_a_broken_store.*this tracker breaks"
    ) as raised:
        so.check(Fragile(), broken=lambda: Fragile("no such folder"))
    assert "FileNotFoundError" in str(raised.value)


def test_fixtures():
    from structopt.testing.problems import random_encoded

    so.check(so.LinearChain(), encoded=random_encoded(1))
    so.check(Ascent(), decrease=1e9)
    with raises(so.ArgumentError, parameter="encoded", match="without a default"):
        so.check(so.LinearChain())
    with raises(so.ArgumentError, parameter="component", match="must be an instance of Loss"):
        so.check("focal")


def test_without_pytest():
    code = "import sys; sys.modules['pytest'] = None\nimport structopt as so\n"
    code += "so.check(so.SVM())\nassert sys.modules['pytest'] is None"
    subprocess.run([sys.executable, "-c", code], check=True)
