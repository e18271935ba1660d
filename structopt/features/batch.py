"""Features for batch work: scores of all instances from widened weights, and all instances' residuals to one dense gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from structopt.core.data import AttributeTable, Structure
from structopt.core.protocols import Executor
from structopt.features.attribute_rows import AttributeRows, RowGroup
from structopt.features.columns import SparseGroup
from structopt.features.dense import DenseGroup
from structopt.kernels.record import Array, Record


class BatchGroup(Protocol):
    """One part group in evaluations over all instances.

    Attributes
    ----------
    table : AttributeTable
        The rows of widened weights that each position reads.
    rows : int
        How many there are.
    """

    table: AttributeTable
    rows: int

    def widen(self, weights: Array, out: Array) -> None:
        """Fill `out` with the widened weights."""

    def jobs(self, residuals: Array, out: Array, pieces: int) -> list[Callable[[], None]]:
        """What has to be done, in any order and in about as many pieces, to fill `out` with the group's gradient."""

    def finish(self, out: Array) -> None:
        """And what after that."""


class BatchFeatures:
    """The features of a corpus for evaluations over all its instances.

    Weights are *widened*, group by group, to rows of which positions read few: by the sums over bundles of attributes that come
    together (`SparseGroup`), or, where positions have all attributes, to the scores themselves (`DenseGroup`).

    Parameters
    ----------
    rows : AttributeRows
    tables : sequence of AttributeTable
        Of the corpus, one a part group.
    structure : Structure
    """

    def __init__(self, rows: AttributeRows, tables: Sequence[AttributeTable], structure: Structure) -> None:
        self.support = rows.support
        widths = [group.width for group in rows.groups]
        self.groups = [_batch_group(*one) for one in zip(tables, widths, _places(structure), strict=True)]
        pairs = list(zip(rows.groups, self.groups, strict=True))
        self.wide = AttributeRows([RowGroup(g.name, g.width, batch.rows) for g, batch in pairs], None)
        self.record: Record = self.wide.pack([group.table for group in self.groups], structure)
        self._ranges = list(zip(self.groups, _runs(rows.groups), _runs(self.wide.groups), strict=True))

    @cached_property
    def _wide_weights(self) -> Array:
        return np.zeros(self.wide.dimension)

    def widen(self, weights: Array) -> Array:
        """Weights as `record` reads them; a buffer that the next call overwrites."""
        out = self._wide_weights
        for group, narrow, wide in self._ranges:
            group.widen(weights[narrow], out[wide])
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
        from structopt.kernels.attribute_rows import mask

        pieces = 4 * executor.workers if executor.workers > 1 else 1
        jobs = [job for group, narrow, _ in self._ranges for job in group.jobs(residuals, out[narrow], pieces)]
        executor.map(lambda job: job(), jobs)
        for group, narrow, _ in self._ranges:
            group.finish(out[narrow])
        if self.support is not None:
            mask(out, self.support)


def _batch_group(table: AttributeTable, width: int, places: Array) -> BatchGroup:
    return DenseGroup.find(table, width, places) or SparseGroup(table, width, places)


def _runs(groups: Sequence[RowGroup]) -> list[slice]:
    """Where the weights of each group stand."""
    ends = np.cumsum([0, *(group.width * group.size for group in groups)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def _places(structure: Structure) -> list[Array]:
    """Where the row of every position begins in a vector over the parts of all instances, group by group."""
    found, before = [], np.zeros(len(structure), np.int64)
    for group in structure.groups:
        first = structure.parts[:-1] + before - group.offsets[:-1] * group.width  # of a position 0 of each instance
        found.append(np.repeat(first, np.diff(group.offsets)) + np.arange(int(group.offsets[-1])) * group.width)
        before += np.diff(group.offsets) * group.width
    return found
