"""AdaGrad: the contract, lazy steps equal to eager ones, the choice of eta, and cvxpy's optimum
with l1 and l2.
"""

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.core.weights.penalty import LASSO, PENALTIES, RIDGE
from structopt.kernels.learn import lazy_regularization
from structopt.kernels.learn.adagrad import DELTA
from structopt.learning.rate import CANDIDATES
from structopt.optimizer.adagrad import AdaGrad
from structopt.testing.problems import loss_and_gradient, random_weights
from tests.benchmarks.eager_adagrad import adagrad_eager_pass
from tests.optimizer.classes import OnlineSuite
from tests.optimizer.listings import minimum_of
from tests.optimizer.online import CRF, MARGIN, MEMBERS, SHAPES, SVM, problem_of, run, trained
from tests.optimizer.shipped import certified, shipped
from tests.parts import gate_cases

members = pytest.mark.parametrize("member", MEMBERS)
penalties = pytest.mark.parametrize("penalty", ["l2", "l1"])


def by_hand(problem, eta, constant, penalty, batch, passes, weights):
    """Weights before every visit, the last ones, and losses of every pass: every coordinate at
    every step.
    """
    theta, before, losses = weights.copy(), [], []
    q = np.full(problem.dimension, DELTA + (problem.m / batch if weights.any() else 0.0))
    for epoch in range(passes):
        losses.append(0.0)
        rate = eta * min(1.0, (constant or inf) / (epoch + 1)) ** 0.5
        order = problem.order(epoch)
        for first in range(0, problem.m, batch):
            pairs = [loss_and_gradient(problem, theta, i) for i in order[first : first + batch]]
            before += [theta] * len(pairs)
            losses[-1] += sum(loss for loss, _ in pairs)
            g = np.mean([gradient for _, gradient in pairs], axis=0)
            q += g**2
            x, a = theta - rate * g / np.sqrt(q), rate * problem.regularization / np.sqrt(q)
            theta = np.sign(x) * np.maximum(0.0, np.abs(x) - a) if penalty == "l1" else x / (1 + a)
    return before, theta, losses


@pytest.mark.parametrize(
    ("member", "options", "penalty"),
    [
        (CRF, {"eta": "auto"}, RIDGE),
        (SVM, {}, RIDGE),
        (MARGIN, {"average": True, "batch_size": 4}, RIDGE),
        (CRF, {"average": True, "constant": None}, LASSO),
    ],
)
class TestAdaGrad(OnlineSuite):
    many = 30

    @pytest.fixture
    def optimizer(self, options):
        return lambda: AdaGrad(**options)

    @pytest.fixture
    def problem(self, member, penalty):
        return partial(problem_of, member, 1.0, penalty=penalty)


@members
@penalties
@pytest.mark.parametrize(
    "options", [*SHAPES, {"lengths": (1, 2, 1, 2, 1, 3, 1, 1, 2), "attributes": 20, "labels": 2}]
)
@pytest.mark.parametrize("batch", gate_cases([1, 4, 20], "rest", (4,)))
def test_lazy_equals_eager(member, penalty, options, batch):
    """4 does not divide the number of instances, 20 exceeds it; with 20 attributes most weights are
    not read by most batches.
    """
    for C, eta, constant in ((1.0, 0.3, 1), (0.1, 1.0, None)):
        problem = problem_of(member, C, penalty=PENALTIES[penalty], **options)
        initial = random_weights(problem, 1)
        before, last, losses = by_hand(problem, eta, constant, penalty, batch, 3, initial)
        method = AdaGrad(eta=eta, constant=constant, batch_size=batch, average=True)
        state, reported = run(method, problem, 3, initial)
        np.testing.assert_allclose(state.theta, last, atol=1e-10)
        np.testing.assert_allclose(method.weights(state), np.mean(before, axis=0), atol=1e-10)
        np.testing.assert_allclose(reported, losses, atol=1e-10)
        unaveraged = AdaGrad(eta=eta, constant=constant, batch_size=batch)
        np.testing.assert_allclose(trained(unaveraged, problem, 3, initial), last, atol=1e-10)


@members
@penalties
def test_lazy_equals_the_compiled_eager_pass(member, penalty):
    problem = problem_of(
        member, 0.5, penalty=PENALTIES[penalty], lengths=(3, 1, 4, 2, 2) * 8, attributes=50
    )
    theta = random_weights(problem, 1)
    lazy = trained(AdaGrad(eta=0.2, constant=None, batch_size=3), problem, 4, theta)
    squares, dense = np.full(problem.dimension, problem.m / 3), np.zeros(problem.dimension)
    for epoch in range(4):
        options = (0.2, problem.regularization, penalty == "l1")
        problem.run(adagrad_eager_pass, problem.order(epoch), 3, theta, squares, dense, *options)
    np.testing.assert_allclose(lazy, theta, atol=1e-10)


@pytest.mark.parametrize("stale", [7, lazy_regularization.STALE])
@penalties
def test_lazy_equals_eager_where_weights_are_read_one_by_one(penalty, stale, monkeypatch, tmp_path):
    """Hashed templates, whose weights a sentence reads several times; with a list of weights that
    is full now and then.
    """
    monkeypatch.setattr(lazy_regularization, "STALE", stale)
    more = ["features.hash_bits=12", "features.label_bits=6", f"optimizer.penalty={penalty}"]
    problem = shipped("dependency", "svm", 1.0, tmp_path, "adagrad", limit=15, more=more)
    method = AdaGrad(eta=0.2, constant=None, batch_size=2, average=True)
    state, _ = run(method, problem, 3, np.zeros(problem.dimension))
    theta, squares, dense = np.zeros((3, problem.dimension))
    for epoch in range(3):
        order, options = problem.order(epoch), (0.2, problem.regularization, penalty == "l1")
        problem.run(adagrad_eager_pass, order[:14], 2, theta, squares, dense, *options)
        problem.run(adagrad_eager_pass, order[14:], 1, theta, squares, dense, *options)
    assert np.count_nonzero(theta) > 1000
    np.testing.assert_allclose(state.theta, theta, atol=1e-10)
    unaveraged = trained(AdaGrad(eta=0.2, constant=None, batch_size=2), problem, 3)
    np.testing.assert_allclose(unaveraged, theta, atol=1e-10)


@pytest.mark.nightly("optima")
@pytest.mark.parametrize(("member", "C"), [("svm", 0.01), ("crf", 0.01), ("crf", 0.1)])
def test_defaults_reach_the_optimum(member, C, tmp_path):
    """Within 5 % of a certified optimum on a slice of a corpus, where a rate that does not fall
    with the passes is not.
    """
    problem = shipped("ner", member, C, tmp_path, "adagrad")
    below = certified(shipped("ner", member, C, tmp_path, "sdca"))[1]
    weights = {
        constant: trained(AdaGrad(constant=constant), problem, 300) for constant in (10, None)
    }
    excesses = {
        constant: problem.objective(theta) / below - 1 for constant, theta in weights.items()
    }
    assert -1e-9 < excesses[10] < min(0.05, excesses[None])


@members
def test_l1_falls_to_its_optimum_and_sets_weights_to_zero(member):
    problem, method = problem_of(member, 1.0, penalty=LASSO), AdaGrad(constant=None)
    best = minimum_of(problem).value
    objectives = [problem.objective(trained(method, problem, passes)) for passes in (1, 10, 100)]
    assert all(later < earlier for earlier, later in zip(objectives, objectives[1:], strict=False))
    assert best * (1 - 1e-6) < objectives[-1] < 1.05 * best
    weights = trained(method, problem, 100)
    ridge = trained(AdaGrad(), problem_of(member, 1.0), 100)
    assert 0 < np.count_nonzero(weights) < 0.8 * np.count_nonzero(ridge)


@members
def test_objective_of_l1(member):
    problem = problem_of(member, 0.3)
    weights = random_weights(problem, 2)
    losses = problem.objective(weights) - problem.ridge(weights)
    problem.settings = replace(problem.settings, penalty=LASSO)
    assert problem.objective(weights) == pytest.approx(
        losses + np.abs(weights).sum() / (0.3 * problem.m), rel=1e-12
    )


@members
def test_auto_takes_the_rate_with_the_best_pass(member):
    problem = problem_of(member)
    initial = random_weights(problem, 3)
    objectives = {
        eta: problem.objective(trained(AdaGrad(eta=eta), problem, 1, initial)) for eta in CANDIDATES
    }
    best = min(objectives, key=objectives.get)
    assert AdaGrad(eta="auto").init(problem, initial).eta == best
    np.testing.assert_array_equal(
        *(trained(AdaGrad(eta=eta), problem, 2, initial) for eta in ("auto", best))
    )
