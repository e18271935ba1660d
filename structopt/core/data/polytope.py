"""Polytopes by sparse rows, and their rows as they are collected factor by factor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array


class Polytope(NamedTuple):
    """{x in [0, 1]^columns : lower <= matrix x <= upper}; its first columns are the parts of an
    instance.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (rows, columns)
    lower, upper : float64, shape (rows,)
    shared : int
        How many parts, from the first, belong to variables; where these are integers, so are all
        parts.
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
        self._copies: list[tuple[Array, Array]] = []
        self._spare: list[tuple[Array, Array, Array]] = []

    def more_columns(self, count: int) -> Array:
        """Add columns, and return their indices."""
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add(
        self,
        lower: Any,
        upper: Any,
        *entries: tuple[Array, Array, float],
        count: int,
        floor_of: Array | None = None,
        ceiling_of: Array | None = None,
    ) -> None:
        """Add `count` rows lower <= A x <= upper, where each of `entries` is rows (from 0), columns
        and their coefficient.

        Coefficients of the same row and column add up. `floor_of`, shape (1,), is a column of which
        all these rows say what it is at least, and all its other rows what it is at most: a program
        may leave them out where more of it scores more. `ceiling_of` is the other way round.
        """
        for column, sign in ((floor_of, 1.0), (ceiling_of, -1.0)):
            if column is not None:
                self._spare.append(
                    (self.count + np.arange(count), np.repeat(column, count), np.full(count, sign))
                )
        for rows, columns, value in entries:
            self._entries.append(
                (self.count + np.asarray(rows), np.asarray(columns), np.full(len(rows), value))
            )
        self._bounds.append((np.broadcast_to(lower, count), np.broadcast_to(upper, count)))
        self.count += count

    def copy(self, columns: Array, original: Array) -> None:
        """Say that columns equal one `original`, shape (1,), which is none of them and no copy
        itself.
        """
        self._copies.append((np.asarray(columns), np.repeat(original, len(columns))))

    def take_copies(self) -> tuple[Array, Array]:
        """Return the columns that equal others, and those; the polytope then has no rows that say
        so.
        """
        nothing = np.zeros(0, np.int64)
        columns, originals = (
            np.concatenate([nothing, *one])
            for one in zip((nothing, nothing), *self._copies, strict=True)
        )
        self._copies = []
        return columns.astype(np.int64), originals.astype(np.int64)

    @property
    def spare(self) -> tuple[Array, Array, Array]:
        """Rows that may be left out, where the score of these columns has this sign, 1 or -1."""
        nothing = np.zeros(0, np.int64)
        rows, columns, signs = (
            np.concatenate(one)
            for one in zip((nothing, nothing, np.zeros(0)), *self._spare, strict=True)
        )
        return rows, columns, signs

    def polytope(self, shared: int) -> Polytope:
        """Put all rows together."""
        from scipy.sparse import coo_array

        columns, originals = self.take_copies()
        each = np.arange(len(columns))
        self.add(0.0, 0.0, (each, columns, 1.0), (each, originals, -1.0), count=len(columns))

        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        rows, columns, values = (
            np.concatenate(one) for one in zip(nothing, *self._entries, strict=True)
        )
        lower, upper = (
            np.concatenate([np.zeros(0), *one]) for one in zip(*self._bounds, strict=True)
        )
        matrix = coo_array((values, (rows, columns)), shape=(self.count, self.columns)).tocsr()
        return Polytope(matrix, lower, upper, shared)
