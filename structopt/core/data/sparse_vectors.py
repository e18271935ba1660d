"""Sparse vectors over the parts of instances: gold outputs, predictions, entries of k-best lists,
costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core.storage.arrays import Storage
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class SparseVectors:
    """One sparse vector over the parts of every instance: outputs and how often they have each
    part, or costs.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
    parts : int32, shape (entries,)
        Part numbers within the instance.
    values : float64, shape (entries,)
    """

    offsets: Array
    parts: Array
    values: Array

    @classmethod
    def of_parts(cls, instances: Array, parts: Array, count: int) -> SparseVectors:
        """How often each of `count` instances has each part, given pairs of instance and part in
        any order.
        """
        order = np.lexsort((parts, instances))
        instances, parts = instances[order], parts[order]
        fresh = np.ones(len(parts), bool)
        fresh[1:] = (parts[1:] != parts[:-1]) | (instances[1:] != instances[:-1])
        first = np.flatnonzero(fresh)
        offsets = np.searchsorted(instances[first], np.arange(count + 1)).astype(np.int64)
        return cls(
            offsets,
            parts[first].astype(np.int32),
            np.diff(np.append(first, len(parts))).astype(np.float64),
        )

    def subset(self, first: int, last: int) -> SparseVectors:
        """Those of the instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return SparseVectors(
            self.offsets[first : last + 1] - begin, self.parts[begin:end], self.values[begin:end]
        )


class GrowingVectors:
    """Sparse vectors of a corpus, made of those of consecutive ranges of its instances.

    Parameters
    ----------
    storage : Storage
        Where they are kept.
    """

    def __init__(self, storage: Storage) -> None:
        self._lengths, self._parts, self._values = (
            storage.growing(kind) for kind in (np.int64, np.int32, np.float64)
        )

    def add(self, vectors: SparseVectors) -> None:
        """Append those of the next range."""
        self._lengths.add(np.diff(vectors.offsets))
        self._parts.add(vectors.parts)
        self._values.add(vectors.values)

    def vectors(self) -> SparseVectors:
        """Those of all instances."""
        offsets = np.concatenate([[0], np.cumsum(self._lengths.array())]).astype(np.int64)
        return SparseVectors(offsets, self._parts.array(), self._values.array())
