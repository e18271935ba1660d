"""Shards of a corpus as objects of this process, worked on in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def in_order(function: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Iterator[Any]:
    """Apply a function to the items in threads; the results come in the order of the items.

    No more than one result a worker waits to be taken.
    """
    if workers == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class InThisProcess:
    """Shards that stay here.

    Parameters
    ----------
    make : callable
        Makes a shard of a piece.
    pieces : sequence
    workers : int
        Threads.
    """

    def __init__(self, make: Callable[[Any], Any], pieces: Sequence[Any], workers: int = 1) -> None:
        self.shards, self.workers = list(in_order(make, pieces, workers)), workers

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard, in threads; see `structopt.core.executor.Placement`."""
        own = [()] * len(self.shards) if each is None else [(one,) for one in each]
        tasks = list(zip(self.shards, own, strict=True))
        return in_order(lambda task: getattr(task[0], method)(*common, *task[1]), tasks, self.workers)
