"""Work on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from structopt.core.executor import Executor, InThisProcess
from structopt.executor import options


class Serial(Executor):
    """Apply a function to one shard after the other, in this thread.

    Parameters
    ----------
    workers : int or None
        There is always one; for more, use ``executor=threads``.
    shards : int
        Into how many shards evaluations of loss and gradient are divided; on which the last bits of
        results depend.
    mixing : int or None
        Into how many shards the passes of an online optimizer are divided, to be mixed or added up;
        None: no mixing.
    """

    def __init__(
        self, workers: int | None = None, shards: int = 8, mixing: int | None = None
    ) -> None:
        options.check(None, shards, mixing)
        self.workers, self.shards, self.mixing = 1, shards, mixing or 0

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard."""
        return [function(shard) for shard in shards]

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> InThisProcess:
        """Make a shard of each entry, to stay in this process."""
        return InThisProcess(make, shard_data)
