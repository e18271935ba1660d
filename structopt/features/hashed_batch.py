"""Hashed features for batch work: all instances' residuals to one dense gradient."""

from __future__ import annotations

import numpy as np

from structopt.core.data import Structure
from structopt.core.protocols import Executor
from structopt.kernels.record import Array, Record

SHARDS = 8


class HashedBatch:
    """The features of a corpus for evaluations over all its instances: read as they are, since nothing of them is stored.

    Parameters
    ----------
    record : Record
    support : bool, shape (dimension,), or None
    structure : Structure
    """

    def __init__(self, record: Record, support: Array | None, structure: Structure) -> None:
        self.record, self.support, self.parts = record, support, structure.parts

    def widen(self, weights: Array) -> Array:
        """Weights as they are."""
        return weights

    def gradient_sum(self, residuals: Array, executor: Executor, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, zero where a weight may not move; the same bits whatever the executor.

        The sum is over as many shards whatever the number of workers, in their order; a worker needs a vector of as many
        weights as there are.

        Parameters
        ----------
        residuals : float64, shape (all parts,)
        executor : Executor
        out : float64, shape (dimension,)
        """
        from structopt.kernels.hashed_templates import accumulate

        parts = self.parts
        buffers = [np.empty(len(out)) for _ in range(min(executor.workers, SHARDS))]

        def shard(task: tuple[Array, int, int]) -> None:
            dense, first, last = task
            dense[:] = 0.0
            for i in range(first, last):
                accumulate(self.record, i, residuals[parts[i] : parts[i + 1]], dense)

        bounds = np.linspace(0, len(parts) - 1, SHARDS + 1).astype(int).tolist()
        out[:] = 0.0
        for begin in range(0, SHARDS, len(buffers)):
            count = min(len(buffers), SHARDS - begin)
            executor.map(shard, [(buffers[k], bounds[begin + k], bounds[begin + k + 1]) for k in range(count)])
            for k in range(count):
                out += buffers[k]
        if self.support is not None:
            out[~self.support] = 0.0
