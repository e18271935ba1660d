"""Features for batch work: the attributes of a group read by attribute, those that come together in bundles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structopt.core.data import AttributeTable
from structopt.features.bundles import Bundles
from structopt.kernels.record import Array


@dataclass(frozen=True)
class Columns:
    """The attributes of one part group, read by attribute.

    Attributes
    ----------
    width : int
        Weights an attribute.
    offsets : int64, shape (attributes + 1,)
        Where the occurrences of each attribute begin in `places`.
    places : int64, shape (entries,)
        Where the row of an occurrence's position begins in a vector over the parts of all instances.
    values : float64, shape (entries,) or (0,)
    """

    width: int
    offsets: Array
    places: Array
    values: Array

    @classmethod
    def of(cls, table: AttributeTable, width: int, places: Array) -> Columns:
        """Turn a table round; `places` is where the row of each position begins."""
        from scipy.sparse import csr_matrix

        entries = csr_matrix((np.arange(len(table.ids)), table.ids, table.offsets), (len(places), table.size)).tocsc()
        owner = np.repeat(places, np.diff(table.offsets))
        values = np.zeros(0) if table.values is None else table.values[entries.data]
        return cls(width, entries.indptr.astype(np.int64), owner[entries.data], values)

    def split(self, size: int) -> tuple[Columns, Columns]:
        """The first `size` columns, and the others."""
        first, rest = self.offsets[: size + 1], self.offsets[size:]
        return Columns(self.width, first, self.places, self.values), Columns(self.width, rest, self.places, self.values)

    def ranges(self, count: int) -> list[tuple[int, int]]:
        """Ranges of attributes with about equally many occurrences."""
        wanted = np.linspace(self.offsets[0], self.offsets[-1], count + 1)[1:-1]
        bounds = [0, *np.searchsorted(self.offsets, wanted), len(self.offsets) - 1]
        return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]

    def sum_rows(self, residuals: Array, first: int, last: int, out: Array) -> None:
        """Rows first <= a < last of the gradient: sums over the positions that have attribute a."""
        from structopt.kernels.attribute_rows import gather

        gather(self.offsets, self.places, self.values, self.width, first, last, residuals, out)


class SparseGroup:
    """Positions that have some of the attributes, or bundles of them.

    Parameters
    ----------
    table : AttributeTable
    width : int
        Weights an attribute.
    places : int64, shape (positions,)
        Where the row of a position begins in a vector over the parts of all instances.
    """

    def __init__(self, table: AttributeTable, width: int, places: Array) -> None:
        self.bundles, self.width = Bundles.find(table), width
        self.table, self.rows = self.bundles.table, self.bundles.size + self.bundles.count
        self._columns = Columns.of(self.table, width, places).split(self.bundles.size)

    @cached_property
    def _sums(self) -> Array:
        """Gradient of the bundles' rows."""
        return np.zeros(self.bundles.count * self.width)

    def widen(self, weights: Array, out: Array) -> None:
        """Fill `out` with the attributes' rows and behind them the bundles' sums."""
        self.bundles.widen(weights, out, self.width)

    def jobs(self, residuals: Array, out: Array, pieces: int) -> list[Callable[[], None]]:
        """The gradient's rows, in about as many pieces of work, no two of which add to the same weight."""

        def job(columns: Columns, target: Array, first: int, last: int) -> Callable[[], None]:
            return lambda: columns.sum_rows(residuals, first, last, target)

        targets = zip(self._columns, (out, self._sums), strict=True)
        return [job(columns, target, *bounds) for columns, target in targets for bounds in columns.ranges(pieces)]

    def finish(self, out: Array) -> None:
        """Add the bundles' rows to those of their attributes, once all jobs are done."""
        self.bundles.fold(self._sums, out, self.width)
