"""Work on several threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from structopt.core.executor import Account, Executor, InThisProcess, in_order
from structopt.executor import options
from structopt.process.cores import cores


class Threads(Executor):
    """Apply a function to the shards in threads. Kernels release the GIL, so that they run side by
    side.

    Parameters
    ----------
    workers : int or None
        Number of threads, which also share the instances of an optimizer's batch; None takes one a
        core.
    shards : int
        Into how many shards evaluations of loss and gradient are divided: no more threads than that
        have work. On it the last bits of results depend, and not on the number of threads.
    mixing : int or None
        Into how many shards the passes of an online optimizer are divided, to be mixed or added up;
        None: no mixing.
    """

    def __init__(
        self, workers: int | None = None, shards: int = 8, mixing: int | None = None
    ) -> None:
        options.check(workers, shards, mixing)
        self.workers, self.shards, self.mixing = workers or cores(), shards, mixing or 0
        self.account = Account()

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard; results in shard order, whichever finishes first."""
        return list(in_order(function, shards, self.workers))

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> InThisProcess:
        """Make a shard of each entry, to stay in this process."""
        return InThisProcess(make, shard_data, self.workers, self.account)
