"""Costs of pairs of labels, and the expected cost, against a listing of all outputs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

import structopt as so
from structopt.core.cost import Cost
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError, ConfigError
from structopt.kernels.waist.record import Array
from structopt.loss.cost.coreference import Coreference
from structopt.loss.cost.hamming import Hamming
from tests.messages import raises

M = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.5], [4.0, 6.0, 0.0]])
LABELED: dict[str, Callable[[], Batch]] = {
    "chain": lambda: so.LinearChain().batch([3, 0, 2], labels=3),
    "anchored": lambda: so.LinearChain().batch([3, 1], labels=3, tied=False),
    "second": lambda: so.LinearChain(2).batch([3, 1], labels=3),
    "single": lambda: so.Single().batch(2, labels=3),
}
PAIRWISE = {
    "pairwise": lambda: so.Pairwise().batch([3, 2], [[(0, 1), (2, 1)], [(1, 0)]], labels=3),
    "complete": lambda: so.Pairwise("complete").batch([2, 0, 2], labels=3),
}


def random_scores(batch: Batch, seed: int = 0) -> Parts:
    generator = np.random.default_rng(seed)
    return Parts(batch, generator.normal(size=int(batch.offsets[-1])), -np.inf)


def listed(batch: Batch, i: int) -> Array:
    """Indicators of all outputs of an instance that is not empty, shape (outputs, parts)."""
    structure, own = batch.structure, int(np.searchsorted(batch.kept, i))
    assert structure.kind.vertices is not None
    parts = int(np.diff(structure.parts)[own])
    return structure.kind.vertices(structure.record, own, parts, 10_000)


def matrix_costs(batch: Batch, i: int, allowed: Array) -> Array:
    """The cost of every output of an instance, given the allowed gold labels of its variables."""
    begin = int(batch.lengths[:i].sum())
    n = int(batch.lengths[i])
    chosen = listed(batch, i)[:, : 3 * n].reshape(-1, n, 3).argmax(axis=2)
    own = allowed[begin : begin + n]
    least = np.array([M[labels].min(axis=0) for labels in own])
    return least[np.arange(n), chosen].sum(axis=1)


def golds(batch: Batch) -> list[tuple[Gold, Array]]:
    """A known and an open gold output, with the allowed labels of each variable."""
    count = int(batch.lengths.sum())
    labels = np.arange(count) * 2 % 3
    allowed = np.eye(3, dtype=bool)[labels]
    some = allowed.copy()
    some[0], some[1, 0] = True, True
    return [(batch.gold(labels), allowed), (batch.gold(allowed=some), some)]


@pytest.mark.parametrize("name", [*LABELED, *PAIRWISE])
def test_a_matrix_prices_each_pair_of_labels(name: str) -> None:
    batch = (LABELED | PAIRWISE)[name]()
    for gold, allowed in golds(batch):
        p, q = so.CostMatrix(M).parts(gold)
        assert (q == 0.0).all()
        for i in batch.kept.tolist():
            own = p.flat[int(batch.offsets[i]) : int(batch.offsets[i + 1])]
            costs = matrix_costs(batch, i, allowed)
            np.testing.assert_allclose(listed(batch, i) @ own, costs, atol=1e-12)


@pytest.mark.parametrize("name", LABELED)
def test_losses_with_a_matrix(name: str) -> None:
    batch = LABELED[name]()
    s, h, v = random_scores(batch), 1e-6, random_scores(batch, 7)
    for gold, allowed in golds(batch):
        for loss in (so.SVM(cost=so.CostMatrix(M)), so.LossFamily(1.0, 2.0, so.CostMatrix(M))):
            value, gradient = so.value_and_gradient(loss, s, gold)
            for i in batch.kept.tolist():
                outputs, costs = listed(batch, i), matrix_costs(batch, i, allowed)
                scores = outputs @ s.flat[int(batch.offsets[i]) : int(batch.offsets[i + 1])]
                augmented = scores + loss.gamma * costs
                right = agrees(batch, i, allowed)
                assert value[i] == pytest.approx(
                    most(augmented, loss.beta) - most(augmented[right], loss.beta)
                )
            above = so.value_and_gradient(loss, s + h * v, gold)[0]
            below = so.value_and_gradient(loss, s - h * v, gold)[0]
            np.testing.assert_allclose((above - below) / (2 * h), gradient @ v, atol=1e-5)


def agrees(batch: Batch, i: int, allowed: Array) -> Array:
    """Whether each output of an instance has allowed labels only."""
    begin, n = int(batch.lengths[:i].sum()), int(batch.lengths[i])
    chosen = listed(batch, i)[:, : 3 * n].reshape(-1, n, 3).astype(bool)
    return np.asarray(~(chosen & ~allowed[begin : begin + n]).any(axis=(1, 2)))


def most(scores: Array, beta: float) -> float:
    """(1/beta) log sum exp(beta s), or the maximum."""
    top = float(scores.max())
    return top if beta == inf else top + float(np.log(np.exp(beta * (scores - top)).sum())) / beta


def test_a_matrix_of_ones_is_hamming() -> None:
    batch = so.LinearChain().batch([4, 2], labels=3)
    gold, s = batch.gold([[0, 1, -1, 2], [2, 2]]), random_scores(batch)
    for cost in (so.SVM, so.SoftmaxMargin):
        one, other = cost(Hamming()), cost(so.CostMatrix(1.0 - np.eye(3)))
        found, again = (so.value_and_gradient(loss, s, gold) for loss in (one, other))
        np.testing.assert_allclose(found[0], again[0])
        np.testing.assert_allclose(found[1].flat, again[1].flat, atol=1e-12)


def test_training_with_a_matrix_is_certified() -> None:
    batch, generator = so.LinearChain().batch([3, 4, 2], labels=3), np.random.default_rng(0)
    gold = batch.gold(generator.integers(3, size=9))
    x, loss = {"label": generator.normal(size=(9, 2))}, so.SVM(cost=so.CostMatrix(M))
    problem = so.Problem(batch, x=x, gold=gold, loss=pickle.loads(pickle.dumps(loss)))
    fit = so.fit(problem, so.SDCA(), epochs=40)
    value, gradient = so.value_and_gradient(loss, problem.scores(fit.weights), gold)
    assert problem.losses(fit.weights) == pytest.approx(value.sum())
    assert fit.certificate.dual is not None
    assert abs(fit.certificate.gap) < 1e-6


def test_matrices_that_are_refused() -> None:
    for matrix, fields in [
        ([[0, 1], [-1, 0]], {"where": "index (1, 0)"}),
        ([[0, 1], [1, 2]], {"where": "index (1, 1)", "value": 2.0}),
        ([[0, np.nan], [1, 0]], {"where": "index (0, 1)"}),
        ([[0, 1, 2], [1, 0, 2]], {}),
        ([0, 1], {}),
    ]:
        with raises(ArgumentError, parameter="matrix", **fields):
            so.CostMatrix(matrix)
    chain = so.LinearChain().batch([2], labels=2)
    with raises(ArgumentError, match="3 rows, and there are 2 labels", parameter="matrix"):
        so.value_and_gradient(so.SVM(so.CostMatrix(M)), chain.zeros(), chain.gold([[0, 1]]))
    trees = so.ArcFactored(labeled=True).batch([2], labels=3)
    gold, loss = trees.gold([[0, 1]], [[0, 1]]), so.SVM(so.CostMatrix(M))
    with pytest.raises(ConfigError, match="role label, and this graph has: variable, arc"):
        so.value_and_gradient(loss, trees.zeros(), gold)
    with raises(ArgumentError, match="has the roles variable, arc", parameter="loss"):
        so.Problem(trees, x={}, gold=gold, loss=loss)


class OfWrongRole(so.CostMatrix):
    """A matrix that counts variables."""

    role = "variable"


def test_only_the_role_label_has_costs_of_labels() -> None:
    chain = so.LinearChain().batch([2], labels=3)
    with raises(ArgumentError, match="Set role = 'label'", parameter="cost"):
        OfWrongRole(M).parts(chain.gold([[0, 1]]))


def mentions() -> tuple[Batch, Gold]:
    batch = so.Antecedent().batch([3, 2])
    return batch, batch.gold([[-1, 0, 1], [-1, -1]])


def trees() -> tuple[Batch, Gold]:
    batch = so.ArcFactored().batch([3, 0, 2])
    return batch, batch.gold([[0, 1, -1], [], [2, 0]])


def labeled(name: str, which: int) -> Callable[[], tuple[Batch, Gold]]:
    def case() -> tuple[Batch, Gold]:
        batch = LABELED[name]()
        return batch, golds(batch)[which][0]

    return case


EXPECTED: dict[str, tuple[Callable[[], tuple[Batch, Gold]], Cost]] = {
    "chain": (labeled("chain", 0), so.CostMatrix(M)),
    "open chain": (labeled("chain", 1), so.CostMatrix(M)),
    "Hamming": (labeled("second", 1), Hamming()),
    "single": (labeled("single", 0), so.CostMatrix(M)),
    "trees": (trees, Hamming()),
    "mentions": (mentions, Coreference()),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_expected_cost(name: str, beta: float) -> None:
    case, cost = EXPECTED[name]
    batch, gold = case()
    loss, s = so.ExpectedCost(cost, beta), random_scores(batch)
    p, q = cost.parts(gold)
    value, gradient = so.value_and_gradient(loss, s, gold)
    for i in batch.kept.tolist():
        own, Z = slice(int(batch.offsets[i]), int(batch.offsets[i + 1])), listed(batch, i)
        costs = Z @ p.flat[own] + q[i]
        assert costs.min() == pytest.approx(0.0, abs=1e-12)
        probability = np.exp(beta * (Z @ s.flat[own]))
        probability /= probability.sum()
        mean = probability @ costs
        assert value[i] == pytest.approx(mean)
        np.testing.assert_allclose(
            gradient.flat[own], beta * (probability * (costs - mean)) @ Z, atol=1e-6
        )
    assert (value[batch.lengths == 0] == 0.0).all()
    upper = so.value_and_gradient(so.LossDifference(beta, 1.0, cost), s, gold)[0]
    assert (value <= upper + 1e-9).all()


def test_training_with_the_expected_cost() -> None:
    batch, generator = so.LinearChain().batch([3, 4, 2], labels=3), np.random.default_rng(0)
    x = {"label": generator.normal(size=(9, 4))}
    gold = batch.gold(generator.integers(3, size=9))
    problem = so.Problem(batch, x=x, gold=gold, loss=so.ExpectedCost(so.CostMatrix(M)), C=1.0)
    w, v = generator.normal(size=(2, problem.dimension))
    slope = (problem.objective(w + 1e-5 * v) - problem.objective(w - 1e-5 * v)) / 2e-5
    assert problem.value_and_gradient(w)[1] @ v == pytest.approx(slope, abs=1e-5)
    assert problem.certificate(w).dual is None


@pytest.mark.parametrize("beta", [inf, 0.0])
def test_betas_that_are_refused(beta: float) -> None:
    with pytest.raises(so.StructoptError, match="beta"):
        so.ExpectedCost(beta=beta)


def test_slopes_of_an_instance_do_not_depend_on_others() -> None:
    def product(lengths: list[int], scale: float) -> Any:
        batch = so.LinearChain().batch(lengths, labels=3)
        v = random_scores(batch, 2) * np.array([1.0, scale])[: len(lengths), None]
        return so.covariance_product(random_scores(batch), v).flat[: int(batch.offsets[1])]

    assert np.array_equal(product([3], 1.0), product([3, 4], 1e6))
