"""Groups whose positions have all attributes: products of matrices give what the rows give."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from structopt.core.data.attribute_table import AttributeTable
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.features.batch import dense
from structopt.features.batch.attribute_rows import BatchFeatures
from structopt.features.batch.columns import SparseGroup
from structopt.features.batch.dense import DenseGroup
from structopt.inference.ad3 import AD3
from structopt.inference.exact import Exact
from structopt.inference.loopy_bp import LoopyBP
from structopt.kernels.features.attribute_rows import scores
from structopt.kernels.waist.record import EMPTY
from structopt.loss.family import LossFamily
from structopt.testing.problems import loss_and_gradient, make_problem, random_encoded, random_graphs, random_weights

ATTRIBUTES = 11
SIZES = (4, 4, 4, 4, 4, 4)
VARIED = (4, 1, 5, 2, 2, 3)


def dense_table(positions, seed=0, size=ATTRIBUTES):
    """A bias at the end, as the multi-label task makes it."""
    values = np.random.default_rng(seed).normal(size=(positions, size))
    values[:, -1] = 1.0
    ids = np.tile(np.arange(size, dtype=np.int32), positions)
    return AttributeTable(np.arange(positions + 1, dtype=np.int64) * size, ids, values.ravel(), size)


def with_dense(encoded, *names):
    """The corpus with dense tables in the place of those named."""
    tables = {name: dense_table(len(encoded.tables[name].offsets) - 1, seed) for seed, name in enumerate(names)}
    return replace(encoded, tables={**encoded.tables, **tables})


def corpora():
    """Corpora with the groups that are dense."""
    wide = random_graphs(1, SIZES, 2, wide=True, values=True)
    loose = random_graphs(2, VARIED, 3, "chain", values=True, edge_attributes=7)
    return {
        "wide": (with_dense(wide, "label"), Pairwise(), LoopyBP(), [True, False]),
        "wide, no edges": (with_dense(wide, "label"), Pairwise("none"), LoopyBP(), [True]),
        "wide, dense edges": (
            with_dense(random_graphs(1, SIZES, 2, wide=True, values=True, edge_attributes=7), "label", "edge"),
            Pairwise(), LoopyBP(), [True, True],
        ),
        "shared": (with_dense(loose, "label"), Pairwise(), LoopyBP(), [True, False]),
        "shared, dense edges": (with_dense(loose, "edge"), Pairwise(), LoopyBP(), [False, True]),
        "shared, no edges": (with_dense(loose, "label"), Pairwise("none"), LoopyBP(), [True]),
        "chain": (with_dense(random_encoded(3, VARIED, values=True), "label"), LinearChain(), Exact(), [True, False]),
        "anchored chain": (
            with_dense(random_encoded(3, VARIED, values=True, anchored=True), "label", "transition"),
            LinearChain(), Exact(), [True, True],
        ),
    }  # fmt: skip


CORPORA = corpora()


def problem_of(name, support="all", beta=1.0):
    encoded, graph, inference, _ = CORPORA[name]
    if beta == inf:
        inference = AD3() if isinstance(inference, LoopyBP) else inference
    return make_problem(encoded, graph, LossFamily(beta, 1.0), inference, support=support)


def sparse_batch(problem, monkeypatch):
    """The same features, read by columns."""
    monkeypatch.setattr(dense, "LEAST", 10**6)
    batch = BatchFeatures(problem.scorer, problem.scorer.groups, tables_of(problem), problem.structure)
    monkeypatch.undo()
    assert all(isinstance(group, SparseGroup) for group in batch.groups)
    return batch


def tables_of(problem):
    return problem.scorer.tables(problem.examples.encoded, problem.structure)


def batch_of(problem):
    return problem.scorer.batch(problem.examples.encoded, problem.structure)


@pytest.mark.parametrize("name", CORPORA)
def test_groups_are_found(name):
    problem = problem_of(name)
    assert [isinstance(group, DenseGroup) for group in batch_of(problem).groups] == CORPORA[name][-1]


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("support", ["seen", "all"])
def test_scores(name, support):
    """Those the rows give, from the same kernel."""
    problem = problem_of(name, support)
    batch, weights, parts = batch_of(problem), random_weights(problem, 2), problem.structure.parts
    with batch.widened(problem.scorer.compress(weights)) as widened:
        for i in range(problem.m):
            found, expected = (np.zeros(int(parts[i + 1] - parts[i])) for _ in range(2))
            scores(batch.record, widened, i, found, EMPTY)
            scores(problem.data.features, weights, i, expected, EMPTY)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("support", ["seen", "all"])
def test_gradient_of_any_residuals(name, support, monkeypatch):
    problem = problem_of(name, support)
    other, generator = sparse_batch(problem, monkeypatch), np.random.default_rng(5)
    for _ in range(2):  # buffers are used again
        residuals = generator.normal(size=int(problem.structure.parts[-1]))
        found, moving = np.full(problem.dimension, np.nan), np.zeros(problem.scorer.count)
        problem.sum_gradients(residuals, found)
        moving[other.coordinates] = other.gradient(residuals)
        expected = problem.scorer.expand(moving)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        if support == "seen" and problem.scorer.support is not None:
            assert not found[~problem.scorer.support].any()
    masked = [not problem_of(one, "seen").scorer.support.all() for one in CORPORA]
    assert any(masked)


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("beta", [1.0, inf])
def test_losses_and_gradients(name, beta):
    """Of all instances at once, as the sum over one after the other."""
    problem = problem_of(name, "seen", beta)
    weights = random_weights(problem, 1)
    single = [loss_and_gradient(problem, weights, i) for i in range(problem.m)]
    for _ in range(2):
        losses, gradient = problem.gradient(weights)
        assert losses == pytest.approx(sum(loss for loss, _ in single), rel=1e-12)
        np.testing.assert_allclose(gradient, sum(g for _, g in single), atol=1e-12)


@pytest.mark.parametrize("name", CORPORA)
def test_the_same_bits_with_any_number_of_workers(name):
    found = []
    for executor in (None, Threads(1), Threads(2), Threads(5)):
        problem = problem_of(name)
        problem.executor = executor or problem.executor
        found.append(problem.gradient(random_weights(problem, 1)))
    for losses, gradient in found[1:]:
        assert losses == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def test_residuals_at_equal_distances_are_not_copied():
    residuals = np.random.default_rng(0).normal(size=60)
    table = dense_table(3)
    for places, copied in (([0, 20, 40], False), ([5, 25, 45], False), ([0, 4, 8], False), ([0, 4, 20], True)):
        group = DenseGroup.find(table, 4, np.array(places, np.int64))
        rows = group._residuals(residuals)
        assert np.shares_memory(rows, residuals) != copied
        np.testing.assert_array_equal(rows, [residuals[place : place + 4] for place in places])
    alone = DenseGroup.find(dense_table(1), 4, np.array([56], np.int64))
    np.testing.assert_array_equal(alone._residuals(residuals), [residuals[56:]])


def test_tables_that_are_not_dense():
    """One attribute missing, twice, out of order; no values; few attributes; no positions."""
    table, places = dense_table(5), np.arange(5) * 3
    moved = table.offsets.copy()
    moved[2] += 1
    swapped, twice = table.ids.copy(), table.ids.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    twice[0] = 1
    small = dense_table(5, size=dense.LEAST - 1)
    for other in (
        replace(table, offsets=moved),
        replace(table, ids=swapped),
        replace(table, ids=twice),
        replace(table, values=None),
        replace(table, size=table.size + 1),
        AttributeTable(np.append(table.offsets[:-1], 54), table.ids[:-1], table.values[:-1], table.size),
        small,
        AttributeTable(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), ATTRIBUTES),
    ):
        assert DenseGroup.find(other, 3, places[: len(other.offsets) - 1]) is None
    found = DenseGroup.find(table, 3, places)
    assert found is not None
    assert np.shares_memory(found.values, table.values)
