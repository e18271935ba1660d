"""The contract of executors: where the work on shards of a corpus is done."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Protocol

from structopt.core.component import Component
from structopt.kernels.waist import interruptible


class Placement(Protocol):
    """Shards of a corpus where they stay: objects of this process, or of workers elsewhere."""

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard k, with `common`, and with ``each[k]`` if given; the results come in shard order.

        Results are computed as they are asked for, a few ahead, so that only these few are in memory. Arrays among the arguments
        and the results may be read-only.
        """


class Executor(Component):
    """Where the work on shards of a corpus is done. Results do not depend on the executor, nor on its workers, to the last bit.

    There are two kinds of work. Functions of data that this process holds, such as decoding, are mapped. Shards of the training
    corpus are placed once; then only arguments are sent to them, and results come back.

    Attributes
    ----------
    workers : int
    shards : int
        Into how many shards evaluations of loss and gradient are divided. The last bits of results depend on this number, as
        sums are made shard by shard.
    mixing : int
        Into how many shards the passes of an online optimizer are divided, whose parameters are then mixed; 0 for none.
    remote : bool
        Whether the workers are other processes, to which shards, arguments and results must be pickled.
    """

    kind_of_component: ClassVar[str] = "executor"

    workers: int
    shards: int
    mixing: int
    remote: bool = False

    @abstractmethod
    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard, in this process; the results come back in shard order."""

    @abstractmethod
    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> Placement:
        """Make the shards, ``make(data)`` for each of `shard_data`, where they are to stay."""

    def close(self) -> None:
        """Shut down the workers that it started; none by default."""
        return


def in_order(function: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Iterator[Any]:
    """Apply a function to the items in threads; the results come in the order of the items.

    At most one result a worker is computed before it is asked for. Where the main thread is interrupted, or asks for no more
    results, those that are being computed are given up.
    """
    if workers == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Any]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException as error:
        if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
            with interruptible.halted_work():
                interruptible.insist(partial(pool.shutdown, cancel_futures=True))
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class InThisProcess:
    """Shards that are objects of this process; a `Placement`.

    Parameters
    ----------
    make : callable
        Makes a shard of its data.
    shard_data : sequence
        The data of each shard.
    workers : int
        Threads.
    """

    def __init__(self, make: Callable[[Any], Any], shard_data: Sequence[Any], workers: int = 1) -> None:
        self.shards, self.workers = list(in_order(make, shard_data, workers)), workers

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard, in threads; see `structopt.core.executor.Placement`."""
        arguments = [()] * len(self.shards) if each is None else [(one,) for one in each]
        tasks = list(zip(self.shards, arguments, strict=True))
        return in_order(lambda task: getattr(task[0], method)(*common, *task[1]), tasks, self.workers)


class MadeAnew:
    """Shards of this process that are made for every call and dropped after it, so that few are in memory; a `Placement`.

    They must not keep anything between calls.

    Parameters
    ----------
    make, shard_data, workers
        As of `InThisProcess`.
    """

    def __init__(self, make: Callable[[Any], Any], shard_data: Sequence[Any], workers: int = 1) -> None:
        self.make, self.shard_data, self.workers = make, list(shard_data), workers

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard, in threads; see `structopt.core.executor.Placement`."""
        arguments = [()] * len(self.shard_data) if each is None else [(one,) for one in each]
        tasks = list(zip(self.shard_data, arguments, strict=True))
        return in_order(lambda task: getattr(self.make(task[0]), method)(*common, *task[1]), tasks, self.workers)
