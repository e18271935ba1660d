"""Features for batch work: scores of all instances from widened weights, and all instances'
residuals to one gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.structure import Structure
from structopt.features.batch.columns import SparseGroup
from structopt.features.batch.dense import DenseRows, MixedGroup
from structopt.features.row_places import RowGroup, lay_out, starts_of
from structopt.features.row_record import pack_rows
from structopt.features.vector_pool import VectorPool
from structopt.kernels.waist.record import Array, Record


class BatchGroup(Protocol):
    """One part group in evaluations over all instances.

    Attributes
    ----------
    attributes : int64, shape (occurring,)
        The attributes that occur, in ascending order. Its *rows* are their weights, one after the
        other.
    table : AttributeTable
        The widened rows that each position reads.
    rows : int
        How many there are.
    """

    attributes: Array
    table: AttributeTable
    rows: int

    def open(self, wide: Array) -> Array:
        """Take the group's section of the widened weights; return the vector that its rows are to
        be written to.
        """

    def widen(self) -> None:
        """Make the widened weights of the rows."""

    def gradient(self, residuals: Array, out: Array) -> None:
        """Fill `out` with the gradient by the rows."""


class Share(NamedTuple):
    """What one group has of the weights that may move.

    Attributes
    ----------
    group : BatchGroup
    rows : float64 vector
        Weights of the attributes that occur.
    coordinates, indices : int64, shape (moving,)
        Indices of those that may move, among all weights that may, and in `rows`.
    """

    group: BatchGroup
    rows: Array
    coordinates: Array
    indices: Array


class BatchFeatures:
    """The features of a corpus for evaluations over all its instances.

    Weights are *widened*, group by group, to rows of which positions read few: by the sums over
    bundles of attributes that come together (`SparseGroup`), and of dense tables by the scores of
    the rows of their matrices (`MixedGroup`). Only attributes that occur have rows, so that what a
    shard of a corpus reads and writes fits into smaller caches, and is soon sent.

    Parameters
    ----------
    pairs : int64 vector, or None
        Which weights may move, among those of all rows of `groups`; None: all.
    pool : VectorPool
        Lends vectors for gradients.
    groups : sequence of RowGroup
    tables : sequence of AttributeTable
        Of the corpus, one a part group.
    dense : sequence of sequences of DenseTable
        Likewise.
    structure : Structure
    """

    def __init__(
        self,
        pairs: Array | None,
        pool: VectorPool,
        groups: Sequence[RowGroup],
        tables: Sequence[AttributeTable],
        dense: Sequence[Sequence[DenseTable]],
        structure: Structure,
    ) -> None:
        widths = [group.width for group in groups]
        self.groups = [
            _batch_group(*one)
            for one in zip(tables, dense, widths, _row_starts(structure), strict=True)
        ]
        wide = [
            RowGroup(g.name, g.width, batch.rows)
            for g, batch in zip(groups, self.groups, strict=True)
        ]
        self.record: Record = pack_rows(
            lay_out(wide, None), None, [group.table for group in self.groups], structure
        )
        self._weights = np.zeros(starts_of(wide)[-1])
        runs = zip(groups, self.groups, starts_of(groups), pairwise(starts_of(wide)), strict=False)
        self._shares = [
            _share(pairs, g, batch, at, self._weights[slice(*run)]) for g, batch, at, run in runs
        ]
        self.coordinates: Array = np.concatenate([share.coordinates for share in self._shares])
        ends = np.cumsum([len(share.coordinates) for share in self._shares])[:-1]
        views = np.split(self.coordinates, ends)
        self._shares = [
            share._replace(coordinates=view)
            for share, view in zip(self._shares, views, strict=True)
        ]
        self._pool = pool

    @contextmanager
    def widened(self, moving: Array) -> Iterator[Array]:
        """Weights as `record` reads them, given those that may move; the next call overwrites
        them.
        """
        from structopt.kernels.arrays.coordinates import carry

        for share in self._shares:
            carry(moving, share.coordinates, share.indices, share.rows)
            share.group.widen()
        yield self._weights

    def gradient(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the `coordinates`, given residuals over the parts of all instances."""
        from structopt.kernels.arrays.coordinates import take

        out, end = np.empty(len(self.coordinates)), 0
        for share in self._shares:
            begin, end = end, end + len(share.indices)
            with self._pool.lend(len(share.rows)) as rows:
                share.group.gradient(residuals, rows)
                take(rows, share.indices, out[begin:end])
        return out


def _batch_group(
    table: AttributeTable, dense: Sequence[DenseTable], width: int, row_starts: Array
) -> BatchGroup:
    sparse = SparseGroup(table, width, row_starts)
    if not dense:
        return sparse
    return MixedGroup(sparse, table.size, [DenseRows(one, width, row_starts) for one in dense])


def _share(
    pairs: Array | None, layout: RowGroup, group: BatchGroup, start: int, wide: Array
) -> Share:
    """The weights of a group, which begin at `start` among all, that may move."""
    opened = group.open(wide)
    weights = (
        start + group.attributes[:, np.newaxis] * layout.width + np.arange(layout.width)
    ).ravel()
    if pairs is None:
        return Share(group, opened, weights, np.arange(len(weights)))
    numbers = np.searchsorted(pairs, weights)
    numbers[numbers == len(pairs)] = 0
    indices = np.flatnonzero(pairs[numbers] == weights) if len(pairs) else np.zeros(0, np.int64)
    return Share(group, opened, numbers[indices], indices)


def _row_starts(structure: Structure) -> list[Array]:
    """Where the row of every position begins in a vector over the parts of all instances, group by
    group; of scored groups.
    """
    row_starts, before = [], np.zeros(len(structure), np.int64)
    for group in structure.groups:
        if not group.scored:
            row_starts.append(np.zeros(0, np.int64))
            before += np.diff(group.offsets) * group.width
            continue
        # of a position 0 of each instance
        first = structure.parts[:-1] + before - group.offsets[:-1] * group.width
        row_starts.append(
            np.repeat(first, np.diff(group.offsets))
            + np.arange(int(group.offsets[-1])) * group.width
        )
        before += np.diff(group.offsets) * group.width
    return row_starts
