"""Features for batch work: a group whose positions have all attributes, by matrix products."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from structopt.core.data.attribute_table import AttributeTable
from structopt.kernels.waist.record import Array

LEAST = 8  # attributes from which a matrix product pays


class DenseGroup:
    """Positions that all have the same attributes: scores X W and gradient X^T R, for X of shape (positions, attributes).

    Its widened weights are the scores, a row a position; in the record every position has but one attribute, its own number.
    So the kernels copy what one product has computed.

    Parameters
    ----------
    values : float64, shape (positions, attributes)
        X; a view of the table.
    width : int
        Weights an attribute.
    row_starts : int64, shape (positions,)
        Where the row of a position begins in a vector over the parts of all instances.

    Notes
    -----
    Each product is one call of BLAS for each shard of a corpus, so that its bits are the same however many workers there are;
    BLAS itself may use threads. It costs O(positions x attributes x width), and takes positions x width floats for the
    scores, as many again for the residuals where other groups' parts lie between the positions at unequal distances.
    """

    def __init__(self, values: Array, width: int, row_starts: Array) -> None:
        self.values, self.width, self.row_starts = values, width, row_starts
        self.rows, size = values.shape
        self.attributes = np.arange(size)
        self._weights, self._scores = np.zeros(size * width), np.zeros(0)
        self.table = AttributeTable(np.arange(self.rows + 1), np.arange(self.rows, dtype=np.int32), None, self.rows)
        self._stride = _stride(row_starts, width)
        self._gathered = np.empty(0 if self._stride else self.rows * width)

    @classmethod
    def find(cls, table: AttributeTable, width: int, row_starts: Array) -> DenseGroup | None:
        """Return the group, if every position has all attributes, in order, with values."""
        positions = len(table.offsets) - 1
        if table.values is None or table.size < LEAST or not positions or len(table.ids) != positions * table.size:
            return None
        if not (table.ids.reshape(positions, -1) == np.arange(table.size, dtype=np.int32)).all():
            return None
        if not (np.diff(table.offsets) == table.size).all():
            return None
        return cls(table.values.reshape(positions, -1), width, row_starts)

    def open(self, wide: Array) -> Array:
        """Return room for the weights; the widened ones are the scores."""
        self._scores = wide
        return self._weights

    def widen(self) -> None:
        """Compute the scores of all positions."""
        np.matmul(self.values, self._weights.reshape(-1, self.width), out=self._scores.reshape(self.rows, -1))

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out` with X^T R."""
        np.matmul(self.values.T, self._residuals(residuals), out=out.reshape(-1, self.width))

    def _residuals(self, residuals: Array) -> Array:
        """R, shape (positions, width): a view where the positions lie at equal distances."""
        from structopt.kernels.features.attribute_columns import gather

        if self._stride:
            steps = self._stride * residuals.itemsize, residuals.itemsize
            return as_strided(residuals[self.row_starts[0] :], (self.rows, self.width), steps, writeable=False)
        once = np.arange(self.rows + 1)
        gather(once, self.row_starts, np.zeros(0), self.width, 0, self.rows, residuals, self._gathered)
        return self._gathered.reshape(self.rows, -1)


def _stride(row_starts: Array, width: int) -> int:
    """Distance of positions that lie at equal distances; 0 for others."""
    distances = np.diff(row_starts)
    stride = int(distances[0]) if len(distances) else width
    return stride if (distances == stride).all() else 0
