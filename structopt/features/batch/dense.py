"""Features for batch work: dense tables, by matrix products over the rows of their matrices."""

from __future__ import annotations

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.features.batch.columns import Columns, SparseGroup
from structopt.kernels.waist.record import Array

CHUNK = 4096  # rows of a matrix of single precision that are widened to double at a time


class DenseRows:
    """The dense attributes of one table: scores M W_k of the rows of its matrix, one of which each
    position reads for each k.

        S[p] += sum_k (M W_k)[rows[p, k]],    dP/dW_k = M^T (sum over positions p with rows[p, k] =
        r of R[p])_r

    So that a row is multiplied once, however many positions have it.

    Parameters
    ----------
    table : DenseTable
        Of the corpus.
    width : int
        Weights an attribute.
    row_starts : int64, shape (positions,)
        Where the row of a position begins in a vector over the parts of all instances.

    Attributes
    ----------
    rows : int
        Rows of scores: those of the matrix for each k.
    numbers : int32, shape (positions, K)
        The row of scores that every position reads for each k; -1: none.

    Notes
    -----
    Each product is a call of BLAS for each chunk of a shard, so that its bits are the same however
    many workers there are; BLAS itself may use threads. It costs O(rows of M x attributes x width).
    """

    def __init__(self, table: DenseTable, width: int, row_starts: Array) -> None:
        table = table.compact()
        self.matrix, self.width, (self._length, self.dimensions) = (
            table.matrix,
            width,
            table.matrix.shape,
        )
        self.slots, self.rows = table.rows.shape[1], table.rows.shape[1] * self._length
        shifts = np.arange(self.slots, dtype=np.int32) * self._length
        self.numbers = np.where(table.rows < 0, np.int32(-1), table.rows + shifts)
        self._columns = Columns.of(listed(self.numbers, self.rows), width, row_starts)
        self._sums = np.empty(self.rows * width)

    def widen(self, weights: Array, scores: Array) -> None:
        """Fill `scores`, shape (rows * width,), given the weights of the attributes, shape (K D
        width,).
        """
        W, S = (
            weights.reshape(self.slots, self.dimensions, self.width),
            scores.reshape(self.slots, -1, self.width),
        )
        for first in range(0, self._length, CHUNK):
            chunk = self.matrix[first : first + CHUNK].astype(np.float64)
            for k in range(self.slots):
                np.matmul(chunk, W[k], out=S[k, first : first + CHUNK])

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out`, shape (K D width,), with the gradient by the attributes' weights."""
        self._columns.gradient(residuals, self._sums)
        G, R = (
            out.reshape(self.slots, self.dimensions, self.width),
            self._sums.reshape(self.slots, -1, self.width),
        )
        G[:] = 0.0
        for first in range(0, self._length, CHUNK):
            chunk = self.matrix[first : first + CHUNK].astype(np.float64)
            for k in range(self.slots):
                G[k] += chunk.T @ R[k, first : first + CHUNK]


class MixedGroup:
    """Positions that have some of the attributes, and the numbers of dense tables: see
    `structopt.features.batch.attribute_rows`.

    The widened weights are those of the sparse attributes, and behind them the scores of the rows
    of each dense table.

    Parameters
    ----------
    sparse : SparseGroup
    size : int
        Attributes that are not dense, whether they occur or not.
    dense : sequence of DenseRows
    """

    def __init__(self, sparse: SparseGroup, size: int, dense: list[DenseRows]) -> None:
        self.sparse, self.dense, self.width = sparse, dense, sparse.width
        count = sum(one.slots * one.dimensions for one in dense)
        self.attributes = np.concatenate([sparse.attributes, size + np.arange(count)])
        self.rows = sparse.rows + sum(one.rows for one in dense)
        self._weights, self._own = np.zeros(len(self.attributes) * self.width), np.zeros(0)
        self._scores: list[Array] = []
        ends = np.cumsum([sparse.rows, *(one.rows for one in dense)])
        numbers = [
            np.where(d.numbers < 0, -1, d.numbers + end)
            for d, end in zip(dense, ends[:-1], strict=True)
        ]
        self.table = _joined(
            sparse.table, listed(np.hstack(numbers).astype(np.int32), self.rows), self.rows
        )
        cuts = (
            np.cumsum([len(sparse.attributes), *(one.slots * one.dimensions for one in dense)])
            * self.width
        )
        self._cuts, self._ends = cuts[:-1], ends[:-1] * self.width

    def open(self, wide: Array) -> Array:
        """Return room for the weights of all attributes."""
        own, *self._scores = np.split(wide, self._ends)
        self._own = self.sparse.open(own)
        return self._weights

    def widen(self) -> None:
        """Copy the weights of the sparse attributes, and compute the scores of the rows of dense
        tables.
        """
        own, *dense = np.split(self._weights, self._cuts)
        self._own[:] = own
        self.sparse.widen()
        for one, weights, scores in zip(self.dense, dense, self._scores, strict=True):
            one.widen(weights, scores)

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out` with the gradient by the attributes' weights."""
        own, *dense = np.split(out, self._cuts)
        self.sparse.gradient(residuals, own)
        for one, part in zip(self.dense, dense, strict=True):
            one.gradient(residuals, part)


def listed(numbers: Array, size: int) -> AttributeTable:
    """A table of the numbers of every position, shape (positions, K), that are not -1."""
    kept = numbers >= 0
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return AttributeTable(offsets, numbers[kept].astype(np.int32), None, size)


def _joined(first: AttributeTable, second: AttributeTable, size: int) -> AttributeTable:
    """The entries of both tables, position by position."""
    counts = np.diff(first.offsets), np.diff(second.offsets)
    offsets = first.offsets + second.offsets
    ids, values = np.empty(int(offsets[-1]), np.int32), np.ones(int(offsets[-1]))
    for table, own, shift in ((first, counts[0], 0), (second, counts[1], counts[0])):
        places = np.repeat(offsets[:-1] + shift - table.offsets[:-1], own) + np.arange(
            len(table.ids)
        )
        ids[places] = table.ids
        values[places] = 1.0 if table.values is None else table.values
    return AttributeTable(offsets, ids, None if first.values is None else values, size)
