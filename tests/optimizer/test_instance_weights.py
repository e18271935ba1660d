"""Weights of instances: one of the weight w counts as w copies of it, for every optimizer that
takes weights.
"""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from structopt.config import compatibility, registry
from structopt.core.data.in_memory import checked_weights
from structopt.errors import ArgumentError, CompatibilityError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_weights,
)
from tests.messages import raises

TIMES = [2, 1, 3, 0, 1, 2]
CRF, SVM = (1.0, 0.0), (inf, 1.0)
OPTIMA = {
    "lbfgs": (CRF, 300, {"gradient_tolerance": 1e-9}, 1e-9),
    "sgd": (CRF, 400, {"eta": 0.5}, 0.02),
    "adagrad": (CRF, 400, {"eta": 0.1}, 0.02),
    "adadelta": (CRF, 400, {}, 0.1),
    "pegasos": (SVM, 400, {}, 0.02),
    "cutting_plane": (SVM, 100, {}, 1e-6),
    "online_cutting_plane": (SVM, 100, {}, 1e-5),
}
"""Of optimizers by name: a loss, epochs, options, and how near to the optimum they come, relative to it."""
REFUSING = {"sdca": CRF, "eg": CRF, "smo": SVM}


def problems(member, C=0.5):
    """A problem with weights, and the same with copies of its instances; C stays, since lambda m =
    1/C in both.
    """
    encoded = random_encoded(4, (1, 2, 3, 4, 3, 2))
    weighted = replace(encoded, instance_weights=np.array(TIMES, float))
    order = [i for i, times in enumerate(TIMES) for _ in range(times)]
    copies = joined([encoded.subset(i, i + 1) for i in order])
    return [
        make_problem(one, LinearChain(), LossFamily(*member), Exact(), C, support="all")
        for one in (weighted, copies)
    ]


def joined(instances):
    """One corpus of corpora of one instance each."""
    tables = [one.tables["label"] for one in instances]
    offsets = np.cumsum([0, *(len(one.gold) for one in instances)])
    ends = np.cumsum([0, *(len(table.ids) for table in tables)])
    rows = np.concatenate(
        [[0], *(table.offsets[1:] + end for table, end in zip(tables, ends, strict=False))]
    )
    table = replace(tables[0], offsets=rows, ids=np.concatenate([table.ids for table in tables]))
    gold = np.concatenate([one.gold for one in instances])
    return replace(instances[0], offsets=offsets, tables={"label": table}, gold=gold)


def total(problem, weights):
    """m P: with weights and with copies the same function."""
    return problem.m * problem.objective(weights)


@pytest.mark.parametrize("member", [CRF, SVM])
def test_weights_are_copies_in_the_objective_and_its_gradient(member):
    weighted, copies = problems(member)
    theta = random_weights(weighted, scale=0.7)
    assert total(weighted, theta) == pytest.approx(total(copies, theta), rel=1e-12)
    sums = [problem.gradient(theta) for problem in (weighted, copies)]
    assert sums[0][0] == pytest.approx(sums[1][0], rel=1e-12)
    assert np.allclose(sums[0][1], sums[1][1], rtol=1e-12, atol=1e-12)
    one, (loss, gradient) = (
        weighted.minibatch(theta, np.array([2])),
        loss_and_gradient(weighted, theta, 2),
    )
    assert one[0] == pytest.approx(3 * loss) and np.allclose(one[1], 3 * gradient)


@pytest.mark.parametrize("name", OPTIMA)
def test_optimizers_honour_weights(name):
    member, epochs, options, within = OPTIMA[name]
    weighted, copies = problems(member)
    optimizer = registry.create("optimizer", {"name": name, **options})
    compatibility.check(LinearChain(), Exact(), LossFamily(*member), optimizer, weighted=True)
    best = registry.create("optimizer", {"name": "cutting_plane" if member == SVM else "lbfgs"})
    optimum = total(copies, trained(best, copies, 300))
    assert total(copies, trained(optimizer, weighted, epochs)) <= (1 + within) * optimum


def trained(optimizer, problem, epochs):
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(epochs):
        state, report = optimizer.step(problem, state)
        if report.finished:
            break
    return optimizer.weights(state)


@pytest.mark.parametrize(
    ("name", "member", "largest"),
    [("perceptron", (inf, 0.0), inf), ("dca", CRF, 0.5), ("dca", SVM, 0.5), ("mira", SVM, 0.5)],
)
def test_steps_are_those_of_the_weighed_loss(name, member, largest):
    """A step solves the linearised problem of w L: theta -= min(C, w L / ||w g||^2) w g; the
    perceptron's is w g.
    """
    weighted, _ = problems(member)
    theta = np.zeros(weighted.dimension)
    optimizer = registry.create("optimizer", {"name": name, "average": False})
    for i in weighted.order(0):
        loss, gradient = loss_and_gradient(weighted, theta, i)
        loss, gradient = TIMES[i] * loss, TIMES[i] * gradient
        if square := float(gradient @ gradient):
            theta -= (1.0 if name == "perceptron" else min(largest, loss / square)) * gradient
    assert np.allclose(trained(optimizer, weighted, 1), theta)


@pytest.mark.parametrize("name", REFUSING)
def test_others_refuse_them(name):
    member = REFUSING[name]
    optimizer = registry.create("optimizer", {"name": name})
    compatibility.check(LinearChain(), Exact(), LossFamily(*member), optimizer)
    message = (
        f"optimizer={name} takes all instances to count the same, and these have weights. Leave "
        "the weights out; or take"
    )
    with pytest.raises(CompatibilityError, match=message):
        compatibility.check(LinearChain(), Exact(), LossFamily(*member), optimizer, weighted=True)


def test_every_optimizer_is_among_them():
    assert {*OPTIMA, *REFUSING, "perceptron", "dca", "mira", "dlpw"} == set(
        registry.installed("optimizer")
    ) - {"arow", "adamw"}


def test_a_fingerprint_tells_weights_apart():
    weighted, _ = problems(CRF)
    plain = make_problem(
        replace(weighted.examples.encoded, instance_weights=None),
        LinearChain(),
        LossFamily(*CRF),
        Exact(),
        0.5,
    )
    assert weighted.fingerprint.digest != plain.fingerprint.digest
    assert (
        weighted.shard_data.divided([(0, 2), (2, 6)])[1].encoded.instance_weights.tolist()
        == TIMES[2:]
    )


@pytest.mark.parametrize(
    ("weights", "fields"),
    [
        ([1, 2], {"problem": "must have the shape (3,), and has the shape (2,)."}),
        ([1, -1, 1], {"value": -1, "where": "instance 1", "problem": "must be at least 0."}),
        ([0, 0, 0], {"problem": "must be above zero for at least one instance."}),
        (["a", 1, 1], {"value": "a", "where": "instance 0"}),
    ],
)
def test_refuses(weights, fields):
    with raises(ArgumentError, parameter="sample_weight", **fields):
        checked_weights(weights, 3)
