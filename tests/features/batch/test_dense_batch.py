"""Dense tables: kernels and batches give what the same numbers give as attributes with values."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.features.attribute_rows import AttributeRows
from structopt.features.batch import dense as dense_batch
from structopt.features.batch.dense import MixedGroup
from structopt.inference.ad3 import AD3
from structopt.inference.exact import Exact
from structopt.inference.loopy_bp import LoopyBP
from structopt.kernels.features.attributes.record import GRADIENT
from structopt.kernels.waist.record import EMPTY
from structopt.loss.family import LossFamily
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_graphs,
    random_weights,
)
from tests.parts import gate_cases

SIZES = (4, 4, 4, 4, 4, 4)
VARIED = (4, 1, 5, 2, 2, 3)


def dense_tables(positions, seed=0):
    """Two tables: three rows of seven numbers a position, some rows shared and some missing; and a
    row of two numbers each.
    """
    generator = np.random.default_rng(seed)
    shared = generator.integers(-1, 9, size=(positions, 3)).astype(np.int32)
    own = np.arange(3, positions + 3, dtype=np.int32)[:, np.newaxis]
    matrices = [
        generator.normal(size=shape).astype(np.float32) for shape in ((20, 7), (positions + 5, 2))
    ]
    return DenseTable(shared, matrices[0]), DenseTable(own, matrices[1])


def with_dense(encoded, *names):
    """The corpus with dense tables for the groups that are named."""
    counts = {name: len(encoded.tables[name].offsets) - 1 for name in names}
    return replace(
        encoded, dense={name: dense_tables(count, len(name)) for name, count in counts.items()}
    )


def explicit(encoded):
    """The same numbers as attributes with values, behind the others."""
    tables = dict(encoded.tables)
    for name, dense in encoded.dense.items():
        table, positions = tables[name], np.arange(len(tables[name].offsets) - 1)
        numbers = np.hstack([one.values(positions) for one in dense]).astype(float)
        old = np.split(np.arange(len(table.ids)), table.offsets[1:-1])
        size = table.size + numbers.shape[1]
        ids = [[*table.ids[entries], *range(table.size, size)] for entries in old]
        given = np.ones(len(table.ids)) if table.values is None else table.values
        values = [[*given[entries], *row] for entries, row in zip(old, numbers, strict=True)]
        offsets = np.cumsum([0, *map(len, ids)])
        tables[name] = AttributeTable(
            offsets, np.concatenate(ids).astype(np.int32), np.concatenate(values), size
        )
    return replace(encoded, tables=tables, dense={})


def corpora():
    wide = random_graphs(1, SIZES, 2, wide=True, values=True)
    loose = random_graphs(2, VARIED, 3, "chain", values=True, edge_attributes=7)
    return {
        "wide": (with_dense(wide, "label"), Pairwise(), LoopyBP()),
        "wide, no edges": (with_dense(wide, "label"), Pairwise("none"), LoopyBP()),
        "shared": (with_dense(loose, "label"), Pairwise(), LoopyBP()),
        "edges": (with_dense(loose, "edge"), Pairwise(), LoopyBP()),
        "chain": (
            with_dense(random_encoded(3, VARIED, values=True), "label"),
            LinearChain(),
            Exact(),
        ),
        "chain of ones": (with_dense(random_encoded(3, VARIED), "label"), LinearChain(), Exact()),
        "second order": (with_dense(random_encoded(3, VARIED), "label"), LinearChain(2), Exact()),
        "anchored chain": (
            with_dense(random_encoded(3, VARIED, values=True, anchored=True), "label"),
            LinearChain(),
            Exact(),
        ),
    }


CORPORA = corpora()


def problem_of(name, support="all", beta=1.0, encoded=None):
    corpus, graph, inference = CORPORA[name]
    if beta == inf:
        inference = AD3() if isinstance(inference, LoopyBP) else inference
    return make_problem(
        corpus if encoded is None else encoded,
        graph,
        LossFamily(beta, 1.0),
        inference,
        support=support,
    )


def order_of(problem, other):
    """Weights of the second problem in the order of the first: the constant attribute of edges
    stands behind its others.
    """
    numbers = {
        name: table.copy()
        for name, table in problem.scorer.tables_of(np.arange(problem.dimension)).items()
    }
    for name, own in numbers.items():
        if name == "edge" and "edge" in problem.examples.encoded.dense:
            sparse = problem.examples.encoded.tables["edge"].size
            own[sparse:] = np.roll(own[sparse:], -1, axis=0)
    return np.concatenate([own.ravel() for own in numbers.values()])


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
def test_kernels(name):
    """Scores, gradients of an instance and their products, as with attributes that have the same
    values.
    """
    problem = problem_of(name)
    other, generator = (
        problem_of(name, encoded=explicit(CORPORA[name][0])),
        np.random.default_rng(3),
    )
    order, weights = order_of(problem, other), random_weights(problem, 2)
    k, records, parts = (
        problem.scorer.kernels,
        (problem.data.features, other.data.features),
        problem.structure.parts,
    )
    gradients = [
        one.scorer.scratch(one.examples.encoded, one.structure).gradient for one in (problem, other)
    ]
    assert problem.dimension == other.dimension
    for i in range(problem.m):
        length = int(parts[i + 1] - parts[i])
        scores, r = np.zeros((2, length)), generator.normal(size=length)
        r[generator.random(length) < 0.3] = 0.0
        dense, norms, dots = np.zeros((2, problem.dimension)), [], []
        for one, theta in enumerate((weights, weights[order])):
            k.scores(records[one], theta, i, scores[one], EMPTY)
            k.accumulate(records[one], i, r, dense[one])
            norms.append(k.pullback(records[one], i, r, gradients[one]))
            dots.append(k.dot(records[one], theta, gradients[one]))
            moved, lag = theta.copy(), np.zeros(problem.dimension)
            k.add_both(records[one], moved, lag, gradients[one], 0.5, 2.0)
            np.testing.assert_allclose(moved, theta + 0.5 * dense[one], atol=1e-12)
            np.testing.assert_allclose(lag, 2.0 * dense[one], atol=1e-12)
            assert (GRADIENT.open(gradients[one]).slot == -1).all()
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(dense[0][order], dense[1], rtol=1e-12, atol=1e-12)
        assert norms[0] == pytest.approx(norms[1], rel=1e-12)
        assert dots[0] == pytest.approx(dots[1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
def test_coordinates_and_runs(name):
    """What is flattened is the gradient; the runs of weights that an instance reads hold all of its
    coordinates.
    """
    problem = problem_of(name, "seen")
    k, features, parts = problem.scorer.kernels, problem.data.features, problem.structure.parts
    scratch, generator = (
        problem.scorer.scratch(problem.examples.encoded, problem.structure),
        np.random.default_rng(4),
    )
    indices, values = np.zeros(scratch.coordinates, np.int64), np.zeros(scratch.coordinates)
    starts, widths = np.zeros(scratch.runs, np.int64), np.zeros(scratch.runs, np.int64)
    for i in range(problem.m):
        r, dense = generator.normal(size=int(parts[i + 1] - parts[i])), np.zeros(problem.dimension)
        k.accumulate(features, i, r, dense)
        dense *= problem.scorer.support
        k.pullback(features, i, r, scratch.gradient)
        count = k.flatten(features, scratch.gradient, indices, values)
        found = np.zeros(problem.dimension)
        found[indices[:count]] = values[:count]
        np.testing.assert_allclose(found, dense, atol=1e-12)
        listed = k.spans(features, i, starts, widths, EMPTY)
        read = np.zeros(problem.dimension, bool)
        for start, width in zip(starts[:listed], widths[:listed], strict=True):
            read[start : start + width] = True
        assert read[indices[:count]].all()


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
@pytest.mark.parametrize("support", ["seen", "all"])
def test_scores_of_batches(name, support):
    problem = problem_of(name, support)
    batch = problem.scorer.batch(problem.examples.encoded, problem.structure)
    weights, parts = random_weights(problem, 2), problem.structure.parts
    assert any(isinstance(group, MixedGroup) for group in batch.groups)
    with batch.widened(problem.scorer.compress(weights)) as widened:
        for i in range(problem.m):
            found, expected = (np.zeros(int(parts[i + 1] - parts[i])) for _ in range(2))
            problem.scorer.kernels.scores(batch.record, widened, i, found, EMPTY)
            problem.scorer.kernels.scores(problem.data.features, weights, i, expected, EMPTY)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
@pytest.mark.parametrize("beta", [1.0, inf])
@pytest.mark.parametrize("chunk", [2, 4096])
def test_losses_and_gradients(name, beta, chunk, monkeypatch):
    """Of all instances at once, as the sum over one after the other."""
    monkeypatch.setattr(dense_batch, "CHUNK", chunk)
    problem = problem_of(name, "seen", beta)
    weights = random_weights(problem, 1)
    single = [loss_and_gradient(problem, weights, i) for i in range(problem.m)]
    for _ in range(2):  # buffers are used again
        losses, gradient = problem.gradient(weights)
        assert losses == pytest.approx(sum(loss for loss, _ in single), rel=1e-12)
        np.testing.assert_allclose(gradient, sum(g for _, g in single), atol=1e-12)


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
def test_the_same_bits_with_any_number_of_workers(name):
    found = []
    for executor in (None, Threads(1), Threads(2), Threads(5)):
        problem = problem_of(name)
        problem.executor = executor or problem.executor
        found.append(problem.gradient(random_weights(problem, 1)))
    for losses, gradient in found[1:]:
        assert losses == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


@pytest.mark.parametrize("name", gate_cases(CORPORA, "pairs", 3))
def test_all_weights_of_dense_attributes_may_move(name):
    problem = problem_of(name, "seen")
    for name, support in problem.scorer.tables_of(problem.scorer.support).items():
        count = sum(one.size for one in problem.examples.encoded.dense.get(name, ()))
        assert support[len(support) - count :].all()
    assert not problem.scorer.support.all()


def test_numbers_of_positions():
    table = DenseTable(
        np.array([[2, -1], [0, 2]], np.int32), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    )
    np.testing.assert_array_equal(table.values(np.array([0, 1])), [[5, 6, 0, 0], [1, 2, 5, 6]])
    np.testing.assert_array_equal(table.compact().matrix, [[1, 2], [5, 6]])
    np.testing.assert_array_equal(
        table.compact().values(np.array([0, 1])), [[5, 6, 0, 0], [1, 2, 5, 6]]
    )
    assert np.shares_memory(table.subset(1, 2).compact().matrix, table.matrix) is False
    assert np.shares_memory(
        DenseTable(np.array([[1], [2]], np.int32), table.matrix).compact().matrix, table.matrix
    )
    none = DenseTable(np.full((3, 1), -1, np.int32), np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(none.compact().values(np.arange(3)), np.zeros((3, 4)))


def test_other_numbers_than_those_that_have_weights():
    encoded = CORPORA["chain"][0]
    problem = problem_of("chain")
    fewer = replace(encoded, dense={"label": encoded.dense["label"][:1]})
    with pytest.raises(
        Exception,
        match=r"features: there are weights for label \(29 attributes x 3\).* but this corpus",
    ):
        problem.scorer.record(fewer, problem.structure)
    assert isinstance(problem.scorer, AttributeRows)
