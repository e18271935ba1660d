"""Which attributes are kept, and what is done to their values."""

import numpy as np
import pytest

from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.formats.vectors.labelled_vectors import LabelledVectors
from structopt.task.vector_attributes import AttributeColumns, unit_rows
from tests.messages import raises


def corpus_of(x, names=None, declared=True):
    x = np.asarray(x, float)
    rows, ids = np.nonzero(x)
    names = names or [f"a{j}" for j in range(x.shape[1])]
    offsets = np.searchsorted(rows, np.arange(len(x) + 1)).astype(np.int64)
    return LabelledVectors(
        "x", offsets, list(names), ids.astype(np.int32), x[rows, ids], None, (), declared
    )


def matrix(table):
    values = np.ones(len(table.ids)) if table.values is None else table.values
    values_of_columns = np.zeros((len(table.offsets) - 1, table.size))
    values_of_columns[
        np.repeat(np.arange(len(values_of_columns)), np.diff(table.offsets)), table.ids
    ] = values
    return values_of_columns


def test_rare_attributes_and_the_bias():
    x = [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
    columns = AttributeColumns(min_count=2)
    columns.fit(corpus_of(x))
    assert columns.names == ["a0", "bias"]
    assert matrix(columns.table(corpus_of(x))).tolist() == [[1, 1], [3, 1]]
    columns = AttributeColumns(bias=False)
    columns.fit(corpus_of(x))
    assert (columns.names, matrix(columns.table(corpus_of(x))).tolist()) == (
        ["a0", "a1"],
        [[1, 2], [3, 0]],
    )


def test_numbered_attributes_are_ordered_by_number():
    x = [[1.0, 2.0, 3.0]]
    columns = AttributeColumns(bias=False)
    columns.fit(corpus_of(x, ["10", "9", "100"], declared=False))
    assert (columns.names, matrix(columns.table(corpus_of(x, ["10", "9", "100"]))).tolist()) == (
        ["9", "10", "100"],
        [[2, 1, 3]],
    )


def test_unknown_attributes_are_left_out():
    columns = AttributeColumns(bias=False)
    columns.fit(corpus_of([[1.0, 1.0]]))
    assert matrix(columns.table(corpus_of([[5.0, 7.0], [0.0, 1.0]], ["new", "a1"]))).tolist() == [
        [0, 7],
        [0, 1],
    ]


def test_dense_columns_get_mean_0_and_deviation_1():
    generator = np.random.default_rng(0)
    x = generator.normal(5.0, 3.0, (40, 3)) * [1.0, 1e-6, 1e6]
    x[generator.random((40, 3)) < 0.3] = 0.0
    columns = AttributeColumns(standardize="columns")
    columns.fit(corpus_of(x))
    values_of_columns = matrix(columns.table(corpus_of(x)))
    np.testing.assert_allclose(
        values_of_columns[:, :3], (x - x.mean(axis=0)) / x.std(axis=0), rtol=1e-12, atol=1e-12
    )
    assert (values_of_columns[:, 3] == 1).all()
    other = generator.normal(size=(5, 3))  # another corpus is measured by the training corpus
    expected = (other - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(matrix(columns.table(corpus_of(other)))[:, :3], expected, rtol=1e-12)


def test_sparse_columns_keep_their_zeros():
    generator = np.random.default_rng(1)
    x = np.where(generator.random((60, 4)) < 0.3, generator.normal(2.0, 1.0, (60, 4)), 0.0)
    columns = AttributeColumns(standardize="columns", bias=False)
    columns.fit(corpus_of(x))
    table = columns.table(corpus_of(x))
    assert len(table.ids) == np.count_nonzero(x)
    np.testing.assert_allclose(matrix(table), x / x.std(axis=0), rtol=1e-12)


def test_columns_that_never_vary_are_not_divided():
    x = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])
    columns = AttributeColumns(standardize="columns", bias=False)
    columns.fit(corpus_of(x))
    values_of_columns = matrix(columns.table(corpus_of([[0.1, 2.0], [1.1, 2.0]])))
    np.testing.assert_allclose(values_of_columns, [[0.0, 0.0], [1.0, 0.0]], atol=1e-12)


def test_unit_rows_keep_the_bias():
    columns = AttributeColumns(normalize="unit")
    columns.fit(corpus_of([[3.0, 4.0], [0.0, 2.0]]))
    values_of_columns = matrix(columns.table(corpus_of([[3e200, 4e200], [0, -2], [0, 0]])))
    np.testing.assert_allclose(values_of_columns, [[0.6, 0.8, 1], [0, -1, 1], [0, 0, 1]])
    assert unit_rows(np.array([0, 0]), np.zeros(0)).tolist() == []


def test_standardised_before_they_are_normalised():
    x = np.array([[1.0, 10.0], [3.0, 10.5], [5.0, 14.0]])
    columns = AttributeColumns(standardize="columns", normalize="unit", bias=False)
    columns.fit(corpus_of(x))
    expected = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(
        matrix(columns.table(corpus_of(x))),
        expected / np.linalg.norm(expected, axis=1, keepdims=True),
    )


def test_values_that_are_all_one_are_left_out():
    columns = AttributeColumns()
    columns.fit(corpus_of([[1.0, 0.0], [1.0, 1.0]]))
    assert columns.table(corpus_of([[1.0, 0.0]])).values is None
    assert columns.table(corpus_of([[2.0, 0.0]])).values.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("standardize", ["none", "columns"])
def test_state(standardize):
    x = np.random.default_rng(2).normal(size=(9, 3))
    columns = AttributeColumns(bias=False, standardize=standardize, normalize="unit")
    columns.fit(corpus_of(x))
    other = AttributeColumns.restore(SavedState(*columns.state()))
    assert other.names == columns.names
    np.testing.assert_array_equal(
        matrix(other.table(corpus_of(x))), matrix(columns.table(corpus_of(x)))
    )


@pytest.mark.parametrize(
    ("name", "value"), [("min_count", 0), ("standardize", "rows"), ("normalize", "l2")]
)
def test_options_that_are_refused(name, value):
    with raises(ConfigError, parameter=f"features.{name}", value=value):
        AttributeColumns(**{name: value})
