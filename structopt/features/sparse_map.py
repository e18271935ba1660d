"""Features of any tying: a sparse matrix from weights to part scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.scorer import BatchMap, FeatureScratch
from structopt.errors import ArgumentError
from structopt.features.attribute_rows import AttributeRows
from structopt.features.row_places import Places, RowGroup, lay_out
from structopt.kernels.waist.record import Array, Record

PART = "part"
"""The one group of parts that the map scores, with a position per part."""


class SparseMap(AttributeRows):
    """Scores s = A theta of the parts of a batch.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array, shape (parts, weights)
        A. Its rows are the parts in the order of `Parts.flat`; `Batch.index` has their numbers.

    Raises
    ------
    ArgumentError
        If it is not a sparse matrix of finite numbers.
    """

    def __init__(self, matrix: Any) -> None:
        import scipy.sparse

        super().__init__("all")
        if not scipy.sparse.issparse(matrix):
            raise ArgumentError(
                "must be a sparse matrix of shape (parts, weights), such as "
                "scipy.sparse.csr_array.",
                parameter="matrix",
            )
        rows = scipy.sparse.csr_array(matrix, copy=True)
        rows.sum_duplicates()
        values = checks.floats("matrix", rows.data)
        self.parts, self.dimension = map(int, rows.shape)
        self._table = AttributeTable(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int32), values, self.dimension
        )
        self.groups = (RowGroup(PART, 1, self.dimension, singles=True),)
        self.places = tuple(lay_out(self.groups, None))

    @classmethod
    def of_weights(cls, count: int) -> SparseMap:
        """Return a map to no parts from so many weights."""
        import scipy.sparse

        return cls(scipy.sparse.csr_array((0, count)))

    def _own(self, structure: Structure) -> Structure:
        """Return the structure with one group that has a position per part."""
        group = PartGroup(PART, 1, structure.parts)
        return replace(structure, groups=(group,), attributes={PART: self._table})

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """See `AttributeRows`."""
        return super().record(encoded, self._own(structure))

    def row_places(self, encoded: Encoded, structure: Structure) -> list[Places]:
        """See `AttributeRows`."""
        return super().row_places(encoded, self._own(structure))

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """See `AttributeRows`."""
        return super().batch(encoded, self._own(structure))

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """See `AttributeRows`."""
        return super().batch_bytes(encoded, self._own(structure))

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """See `AttributeRows`."""
        return super().scratch(encoded, self._own(structure))

    def dense_groups(self, structure: Structure) -> list[str]:
        """Return no groups: it reads no dense tables."""
        return []

    def state(self) -> NoReturn:
        """Refuse: the map belongs to one batch."""
        raise NotImplementedError

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> NoReturn:
        """Refuse: the map belongs to one batch."""
        raise NotImplementedError
