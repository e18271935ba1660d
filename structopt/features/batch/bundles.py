"""Features for batch work: attributes that come together are summed once an evaluation, not once a
position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.kernels.waist.record import Array

LEAST = 3  # positions that an attribute must have to stand for what it implies
WORTHWHILE = 100_000  # entries below which finding bundles costs more than it saves


@dataclass(frozen=True)
class Bundles:
    """A factorisation F = E S of one group's features: positions have few bundles, bundles have
    attributes.

    The scores are E (S W), the gradient S^T (E^T R): exact but for the order of the sums.

    Attributes
    ----------
    table : AttributeTable
        E: the positions' entries; numbers below `size` are attributes, the others bundles.
    starts : int64, shape (bundles + 1,), and members : int32
        S: the attributes of each bundle.
    size : int
        Number of attributes.
    """

    table: AttributeTable
    starts: Array
    members: Array
    size: int

    @property
    def count(self) -> int:
        """Number of bundles."""
        return len(self.starts) - 1

    @classmethod
    def find(cls, table: AttributeTable) -> Bundles:
        """Find bundles that save work; none in a small table, or in one with values."""
        if table.values is not None or len(table.ids) < WORTHWHILE:
            return cls.none(table)
        from scipy.sparse import csr_matrix

        from structopt.kernels.features import bundles as kernels

        shape = len(table.offsets) - 1, table.size
        matrix = csr_matrix((np.ones(len(table.ids), np.int8), table.ids, table.offsets), shape)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
            # an attribute twice at a position counts twice, which a set cannot
            if matrix.nnz != len(table.ids):
                return cls.none(table)
        columns = matrix.tocsc()
        offsets, ids = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        starts, members = np.zeros(table.size + 1, np.int64), np.zeros(len(ids), np.int32)
        used = kernels.implied(
            offsets,
            ids,
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            LEAST,
            starts,
            members,
        )
        sizes, uses = np.diff(starts), np.zeros(table.size, np.int64)
        allowed, new_offsets, new_ids = sizes > 1, np.zeros_like(offsets), np.zeros_like(ids)
        kernels.cover(offsets, ids, starts, members[:used], allowed, uses, new_offsets, new_ids)
        allowed = (sizes - 1) * (uses - 1) > 1  # the others cost as much to sum as they save
        uses[:] = 0
        written = kernels.cover(
            offsets, ids, starts, members[:used], allowed, uses, new_offsets, new_ids
        )
        return cls._numbered(table.size, uses, starts, members, new_offsets, new_ids[:written])

    @classmethod
    def none(cls, table: AttributeTable) -> Bundles:
        """Leave the positions as they are."""
        return cls(table, np.zeros(1, np.int64), np.zeros(0, np.int32), table.size)

    @classmethod
    def _numbered(
        cls, size: int, uses: Array, starts: Array, members: Array, offsets: Array, ids: Array
    ) -> Bundles:
        """Number the bundles that are used one after the other, behind the attributes."""
        chosen = np.flatnonzero(uses)
        numbers = np.arange(2 * size)
        numbers[chosen + size] = size + np.arange(len(chosen))
        lengths = np.diff(starts)[chosen]
        ends = np.cumsum([0, *lengths])
        flat = np.repeat(starts[chosen] - ends[:-1], lengths) + np.arange(ends[-1])
        table = AttributeTable(offsets, numbers[ids].astype(np.int32), None, size + len(chosen))
        return cls(table, ends.astype(np.int64), members[flat], size)

    def widen(self, rows: Array, sums: Array, width: int) -> None:
        """Fill `sums`, shape (count * width,), with the sums of the attributes' rows, shape (size *
        width,).
        """
        from structopt.kernels.features import bundles as kernels

        kernels.widen(self.starts, self.members, width, rows, sums)

    def fold(self, sums: Array, out: Array, width: int) -> None:
        """Add the bundles' rows, shape (count * width,), to the rows of their attributes, shape
        (size * width,).
        """
        from structopt.kernels.features import bundles as kernels

        kernels.fold(self.starts, self.members, width, sums, out)
