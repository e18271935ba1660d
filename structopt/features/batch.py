"""Features for batch work: all instances' residuals to one dense gradient, by columns, with bundled attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from structopt.core.data import AttributeTable, PartGroup, Structure
from structopt.core.protocols import Executor
from structopt.features.attribute_rows import AttributeRows, RowGroup
from structopt.features.bundles import Bundles
from structopt.kernels.record import Array, Record


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

    def split(self, size: int) -> tuple[Columns, Columns]:
        """The first `size` columns, and the others."""
        first, rest = self.offsets[: size + 1], self.offsets[size:]
        return Columns(self.width, first, self.places, self.values), Columns(self.width, rest, self.places, self.values)

    def ranges(self, count: int) -> list[tuple[int, int]]:
        """Ranges of attributes with about equally many occurrences."""
        wanted = np.linspace(self.offsets[0], self.offsets[-1], count + 1)[1:-1]
        bounds = [0, *np.searchsorted(self.offsets, wanted), len(self.offsets) - 1]
        return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]


class BatchFeatures:
    """The features of a corpus for evaluations over all its instances.

    Weights are *widened* by the sums over each bundle of attributes; positions then have fewer entries.

    Parameters
    ----------
    rows : AttributeRows
    tables : sequence of AttributeTable
        Of the corpus, one a part group.
    structure : Structure
    """

    def __init__(self, rows: AttributeRows, tables: Sequence[AttributeTable], structure: Structure) -> None:
        self.support = rows.support
        self.bundles = [Bundles.find(table) for table in tables]
        pairs = list(zip(rows.groups, self.bundles, strict=True))
        self.wide = AttributeRows([RowGroup(g.name, g.width, g.size + b.count) for g, b in pairs], None)
        found = [bundles.table for bundles in self.bundles]
        self.record: Record = self.wide.pack(found, structure)
        self.columns = _columns(found, structure)
        self._ranges = list(zip(rows.groups, self.bundles, _runs(rows.groups), _runs(self.wide.groups), strict=True))

    @cached_property
    def _wide_weights(self) -> Array:
        return np.zeros(self.wide.dimension)

    @cached_property
    def _bundle_gradients(self) -> list[Array]:
        return [np.zeros(bundles.count * group.width) for group, bundles, _, _ in self._ranges]

    def widen(self, weights: Array) -> Array:
        """Weights followed, group by group, by the sums of every bundle's rows; a buffer that the next call overwrites."""
        out = self._wide_weights
        for group, bundles, narrow, wide in self._ranges:
            bundles.widen(weights[narrow], out[wide], group.width)
        return out

    def gradient_sum(self, residuals: Array, executor: Executor, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, zero where a weight may not move; the same bits whatever the executor.

        Parameters
        ----------
        residuals : float64, shape (all parts,)
        executor : Executor
            Its workers share the attributes, so that no two add to the same weight.
        out : float64, shape (dimension,)
        """
        from structopt.kernels.attribute_rows import gather, mask

        def job(task: tuple[Columns, Array, int, int]) -> None:
            columns, target, first, last = task
            gather(columns.offsets, columns.places, columns.values, columns.width, first, last, residuals, target)

        pieces = 4 * executor.workers if executor.workers > 1 else 1
        jobs = []
        for columns, (_, bundles, narrow, _), sums in zip(self.columns, self._ranges, self._bundle_gradients, strict=True):
            alone, together = columns.split(bundles.size)
            jobs += [(alone, out[narrow], *bounds) for bounds in alone.ranges(pieces)]
            jobs += [(together, sums, *bounds) for bounds in together.ranges(pieces)]
        executor.map(job, jobs)
        for (group, bundles, narrow, _), sums in zip(self._ranges, self._bundle_gradients, strict=True):
            bundles.fold(sums, out[narrow], group.width)
        if self.support is not None:
            mask(out, self.support)


def _runs(groups: Sequence[RowGroup]) -> list[slice]:
    """Where the weights of each group stand."""
    ends = np.cumsum([0, *(group.width * group.size for group in groups)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def _columns(tables: Sequence[AttributeTable], structure: Structure) -> list[Columns]:
    """Occurrences of every attribute, group by group."""
    found, before = [], np.zeros(len(structure), np.int64)
    for group, table in zip(structure.groups, tables, strict=True):
        first = structure.parts[:-1] + before - group.offsets[:-1] * group.width
        found.append(_group_columns(group, table, first))
        before += np.diff(group.offsets) * group.width
    return found


def _group_columns(group: PartGroup, table: AttributeTable, first: Array) -> Columns:
    """Turn one group's table round; `first` is where the row of a position 0 of each instance would begin."""
    from scipy.sparse import csr_matrix

    places = np.repeat(first, np.diff(group.offsets)) + np.arange(int(group.offsets[-1])) * group.width
    entries = csr_matrix((np.arange(len(table.ids)), table.ids, table.offsets), (len(places), table.size)).tocsc()
    owner = np.repeat(places, np.diff(table.offsets))
    values = np.zeros(0) if table.values is None else table.values[entries.data]
    return Columns(group.width, entries.indptr.astype(np.int64), owner[entries.data], values)
