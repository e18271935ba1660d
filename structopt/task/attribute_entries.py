"""Entries of attribute tables: those of known attributes, a bias for each row, rows of unit length;
dense columns apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.saved_state import SavedState
from structopt.kernels.waist.record import Array

DENSE, LEAST = 0.5, 8
"""Share of values that are not 0, and number of columns, from which a dense table is read faster
than attributes.
"""


def is_dense(entries: int, rows: int, columns: int) -> bool:
    """Whether columns are to be a dense table, of which so many entries are not 0."""
    return columns >= LEAST and entries >= DENSE * rows * columns


def dense_flag(state: SavedState) -> bool:
    """Whether the columns of a saved task are a dense table; models that were saved before there
    were any have none.
    """
    return "dense" in state.values and state.flag("dense")


def columns_apart(
    table: AttributeTable, bias: bool
) -> tuple[AttributeTable, tuple[DenseTable, ...]]:
    """Return the bias alone, which is the last attribute of the table where it has one; and the
    others as a dense table.
    """
    rows, columns = len(table.offsets) - 1, table.size - bias
    matrix, others = np.zeros((rows, columns), np.float32), table.ids < columns
    row_of = np.repeat(np.arange(rows), np.diff(table.offsets))[others]
    matrix[row_of, table.ids[others]] = 1.0 if table.values is None else table.values[others]
    constant = AttributeTable(
        np.arange(rows + 1) * int(bias), np.zeros(rows * bias, np.int32), None, int(bias)
    )
    return constant, (DenseTable(np.arange(rows, dtype=np.int32)[:, np.newaxis], matrix),)


def known_entries(
    numbers: Mapping[str, int],
    names: Sequence[str],
    offsets: Array,
    ids: Array,
    values: Array | None,
) -> tuple[Array, Array, Array | None]:
    """Return the entries of the attributes that training has numbered; O(entries).

    Parameters
    ----------
    numbers : mapping of str to int
        Attributes of the training data.
    names : sequence of str
        Attributes of the corpus.
    offsets : int64, shape (rows + 1,)
    ids : int32, shape (entries,)
        Numbers into `names`.
    values : float64, shape (entries,), or None
        None: all are 1.

    Returns
    -------
    tuple
        Offsets, numbers and values of the entries that are left.
    """
    return renumbered_entries(numbers_of(numbers, names), offsets, ids, values)


def numbers_of(numbers: Mapping[str, int], names: Sequence[str]) -> Array:
    """Return the numbers of names, int32; -1 for those that have none."""
    return np.fromiter(map(numbers.get, names, repeat(-1)), np.int32, len(names))


def renumbered_entries(
    number_of: Array, offsets: Array, ids: Array, values: Array | None
) -> tuple[Array, Array, Array | None]:
    """Return the entries with new numbers, int32, of which -1 leaves an entry out; see
    `known_entries`.
    """
    ids = number_of[ids] if len(number_of) else ids
    known = ids >= 0
    if known.all():
        return offsets, ids, values
    before = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    return before[offsets], ids[known], None if values is None else values[known]


def with_bias(offsets: Array, ids: Array, values: Array, number: int) -> tuple[Array, Array, Array]:
    """Return the entries with one more at the end of each row: attribute `number` with the value
    1.
    """
    ends = offsets[1:]
    return (
        offsets + np.arange(len(offsets)),
        np.insert(ids, ends, number),
        np.insert(values, ends, 1.0),
    )


def unit_rows(offsets: Array, values: Array) -> Array:
    """Return the values of rows divided by their Euclidean norms; a row of zeros is left as it
    is.
    """
    rows = len(offsets) - 1
    row_of = np.repeat(np.arange(rows), np.diff(offsets))
    largest = np.zeros(rows)
    np.maximum.at(largest, row_of, np.abs(values))  # divided out first, so that no square overflows
    largest[largest == 0.0] = 1.0
    scaled = values / largest[row_of]
    norms = np.sqrt(np.bincount(row_of, scaled**2, rows))
    return np.asarray(scaled / np.where(norms > 0.0, norms, 1.0)[row_of])


def selected_rows(table: AttributeTable, keep: Array) -> AttributeTable:
    """Return the rows of an attribute table for which a mask, bool, shape (rows,), is true."""
    counts = np.diff(table.offsets)
    entries = np.repeat(keep, counts)
    offsets = np.concatenate([[0], np.cumsum(counts[keep])]).astype(np.int64)
    return AttributeTable(
        offsets,
        table.ids[entries],
        None if table.values is None else table.values[entries],
        table.size,
    )
