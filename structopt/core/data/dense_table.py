"""Dense tables: numbers that every position has, as rows of a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class DenseTable:
    """Numbers that every position has: some rows of a matrix, one after the other.

        x_p = (M[rows[p, 0]], ..., M[rows[p, K - 1]]),    zeros where rows[p, k] = -1

    Words that occur often share a row of their vectors, and so do the windows that a word is in.

    Attributes
    ----------
    rows : int32, shape (positions, K)
    matrix : float32, shape (R, D)
        It may be a memory map.
    """

    rows: Array
    matrix: Array

    @property
    def size(self) -> int:
        """Numbers of a position, K D."""
        return int(self.rows.shape[1] * self.matrix.shape[1])

    def subset(self, first: int, last: int) -> DenseTable:
        """The positions first <= p < last, as views."""
        return DenseTable(self.rows[first:last], self.matrix)

    def compact(self) -> DenseTable:
        """The same numbers, of a matrix without rows that no position has; rows that lie one after
        the other are a view.
        """
        used = np.unique(self.rows)
        used = used[used >= 0]
        if len(used) and used[-1] - used[0] + 1 == len(used):
            matrix, numbers = self.matrix[used[0] : used[-1] + 1], self.rows - used[0]
        else:
            matrix, numbers = self.matrix[used], np.searchsorted(used, self.rows)
        return DenseTable(np.where(self.rows < 0, -1, numbers).astype(np.int32), matrix)

    def values(self, positions: Array) -> Array:
        """x_p of some positions, float32, shape (positions, size)."""
        chosen = self.rows[positions]
        vectors = (
            self.matrix[np.maximum(chosen, 0)]
            if len(self.matrix)
            else np.zeros((*chosen.shape, self.matrix.shape[1]))
        )
        return np.where((chosen < 0)[:, :, np.newaxis], np.float32(0), vectors).reshape(
            len(chosen), self.size
        )
