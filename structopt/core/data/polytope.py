"""Polytopes by sparse rows, and their rows as they are collected factor by factor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array


class Polytope(NamedTuple):
    """{x in [0, 1]^columns : lower <= matrix x <= upper}; its first columns are the parts of an instance.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (rows, columns)
    lower, upper : float64, shape (rows,)
    shared : int
        How many parts, from the first, belong to variables; where these are integers, so are all parts.
    """

    matrix: Any
    lower: Array
    upper: Array
    shared: int


class Rows:
    """The rows of a polytope, collected factor by factor, and the number of columns so far."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.count = 0
        self._entries: list[tuple[Array, Array, Array]] = []
        self._bounds: list[tuple[Array, Array]] = []

    def more_columns(self, count: int) -> Array:
        """Add columns, and return their indices."""
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add(self, lower: Any, upper: Any, *entries: tuple[Array, Array, float], count: int) -> None:
        """Add `count` rows lower <= A x <= upper, where each of `entries` is rows (from 0), columns and their coefficient.

        Coefficients of the same row and column add up.
        """
        for rows, columns, value in entries:
            self._entries.append((self.count + np.asarray(rows), np.asarray(columns), np.full(len(rows), value)))
        self._bounds.append((np.broadcast_to(lower, count), np.broadcast_to(upper, count)))
        self.count += count

    def polytope(self, shared: int) -> Polytope:
        """Put all rows together."""
        from scipy.sparse import coo_array

        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        rows, columns, values = (np.concatenate(one) for one in zip(nothing, *self._entries, strict=True))
        lower, upper = (np.concatenate([np.zeros(0), *one]) for one in zip(*self._bounds, strict=True))
        matrix = coo_array((values, (rows, columns)), shape=(self.count, self.columns)).tocsr()
        return Polytope(matrix, lower, upper, shared)
