"""Constrained scores and partial gold in all functions, compared with a list of all outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import structopt as so
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.parts import Parts
from structopt.errors import InfeasibleError
from structopt.kernels.waist.record import Array
from tests.verbs.test_verbs import EXACT, LOOPY, random_scores, vertices


class Listed(NamedTuple):
    """The outputs of an instance that its scores allow."""

    instance: int
    own: slice
    vertices: Array
    scores: Array

    @property
    def probabilities(self) -> Array:
        return np.exp(self.scores - np.logaddexp.reduce(self.scores))


def listing(batch: Batch, s: Parts) -> Iterator[Listed]:
    for i, Z in zip(batch.kept.tolist(), vertices(batch), strict=True):
        own = slice(int(batch.offsets[i]), int(batch.offsets[i + 1]))
        forbidden = np.isneginf(s.flat[own])
        Z = Z[~((Z > 0) & forbidden).any(axis=1)]
        yield Listed(i, own, Z, Z @ np.where(forbidden, 0.0, s.flat[own]))


def constrained(batch: Batch, share: float = 0.35) -> Parts:
    """Random scores with -inf at random parts, which leave one output or more."""
    s = random_scores(batch)
    first = np.concatenate([np.zeros(0), *(Z[0] for Z in vertices(batch))])
    chosen = np.random.default_rng(4).random(len(s.flat)) < share
    return Parts(batch, np.where(chosen & (first == 0), -inf, s.flat), -inf)


@pytest.mark.parametrize("name", EXACT)
def test_inferences(name: str) -> None:
    batch = EXACT[name]()
    s, v = constrained(batch), random_scores(batch, 3)
    a, entropies = so.infer(s, temperature=1.0), so.entropy(s)
    best, lists, drawn = so.argmax(s), so.k_best(s, 4), so.sample(s, 50, seed=0)
    slopes = so.covariance_product(s, v).flat
    log_p = so.log_prob(s, best.parts)
    for one in listing(batch, s):
        i, own, Z, p = one.instance, one.own, one.vertices, one.probabilities
        assert a.value[i] == pytest.approx(np.logaddexp.reduce(one.scores))
        np.testing.assert_allclose(a.marginals.flat[own], p @ Z, atol=1e-9)
        assert entropies[i] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
        assert best.score[i] == pytest.approx(one.scores.max())
        assert (best.parts.flat[own] == Z).all(axis=1).any()
        assert log_p[i] == pytest.approx(np.log(p.max()))
        ranked = np.sort(one.scores)[::-1][:4]
        np.testing.assert_allclose(lists.score[: len(ranked), i], ranked)
        assert (lists.score[len(ranked) :, i] == -inf).all()
        assert all(np.abs(one.scores - score).min() < 1e-9 for score in drawn.score[:, i])
        covariance = (Z * p[:, None]).T @ Z - np.outer(p @ Z, p @ Z)
        np.testing.assert_allclose(slopes[own], covariance @ v.flat[own], atol=1e-6)


@pytest.mark.parametrize("name", EXACT)
def test_divergences(name: str) -> None:
    batch = EXACT[name]()
    s, r = constrained(batch), random_scores(batch, 5)
    some, all_outputs = so.kl(s, r), so.kl(r, s)
    for one, other in zip(listing(batch, s), listing(batch, r), strict=True):
        q = one.vertices @ r.flat[one.own] - np.logaddexp.reduce(other.scores)
        expected = (one.probabilities * (np.log(one.probabilities) - q)).sum()
        assert some[one.instance] == pytest.approx(expected)
        if len(one.scores) < len(other.scores):
            assert all_outputs[one.instance] == inf
    np.testing.assert_allclose(so.kl(s, s), 0.0, atol=1e-9)


@pytest.mark.parametrize("inference", [so.AD3(), so.LP(), so.ILP(), so.MPLP(), so.LoopyBP()])
@pytest.mark.parametrize("name", LOOPY)
def test_other_inferences_predict_outputs_that_are_allowed(name: str, inference: Any) -> None:
    batch = LOOPY[name]()
    s = constrained(batch, 0.3)
    best = so.argmax(s, inference)
    for one in listing(batch, s):
        assert (one.vertices == best.parts.flat[one.own]).all(axis=1).any()
        assert best.score[one.instance] <= one.scores.max() + 1e-9
        assert best.upper[one.instance] >= one.scores.max() - 1e-4


def verbs(batch: Batch) -> dict[str, Callable[[Parts], Any]]:
    r = random_scores(batch)
    return {
        "infer": lambda s: so.infer(s, temperature=1.0),
        "argmax": so.argmax,
        "entropy": so.entropy,
        "kl": lambda s: so.kl(r, s),
        "covariance_product": lambda s: so.covariance_product(s, r),
        "k_best": lambda s: so.k_best(s, 2),
        "sample": lambda s: so.sample(s, 2, seed=0),
        "log_prob": lambda s: so.log_prob(s, r),
    }


@pytest.mark.parametrize("name", EXACT)
def test_instances_without_an_output_are_named(name: str) -> None:
    batch = EXACT[name]()
    flat, last = random_scores(batch).flat.copy(), int(batch.kept[-1])
    flat[int(batch.offsets[last]) : int(batch.offsets[last + 1])] = -inf
    for verb in verbs(batch).values():
        with pytest.raises(InfeasibleError) as raised:
            verb(Parts(batch, flat, -inf))
        assert raised.value.instances == (last,)


FORBIDDEN = [(None, 1), (0, 2), (2, None)]


def partial(batch: Batch) -> tuple[Gold, Array]:
    """Gold with sets of labels, and the labels that are right."""
    right = np.random.default_rng(8).random((int(batch.lengths.sum()), 3)) < 0.6
    right[:, 0] = True
    return batch.gold(allowed=right), right  # type: ignore[attr-defined]


def wrong_labels(batch: Batch, one: Listed, right: Array) -> Array:
    """How many labels of each output are not right."""
    own = right[batch.layout("label").instances == one.instance].ravel()
    return np.asarray((one.vertices[:, : len(own)] * ~own).sum(axis=1))


@pytest.mark.parametrize("beta", [1.0, inf])
@pytest.mark.parametrize("tied", [True, False])
def test_losses_of_partial_gold_under_constraints(tied: bool, beta: float) -> None:
    batch = so.LinearChain().batch([3, 2], labels=3, forbidden=FORBIDDEN, tied=tied)
    free = so.LinearChain().batch([3, 2], labels=3, tied=tied)
    gold, right = partial(batch)
    s = random_scores(batch)
    hard = batch.constrained(s)
    loss = so.LossFamily(beta, 0.0)
    value, gradient = so.value_and_gradient(loss, s, gold)
    again = so.value_and_gradient(loss, Parts(free, hard.flat), free.gold(allowed=right))
    np.testing.assert_allclose(again[0], value)
    np.testing.assert_allclose(again[1].flat, gradient.flat)
    if beta == 1.0:
        np.testing.assert_allclose(so.log_prob(s, gold), -value)
    for one in listing(batch, hard):
        most = np.logaddexp.reduce if beta == 1.0 else np.max
        among = one.scores[wrong_labels(batch, one, right) == 0]
        assert value[one.instance] == pytest.approx(most(one.scores) - most(among))


def test_forbidden_outputs_have_probability_0() -> None:
    batch = so.LinearChain().batch([3, 2], labels=3, forbidden=FORBIDDEN)
    s = random_scores(batch)
    wrong = batch.gold([[1, 0, 0], [0, 1]])
    assert so.log_prob(s, wrong)[0] == so.log_prob(s, wrong.parts)[0] == -inf
    assert so.log_prob(s, wrong)[1] == so.log_prob(s, wrong.parts)[1] > -inf
    assert so.value_and_gradient(so.CRF(), s, wrong)[0][0] == inf
    right = np.ones((5, 3), bool)
    right[0] = [False, True, False]  # label 1 at the start
    for gold in (wrong, batch.gold(allowed=right)):
        with pytest.raises(InfeasibleError) as raised:
            so.Problem(batch, x={"label": np.eye(5)}, gold=gold)
        assert raised.value.instances == (0,)
    with_empty = so.LinearChain().batch([0, 2], labels=3, forbidden=[(0, 0)])
    with pytest.raises(InfeasibleError) as raised:
        so.Problem(with_empty, x={"label": np.eye(2)}, gold=with_empty.gold([[], [0, 0]]))
    assert raised.value.instances == (1,)


@pytest.mark.parametrize("loss", [so.CRF(), so.SVM(), so.SoftmaxMargin()])
def test_objectives_of_partial_gold_under_constraints(loss: so.LossFamily) -> None:
    batch = so.LinearChain().batch([3, 2], labels=3, forbidden=FORBIDDEN)
    generator = np.random.default_rng(0)
    gold, right = partial(batch)
    problem = so.Problem(batch, x={"label": generator.normal(size=(5, 2))}, gold=gold, loss=loss)
    weights = generator.normal(size=problem.dimension)
    value, gradient = problem.value_and_gradient(weights)
    losses = []
    for one in listing(batch, batch.constrained(problem.scores(weights))):
        cost = wrong_labels(batch, one, right)
        augmented = one.scores + loss.gamma * cost
        most = np.max if loss.beta == inf else np.logaddexp.reduce
        losses.append(most(augmented) - most(one.scores[cost == 0]))
    regularizer = 0.5 * (weights @ weights) / 2
    assert value == pytest.approx(regularizer + np.mean(losses))
    for k in range(problem.dimension):
        step = np.eye(problem.dimension)[k] * 1e-6
        above, below = (problem.value_and_gradient(weights + h)[0] for h in (step, -step))
        assert (above - below) / 2e-6 == pytest.approx(gradient[k], abs=1e-5)


@pytest.mark.parametrize("optimizer", [so.SDCA(), so.LBFGS(), so.EG()])
def test_certified_optima_under_constraints(optimizer: so.Optimizer) -> None:
    batch = so.LinearChain().batch([3, 2], labels=3, forbidden=FORBIDDEN)
    x = {"label": np.random.default_rng(0).normal(size=(5, 2))}
    problem = so.Problem(batch, x=x, gold=batch.gold([[0, 1, 1], [2, 1]]), loss=so.CRF())
    found = so.fit(problem, optimizer, epochs=500, tolerance=1e-6)
    assert found.certificate.gap is not None
    assert found.certificate.gap <= 2e-6 * found.certificate.primal
    model = found.model()
    pairs = set()
    for labels in so.k_best(model.scores(x, lengths=[3, 2]), 30)["labels"].tolist():
        for one in (labels[:3], labels[3:]):
            pairs |= set() if -1 in one else set(pairwise([None, *one, None]))
    assert not pairs & set(FORBIDDEN)


def restricted_problem(name: str, **options: Any) -> tuple[so.Problem, Batch, Parts]:
    """A problem on random features, whose gold outputs keep random restrictions."""
    batch = EXACT[name]()
    allowed = constrained(batch)
    best = so.argmax(Parts(batch, np.where(np.isneginf(allowed.flat), -inf, 0.0), -inf))
    generator = np.random.default_rng(2)
    matrix = scipy.sparse.random_array((len(allowed.flat), 5), density=0.5, rng=generator)
    outputs = [best[i] for i in range(len(batch))]
    gold = batch.gold(outputs)  # type: ignore[attr-defined]
    keep = {name: ~np.isneginf(allowed[name]) for name in batch.layouts}
    features = so.SparseMap(matrix.tocsr())
    problem = so.Problem(batch, gold=gold, features=features, restricted=keep, **options)
    return problem, batch, gold.parts


@pytest.mark.parametrize("name", ["chain", "anchored", "second", "single", "projective", "graphs"])
@pytest.mark.parametrize("beta", [1.0, inf])
def test_objectives_of_restricted_problems(name: str, beta: float) -> None:
    problem, batch, gold = restricted_problem(name, loss=so.LossFamily(beta, 0.0))
    weights = np.random.default_rng(5).normal(size=problem.dimension)
    value, gradient = problem.value_and_gradient(weights)
    s = problem.scores(weights)
    assert np.isneginf(s.flat).any()
    most = np.max if beta == inf else np.logaddexp.reduce
    losses = [most(one.scores) for one in listing(batch, s)] - (s @ gold)[batch.kept]
    assert value == pytest.approx(weights @ weights / (2 * len(losses)) + losses.mean())
    direction = np.random.default_rng(6).normal(size=problem.dimension) * 1e-6
    above, below = (problem.value_and_gradient(weights + h)[0] for h in (direction, -direction))
    assert (above - below) / 2 == pytest.approx(gradient @ direction, abs=1e-11)


@pytest.mark.parametrize("name", ["chain", "projective", "graphs"])
def test_restricted_problems_are_certified(name: str) -> None:
    problem, batch, _ = restricted_problem(name, loss=so.CRF())
    zeros = np.zeros(problem.dimension)
    found = scipy.optimize.minimize(problem.value_and_gradient, zeros, jac=True, tol=1e-9)
    fit = so.fit(problem, so.LBFGS(), epochs=300, tolerance=1e-8)
    assert fit.certificate.dual is not None
    assert fit.certificate.dual - 1e-12 <= found.fun <= fit.certificate.primal + 1e-12
    assert fit.certificate.primal == pytest.approx(found.fun, rel=1e-6)
    assert fit.model().weights.shape == zeros.shape


@pytest.mark.parametrize("optimizer", [so.LBFGS(), so.DCA(), so.SGD(), so.AdaGrad(), so.MIRA()])
def test_restrictions_train_as_forbidden_pairs(optimizer: so.Optimizer) -> None:
    x = {"label": np.random.default_rng(0).normal(size=(5, 2))}
    keep = np.ones((3, 3), bool)
    keep[0, 2] = False
    weights = []
    for forbidden, restricted in (([(0, 2)], None), ([], {"transition": keep})):
        batch = so.LinearChain().batch([3, 2], labels=3, forbidden=forbidden)
        gold = batch.gold([[0, 1, 1], [2, 1]])
        loss = so.SVM() if isinstance(optimizer, so.MIRA) else so.CRF()
        problem = so.Problem(batch, x=x, gold=gold, loss=loss, restricted=restricted)
        weights.append(so.fit(problem, optimizer, epochs=10).weights)
    np.testing.assert_allclose(*weights, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("optimizer", [so.SDCA(), so.EG(), so.Pegasos()])
def test_optimizers_that_read_features_are_refused(optimizer: so.Optimizer) -> None:
    loss = so.SVM() if isinstance(optimizer, so.Pegasos) else so.CRF()
    problem, *_ = restricted_problem("chain", loss=loss)
    with pytest.raises(so.ArgumentError, match="takes no `restricted`"):
        so.fit(problem, optimizer)
    with pytest.raises(so.ArgumentError, match="belong to the parts of all of it"):
        so.fit(problem, so.DCA(), shards=2)


def test_restrictions_that_are_refused() -> None:
    batch = so.LinearChain().batch([2, 0, 1], labels=2)
    gold, x = batch.gold([[0, 1], [], [1]]), {"label": np.eye(3)}
    keep = np.array([[True, True], [True, True], [True, False]])
    with pytest.raises(InfeasibleError, match="that `restricted` forbids") as raised:
        so.Problem(batch, x=x, gold=gold, restricted={"label": keep})
    assert raised.value.instances == (2,)
    for wrong in ({"lable": keep}, {"label": keep[:1]}, {"label": keep * 1.0}, keep):
        with pytest.raises(so.ArgumentError):
            so.Problem(batch, x=x, gold=gold, restricted=wrong)  # type: ignore[arg-type]
