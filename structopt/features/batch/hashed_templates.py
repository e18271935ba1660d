"""Hashed features for batch work: all instances' residuals to one gradient."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structopt.core.data.structure import Structure
from structopt.features.support import Supported
from structopt.kernels.waist.record import Array, Record


class HashedBatch:
    """The features of a corpus for evaluations over all its instances: read as they are, since
    nothing of them is stored.

    A thread needs a vector as long as the weights at a time; the batches of all shards borrow it of
    their scorer.

    Parameters
    ----------
    rows : Supported
        Which weights there are, and which of them may move.
    record : Record
    structure : Structure
    """

    coordinates = None

    def __init__(self, rows: Supported, record: Record, structure: Structure) -> None:
        self.rows, self.record, self.parts = rows, record, structure.parts

    @contextmanager
    def widened(self, moving: Array) -> Iterator[Array]:
        """Lend the weights, given those that may move."""
        with self.rows.pool.lend(self.rows.dimension) as weights:
            yield self.rows.expand(moving, weights)

    def gradient(self, residuals: Array) -> Array:
        """sum_i F_i r_i over the weights that may move, given residuals over the parts of all
        instances.
        """
        accumulate = self.rows.kernels.accumulate
        with self.rows.pool.lend(self.rows.dimension) as dense:
            dense[:] = 0.0
            for i in range(len(self.parts) - 1):
                accumulate(self.record, i, residuals[self.parts[i] : self.parts[i + 1]], dense)
            return dense.copy() if self.rows.moving is None else dense[self.rows.moving]
