"""The feature map against a dense matrix, built entry by entry."""

from itertools import product

import numpy as np
import pytest

from structopt.factor_graph.linear_chain import LinearChain
from structopt.features import row_places
from structopt.features.attribute_rows import AttributeRows
from structopt.features.row_places import Places, RowGroup, lay_out
from structopt.kernels.features.attributes import rows as kernels
from structopt.kernels.features.attributes.record import open_gradient
from structopt.kernels.waist.record import EMPTY
from structopt.objective.examples import Examples
from structopt.testing.problems import random_encoded

# most attributes occur with one label, many again in a sentence
SINGLES = {"labels": 7, "attributes": 40, "anchored": True}
CASES = list(
    product([{}, {"order": 2}, {"anchored": True}, SINGLES], [False, True], ["all", "seen"])
)
cases = pytest.mark.parametrize(("shape", "values", "support"), CASES)


@pytest.fixture(autouse=True)
def no_attribute_is_frequent(monkeypatch):
    monkeypatch.setattr(row_places, "NEAR", 0)


def build(shape, values, support, seed=0):
    shape = dict(shape)
    graph = LinearChain(shape.pop("order", 1))
    encoded = random_encoded(seed, (1, 2, 4, 6), values=values, **shape)
    structure = graph.build(encoded)
    rows = AttributeRows(support).fit(encoded, structure, graph.gold(encoded, structure))
    return Examples(encoded, structure, rows.record(encoded, structure), rows)


def active(examples, group, i):
    """(position, attribute, value) of every entry of instance i in one part group, from the task's
    tables.
    """
    structure, encoded = examples.structure, examples.encoded
    g = structure.groups[group]
    if g.tied:
        return [(0, 0, 1.0)]
    table, entries = encoded.tables[g.name], []
    for place, p in enumerate(range(g.offsets[i], g.offsets[i + 1])):
        entries.extend(
            (place, int(table.ids[j]), 1.0 if table.values is None else float(table.values[j]))
            for j in range(table.offsets[p], table.offsets[p + 1])
        )
        if g.name != "label":
            entries.append((place, table.size, 1.0))
    return entries


def pairs(rows):
    """How many (attribute, configuration) pairs there are."""
    return sum(group.size * group.width for group in rows.groups)


def matrix(examples, i):
    """F(x_i), dense and without the mask: the rows of the pairs that have weights."""
    rows, structure = examples.scorer, examples.structure
    F = np.zeros((pairs(rows), int(np.diff(structure.parts)[i])))
    base = part = 0
    for index, (row, group) in enumerate(zip(rows.groups, structure.groups, strict=True)):
        for place, a, value in active(examples, index, i):
            for y in range(row.width):
                F[base + a * row.width + y, part + place * row.width + y] += value
        base += row.size * row.width
        part += int(np.diff(group.offsets)[i]) * row.width
    return np.stack([rows.vector_of(tables(rows, column)) for column in F.T], axis=1)


def tables(rows, array):
    """An array over all pairs, by group."""
    ends = np.cumsum([group.size * group.width for group in rows.groups])
    return {
        g.name: a.reshape(g.size, g.width)
        for g, a in zip(rows.groups, np.split(array, ends[:-1]), strict=True)
    }


def mask(examples):
    return (
        np.ones(examples.scorer.dimension)
        if examples.scorer.support is None
        else examples.scorer.support
    )


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
    """Zero residuals touch nothing; the gradient record is as new after every use, whatever came
    before.
    """
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
    assert (
        kernels.pullback(examples.features, 0, np.zeros(matrix(examples, 0).shape[1]), gradient)
        == 0.0
    )
    assert open_gradient.py_func(gradient).counts.sum() == 0


@pytest.mark.parametrize("shape", [{}, {"order": 2}, {"anchored": True}, SINGLES])
@pytest.mark.parametrize("seed", [0, 1])
def test_seen_support(shape, seed):
    """A weight may move if its attribute and configuration occur together in a gold output; fixed
    rows always may.
    """
    examples = build(shape, False, "seen", seed)
    encoded, L, base, expected = (
        examples.encoded,
        len(examples.encoded.labels),
        0,
        np.zeros(pairs(examples.scorer), bool),
    )
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
    np.testing.assert_array_equal(examples.scorer.pairs, np.flatnonzero(expected))
    assert examples.scorer.count == expected.sum()
    found = examples.scorer.tables_of(examples.scorer.support)
    np.testing.assert_array_equal(
        np.concatenate([table.ravel() for table in found.values()]), expected
    )


@cases
def test_state_round_trip(shape, values, support):
    rows = build(shape, values, support).scorer
    layout, arrays = rows.state()
    again = AttributeRows.restore(layout, arrays)
    assert again.groups == rows.groups
    assert [group.singles for group in again.groups] == [group.singles for group in rows.groups]
    assert again.dimension == rows.dimension
    assert (again.support is None) == (rows.support is None)
    weights = np.random.default_rng(0).normal(size=rows.dimension) * (
        1 if rows.support is None else rows.support
    )
    assert rows.support is None or (again.support == rows.support).all()
    np.testing.assert_array_equal(again.expand(rows.compress(weights)), weights)


def test_compression_is_for_vectors_that_lose_nothing():
    rows = AttributeRows.of([RowGroup("label", 2, 2)], np.array([True, False, True, True]))
    assert rows.covers(np.array([1.0, 0.0, 2.0, 0.0]))
    assert not rows.covers(np.array([1.0, 3.0, 2.0, 0.0]))
    assert not rows.covers(np.zeros(3))
    assert not rows.covers(np.zeros((1, 4)))
    assert AttributeRows.of([RowGroup("label", 2, 2)], None).covers(np.ones(4))


def test_attributes_of_which_few_weights_may_move_have_these_alone():
    support = np.array(
        [
            [1, 0, 0, 1, 0, 0, 0],
            [0, 1, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0],
            [1, 1, 1, 0, 0, 0, 0],
        ],
        bool,
    )
    (place,) = lay_out([RowGroup("label", 7, 4, singles=True)], support.ravel())
    assert (place.rows.tolist(), place.singles.tolist(), place.configurations.tolist()) == (
        [3],
        [0, 0, 1],
        [0, 3, 1],
    )
    assert (place.start, place.behind_rows, place.end) == (0, 7, 10)
    expected = np.full((4, 7), -1)
    expected[3], expected[[0, 0, 1], [0, 3, 1]] = range(7), [7, 8, 9]
    np.testing.assert_array_equal(place.table(np.arange(10), absent=-1), expected)
    back = np.zeros(10, int)
    place.fill(back, expected)
    np.testing.assert_array_equal(back, np.arange(10))


def test_a_frequent_attribute_has_a_row_unless_one_weight_may_move(monkeypatch):
    monkeypatch.setattr(row_places, "NEAR", 15)
    support = np.array(
        [
            [1, 1, 0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0, 0],
        ],
        bool,
    )
    (place,) = lay_out([RowGroup("label", 7, 4, singles=True)], support.ravel())
    assert place.rows.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("width", "singles", "all_move"), [(3, True, False), (7, False, False), (7, True, True)]
)
def test_all_attributes_have_rows_where_these_are_short_or_no_support_is_known(
    width, singles, all_move
):
    support = None if all_move else np.eye(width, dtype=bool).ravel()
    place = Places.of(RowGroup("label", width, width, singles), 5, support)
    assert (place.rows, place.start, place.end) == (None, 5, 5 + width * width)
    array = np.arange(5 + width * width)
    assert np.shares_memory(place.table(array), array)


def test_the_order_of_saved_weights_does_not_tell_where_they_stand():
    examples = build(SINGLES, False, "seen")
    rows = examples.scorer
    layout, arrays = rows.state()
    assert layout["groups"][0]["singles"]
    plain = {
        "groups": [
            {key: value for key, value in group.items() if key != "singles"}
            for group in layout["groups"]
        ]
    }
    # as a model that was saved before there were single weights
    whole = AttributeRows.restore(plain, arrays)
    assert whole.dimension == pairs(rows) > rows.dimension
    weights = np.random.default_rng(0).normal(size=rows.count)
    for name, table in whole.tables_of(whole.expand(weights)).items():
        np.testing.assert_array_equal(table, rows.tables_of(rows.expand(weights))[name])
    record = whole.record(examples.encoded, examples.structure)
    for i in range(len(examples)):
        s, expected = (np.zeros(int(np.diff(examples.structure.parts)[i])) for _ in range(2))
        kernels.scores(examples.features, rows.expand(weights), i, s, EMPTY)
        kernels.scores(record, whole.expand(weights), i, expected, EMPTY)
        np.testing.assert_allclose(s, expected, atol=1e-12)


@pytest.mark.parametrize("values", [False, True])
def test_dense_vectors_receive_what_singles_have(values):
    examples, generator = build(SINGLES, values, "seen"), np.random.default_rng(3)
    for i in range(len(examples)):
        F = matrix(examples, i)
        r, dense = generator.normal(size=F.shape[1]), np.zeros(F.shape[0])
        kernels.accumulate(examples.features, i, r, dense)
        np.testing.assert_allclose(dense, F @ r, atol=1e-12)
