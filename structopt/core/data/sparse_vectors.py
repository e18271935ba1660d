"""Sparse vectors over the parts of instances: gold outputs, predictions, entries of k-best lists, costs."""

from __future__ import annotations

from dataclasses import dataclass

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class SparseVectors:
    """One sparse vector over the parts of every instance: outputs and how often they have each part, or costs.

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

    def subset(self, first: int, last: int) -> SparseVectors:
        """Those of the instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return SparseVectors(self.offsets[first : last + 1] - begin, self.parts[begin:end], self.values[begin:end])
