"""Features for batch work: the attributes of a group read by attribute, those that come together in
bundles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.features.batch.bundles import Bundles
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Columns:
    """The attributes of one part group, read by attribute.

    Attributes
    ----------
    width : int
        Weights an attribute.
    offsets : int64, shape (attributes + 1,)
        Where the occurrences of each attribute begin in `row_starts`.
    row_starts : int64, shape (entries,)
        Where the row of an occurrence's position begins in a vector over the parts of all
        instances.
    values : float64, shape (entries,) or (0,)
    """

    width: int
    offsets: Array
    row_starts: Array
    values: Array

    @classmethod
    def of(cls, table: AttributeTable, width: int, row_starts: Array) -> Columns:
        """Read a table by attribute; the row of each position begins at `row_starts`."""
        from scipy.sparse import csr_matrix

        entries = csr_matrix(
            (np.arange(len(table.ids)), table.ids, table.offsets), (len(row_starts), table.size)
        ).tocsc()
        owner = np.repeat(row_starts, np.diff(table.offsets))
        values = np.zeros(0) if table.values is None else table.values[entries.data]
        return cls(width, entries.indptr.astype(np.int64), owner[entries.data], values)

    def split(self, size: int) -> tuple[Columns, Columns]:
        """The first `size` columns, and the others."""
        first, rest = self.offsets[: size + 1], self.offsets[size:]
        return Columns(self.width, first, self.row_starts, self.values), Columns(
            self.width, rest, self.row_starts, self.values
        )

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out` with a row of the gradient for every attribute: the sum over the positions
        that have it.
        """
        from structopt.kernels.features.attributes.columns import gather

        gather(
            self.offsets,
            self.row_starts,
            self.values,
            self.width,
            0,
            len(self.offsets) - 1,
            residuals,
            out,
        )


class SparseGroup:
    """Positions that have some of the attributes, or bundles of them.

    Parameters
    ----------
    table : AttributeTable
    width : int
        Weights an attribute.
    row_starts : int64, shape (positions,)
        Where the row of a position begins in a vector over the parts of all instances.
    """

    def __init__(self, table: AttributeTable, width: int, row_starts: Array) -> None:
        self.attributes, numbers = table.occurring(), np.zeros(table.size, np.int32)
        numbers[self.attributes] = np.arange(len(self.attributes))
        own = AttributeTable(table.offsets, numbers[table.ids], table.values, len(self.attributes))
        self.bundles, self.width = Bundles.find(own), width
        self.table, self.rows = self.bundles.table, self.bundles.size + self.bundles.count
        self._columns, self._bundled = Columns.of(self.table, width, row_starts).split(
            self.bundles.size
        )
        self._wide, self._sums = np.zeros(0), np.zeros(self.bundles.count * width)

    def open(self, wide: Array) -> Array:
        """Return the first rows of the widened weights: the attributes' own; behind them stand the
        bundles'.
        """
        self._wide = wide
        return wide[: self.bundles.size * self.width]

    def widen(self) -> None:
        """Sum up the bundles' rows."""
        size = self.bundles.size * self.width
        self.bundles.widen(self._wide[:size], self._wide[size:], self.width)

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out` with the gradient by the attributes' rows, to which those of their bundles are
        added.
        """
        self._columns.gradient(residuals, out)
        self._bundled.gradient(residuals, self._sums)
        self.bundles.fold(self._sums, out, self.width)
