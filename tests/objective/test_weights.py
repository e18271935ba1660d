"""Weights that are given directly to public functions and methods."""

import numpy as np
import pytest

from structopt.config import registry
from structopt.errors import ArgumentError
from structopt.executor.serial import Serial
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.objective import decoding
from structopt.testing.problems import (
    instance_scores,
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_weights,
)
from tests.messages import raises

SHAPE = "must have the shape (8,), and has the shape "
REAL = "must be a NumPy array of floating-point numbers, and is "
FLOAT64 = "must be a contiguous, writable array of float64, and is "
REMEDY = "Give np.array(weights, dtype=float)."
FINITE = "must be a number below +inf; -inf is allowed."


def with_element(weights, value):
    """A copy with one other element."""
    copy = weights.copy()
    copy[1] = value
    return copy


MISREAD = {
    "short": (lambda w: w[:3], {"problem": SHAPE + "(3,)."}),
    "long": (lambda w: np.zeros(9), {"problem": SHAPE + "(9,)."}),
    "matrix": (lambda w: w[None], {"problem": SHAPE + "(1, 8)."}),
    "integers": (lambda w: np.ones(8, int), {"problem": REAL + "of int64."}),
    "list": (lambda w: w.tolist(), {"problem": REAL + "list."}),
    "float32": (
        lambda w: w.astype(np.float32),
        {"problem": FLOAT64 + "contiguous, of float32.", "remedy": REMEDY},
    ),
    "strided": (
        lambda w: np.repeat(w, 2)[::2],
        {"problem": FLOAT64 + "a strided view, of float64.", "remedy": REMEDY},
    ),
    "read-only": (
        lambda w: np.frombuffer(w.tobytes()),
        {"problem": FLOAT64 + "contiguous and read-only, of float64.", "remedy": REMEDY},
    ),
}
NOT_FINITE = {
    "nan": (
        lambda w: with_element(w, np.nan),
        {"problem": FINITE, "value": np.nan, "where": "index 1"},
    ),
    "inf": (
        lambda w: with_element(w, np.inf),
        {"problem": FINITE, "value": np.inf, "where": "index 1"},
    ),
}


@pytest.fixture(scope="module")
def problem():
    """A problem with eight weights."""
    encoded = random_encoded(labels=2, attributes=2)
    return make_problem(encoded, LinearChain(), LossFamily(), Exact())


def decoders(problem):
    """Functions of weights that predict."""
    of = problem.examples, problem.kernels
    outputs = decoding.best_outputs(*of, random_weights(problem), Serial())
    group = problem.structure.groups[0].name
    return {
        "best_outputs": lambda w: decoding.best_outputs(*of, w, Serial()),
        "marginals": lambda w: decoding.marginals(*of, w, group, Serial()),
        "k_best": lambda w: decoding.k_best(problem.examples, problem.list_kernels, w, 2, Serial()),
        "log_partitions": lambda w: decoding.log_partitions(*of, w, Serial(), 1.0),
        "output_scores": lambda w: decoding.output_scores(problem.examples, w, outputs),
        "instance_scores": lambda w: instance_scores(problem, w, 0),
        "loss_and_gradient": lambda w: loss_and_gradient(problem, w, 0),
    }


def methods(problem):
    """Methods of problems and of their examples."""
    some = np.arange(2)
    names = ("losses", "objective", "gradient", "certificate", "regularizer", "ridge", "judge")
    return {name: getattr(problem, name) for name in names} | {
        "minibatch": lambda w: problem.minibatch(w, some),
        "scores": lambda w: problem.examples.scores(w, some),
        "training": lambda w: problem.examples.training(w, some, [0]),
    }


@pytest.mark.parametrize("kind", MISREAD)
def test_weights_that_kernels_would_misread_are_refused(problem, kind):
    wrong, fields = MISREAD[kind]
    given = wrong(random_weights(problem))
    for call in (decoders(problem) | methods(problem)).values():
        with raises(ArgumentError, parameter="weights", **fields):
            call(given)


@pytest.mark.parametrize("kind", NOT_FINITE)
def test_predictions_by_weights_that_are_not_finite_are_refused(problem, kind):
    wrong, fields = NOT_FINITE[kind]
    given = wrong(random_weights(problem))
    for call in decoders(problem).values():
        with raises(ArgumentError, parameter="weights", **fields):
            call(given)
    assert not np.isfinite(problem.objective(given))  # runs report it as a NumericalError


def test_minus_infinity_forbids_an_output(problem):
    weights = with_element(random_weights(problem), -np.inf)
    for call in decoders(problem).values():
        call(weights)


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        (lambda p, w: p.minibatch(w, np.array([p.m])), {"parameter": "instances", "value": 4}),
        (
            lambda p, w: p.examples.scores(w, np.array([-1])),
            {"parameter": "instances", "value": -1},
        ),
        (
            lambda p, w: decoding.k_best(p.examples, p.kernels, w, 0, Serial()),
            {"parameter": "k", "value": 0},
        ),
        (
            lambda p, w: decoding.log_partitions(p.examples, p.kernels, w, Serial(), 0.0),
            {"parameter": "temperature", "value": 0.0},
        ),
        (lambda p, w: p.gradient(w, np.zeros(1)), {"parameter": "out"}),
        (lambda p, w: p.sum_gradients(np.zeros(1), w), {"parameter": "residuals"}),
    ],
)
def test_other_arguments_of_compiled_code_are_checked(problem, call, fields):
    with raises(ArgumentError, **fields):
        call(problem, random_weights(problem))


def test_a_warm_start_checks_its_weights(problem):
    for name in registry.installed("optimizer"):
        method = registry.create("optimizer", {"name": name})
        for weights in (np.zeros(3), np.full(8, np.nan), np.zeros(8, int)):
            with raises(ArgumentError, parameter="weights"):
                method.init(problem, weights)
