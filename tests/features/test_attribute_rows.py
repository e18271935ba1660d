"""The feature map against a dense matrix, built entry by entry."""

from itertools import product

import numpy as np
import pytest

from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.attribute_rows import AttributeRows, RowGroup
from structopt.kernels.features.attributes import ahead
from structopt.kernels.features.attributes import rows as kernels
from structopt.kernels.features.attributes.record import ROWS, list_of, open_gradient
from structopt.kernels.waist.record import EMPTY
from structopt.objective.examples import Examples
from structopt.testing.problems import random_encoded

CASES = list(product([{}, {"order": 2}, {"anchored": True}], [False, True], ["all", "seen"]))
cases = pytest.mark.parametrize(("shape", "values", "support"), CASES)


def build(shape, values, support, seed=0):
    shape = dict(shape)
    graph = LinearChain(shape.pop("order", 1))
    encoded = random_encoded(seed, (1, 2, 4, 6), values=values, **shape)
    structure = graph.build(encoded)
    rows = AttributeRows(support).fit(encoded, structure, graph.gold(encoded, structure))
    return Examples(encoded, structure, rows.record(encoded, structure), rows)


def active(examples, group, i):
    """(position, attribute, value) of every entry of instance i in one part group, from the task's tables."""
    structure, encoded = examples.structure, examples.encoded
    g = structure.groups[group]
    if g.tied:
        return [(0, 0, 1.0)]
    table, entries = encoded.tables[g.name], []
    for place, p in enumerate(range(g.offsets[i], g.offsets[i + 1])):
        for j in range(table.offsets[p], table.offsets[p + 1]):
            entries.append((place, int(table.ids[j]), 1.0 if table.values is None else float(table.values[j])))
        if g.name != "label":
            entries.append((place, table.size, 1.0))
    return entries


def matrix(examples, i):
    """F(x_i), dense and without the mask."""
    rows, structure = examples.scorer, examples.structure
    F = np.zeros((rows.dimension, int(np.diff(structure.parts)[i])))
    base = part = 0
    for index, (row, group) in enumerate(zip(rows.groups, structure.groups, strict=True)):
        for place, a, value in active(examples, index, i):
            for y in range(row.width):
                F[base + a * row.width + y, part + place * row.width + y] += value
        base += row.size * row.width
        part += int(np.diff(group.offsets)[i]) * row.width
    return F


def mask(examples):
    return np.ones(examples.scorer.dimension) if examples.scorer.support is None else examples.scorer.support


@cases
def test_scores_and_gradients_are_those_of_the_matrix(shape, values, support):
    examples, generator = build(shape, values, support), np.random.default_rng(0)
    gradient, allowed = examples.space().gradient, mask(examples)
    for i in range(len(examples)):
        F = matrix(examples, i)
        theta, r = generator.normal(size=F.shape[0]), generator.normal(size=F.shape[1])
        s = np.full(F.shape[1], 9.0)
        kernels.scores(examples.features, theta, i, s, EMPTY)
        np.testing.assert_allclose(s, F.T @ theta, atol=1e-12)
        norm, dense = kernels.pullback(examples.features, i, r, gradient), allowed * (F @ r)
        assert norm == pytest.approx(dense @ dense)
        assert kernels.dot(examples.features, theta, gradient) == pytest.approx(theta @ dense)
        moved = theta.copy()
        kernels.add(examples.features, moved, gradient, -0.3)
        np.testing.assert_allclose(moved, theta - 0.3 * dense, atol=1e-12)
        indices, listed = np.zeros(F.shape[0], np.int64), np.zeros(F.shape[0])
        count = kernels.flatten(examples.features, gradient, indices, listed)
        assert len(set(indices[:count])) == count
        flat = np.zeros(F.shape[0])
        flat[indices[:count]] = listed[:count]
        np.testing.assert_allclose(flat, dense, atol=1e-12)
        assert (listed[:count] != 0).all()


def test_each_instance_is_asked_for_in_the_three_visits_before_its_own(monkeypatch):
    examples, order, asked = build({"anchored": True}, False, "all"), np.array([2, 0, 3, 1]), []
    monkeypatch.setattr(ahead, "open_rows", ROWS.open)
    monkeypatch.setattr(ahead, "list_of", list_of.py_func)
    monkeypatch.setattr(ahead, "offsets_of", ahead.offsets_of.py_func)
    monkeypatch.setattr(ahead, "prefetch", lambda array, index: asked.append((array.ctypes.data, index)))
    monkeypatch.setattr(ahead, "prefetch_run", lambda array, begin, end: asked.append((array.ctypes.data, begin, end)))
    x = ROWS.open(examples.features)
    stride = len(x.positions) // len(x.widths)
    for n in range(len(order)):
        asked.clear()
        ahead.prefetch_instances.py_func(examples.features, order, n)
        expected = []
        for g in range(len(x.widths)):
            begins = [x.starts[g] + x.positions[g * stride + i] for i in order]
            ends = [x.starts[g] + x.positions[g * stride + i + 1] for i in order]
            if n + 3 < len(order):
                at = g * stride + order[n + 3]
                expected += [(x.positions.ctypes.data, at), (x.lists.ctypes.data, at)]
            if n + 2 < len(order):
                listed = list_of.py_func(x, g, order[n + 2])
                expected += [(listed.ctypes.data, 0, len(listed)), (x.offsets.ctypes.data, begins[n + 2], ends[n + 2] + 1)]
            if n + 1 < len(order):
                expected.append((x.ids.ctypes.data, x.offsets[begins[n + 1]], x.offsets[ends[n + 1]]))
        assert asked == expected


@cases
def test_adjoint(shape, values, support):
    """<F^T theta, r> = <theta, F r>, for weights that may move."""
    examples, generator = build(shape, values, support, 1), np.random.default_rng(1)
    gradient = examples.space().gradient
    for i in range(len(examples)):
        k = int(np.diff(examples.structure.parts)[i])
        theta = mask(examples) * generator.normal(size=examples.scorer.dimension)
        r, s = generator.normal(size=k), np.zeros(k)
        kernels.scores(examples.features, theta, i, s, EMPTY)
        kernels.pullback(examples.features, i, r, gradient)
        assert s @ r == pytest.approx(kernels.dot(examples.features, theta, gradient))


@cases
def test_sparse_residuals_and_clean_records(shape, values, support):
    """Zero residuals touch nothing; the gradient record is as new after every use, whatever came before."""
    examples, generator = build(shape, values, support, 2), np.random.default_rng(2)
    gradient, allowed = examples.space().gradient, mask(examples)
    for i in [*range(len(examples)), *range(len(examples))]:
        F = matrix(examples, i)
        r = generator.normal(size=F.shape[1]) * (generator.random(F.shape[1]) < 0.3)
        kernels.pullback(examples.features, i, r, gradient)
        opened = open_gradient.py_func(gradient)
        assert (opened.slot == -1).all()
        dense = np.zeros(F.shape[0])
        kernels.add(examples.features, dense, gradient, 1.0)
        np.testing.assert_allclose(dense, allowed * (F @ r), atol=1e-12)
    assert kernels.pullback(examples.features, 0, np.zeros(matrix(examples, 0).shape[1]), gradient) == 0.0
    assert open_gradient.py_func(gradient).counts.sum() == 0


@pytest.mark.parametrize("shape", [{}, {"order": 2}, {"anchored": True}])
@pytest.mark.parametrize("seed", [0, 1])
def test_seen_support(shape, seed):
    """A weight may move if its attribute and configuration occur together in a gold output; fixed rows always may."""
    examples = build(shape, False, "seen", seed)
    encoded, L, base, expected = examples.encoded, 3, 0, np.zeros(examples.scorer.dimension, bool)
    for index, row in enumerate(examples.scorer.groups):
        tied = examples.structure.groups[index].tied
        for i in range(len(examples)):
            y = encoded.gold[encoded.offsets[i] : encoded.offsets[i + 1]]
            for place, a, _ in [] if tied else active(examples, index, i):
                configuration = y[place] if row.name == "label" else y[place] * L + y[place + 1]
                expected[base + a * row.width + configuration] = True
        if row.name != "label":
            expected[base + (row.size - 1) * row.width : base + row.size * row.width] = True
        base += row.size * row.width
    np.testing.assert_array_equal(examples.scorer.support, expected)
    assert examples.scorer.count == expected.sum()


@cases
def test_state_round_trip(shape, values, support):
    rows = build(shape, values, support).scorer
    layout, arrays = rows.state()
    again = AttributeRows.restore(layout, arrays)
    assert again.groups == rows.groups
    assert (again.support is None) == (rows.support is None)
    weights = np.random.default_rng(0).normal(size=rows.dimension) * (1 if rows.support is None else rows.support)
    assert rows.support is None or (again.support == rows.support).all()
    np.testing.assert_array_equal(again.expand(rows.compress(weights)), weights)


def test_compression_is_for_vectors_that_lose_nothing():
    rows = AttributeRows.of([RowGroup("label", 2, 2)], np.array([True, False, True, True]))
    assert rows.covers(np.array([1.0, 0.0, 2.0, 0.0]))
    assert not rows.covers(np.array([1.0, 3.0, 2.0, 0.0]))
    assert not rows.covers(np.zeros(3))
    assert not rows.covers(np.zeros((1, 4)))
    assert AttributeRows.of([RowGroup("label", 2, 2)], None).covers(np.ones(4))
