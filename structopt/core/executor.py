"""The contract of executors: where the work on shards of a corpus is done."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from structopt.core.component import Component
from structopt.kernels.waist import interruptible


@dataclass
class Account:
    """What work on shards has cost so far. An entry is None where an executor has no such cost.

    Attributes
    ----------
    rounds : int
        Calls of a method of all shards.
    compute_seconds : float
        In these methods, summed over the shards.
    waiting_seconds : float
        In which the process that trains waited for a result.
    serialization_seconds : float or None
        In which it wrote arguments for the workers, and fetched and read their results.
    bytes_out, bytes_in : int or None
        Of arguments and of results. An argument that all shards have in common counts once, though
        every machine gets it.
    """

    rounds: int = 0
    compute_seconds: float = 0.0
    waiting_seconds: float = 0.0
    serialization_seconds: float | None = None
    bytes_out: int | None = None
    bytes_in: int | None = None

    def copied(self) -> Account:
        """The account as it is now."""
        return Account(**asdict(self))

    def since(self, earlier: Account) -> dict[str, float | int | None]:
        """What was added since an earlier copy, by names."""
        now, then = asdict(self), asdict(earlier)
        return {
            name: None if value is None else value - (then[name] or 0)
            for name, value in now.items()
        }


COSTS = tuple(asdict(Account()))
"""Names of the entries of an account, as columns of a run's history."""


class Placement(Protocol):
    """Shards of a corpus where they stay: objects of this process, or of workers elsewhere."""

    def call(
        self,
        method: str,
        *common: Any,
        each: Sequence[Any] | None = None,
        restore: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """Call a method of every shard k, with `common`, and with ``each[k]`` if given; the results
        come in shard order.

        Of shards that keep something from call to call, `restore` is what each is to have before
        this call. It is sent to those alone that have it not: a shard's method ``restore`` is
        called with ``restore[k]`` where the shard was made anew since the last call with `restore`.

        Results are computed as they are asked for, a few ahead, so that only these few are in
        memory. Arrays among the arguments and the results may be read-only.
        """

    def renew(self) -> None:
        """Count all shards as made anew: what they keep is not to be relied on."""


class Executor(Component):
    """Does the work on shards of a corpus. Results do not depend on the executor, nor on
    its workers, to the last bit.

    There are two kinds of work. Functions of data that this process holds, such as decoding, are
    mapped. Shards of the training corpus are placed once; then only arguments are sent to them, and
    results come back.

    Attributes
    ----------
    workers : int
    shards : int
        Into how many shards evaluations of loss and gradient are divided. The last bits of results
        depend on this number, as sums are made shard by shard.
    mixing : int
        Into how many shards the passes of an online optimizer are divided, to be mixed or added up;
        0 for none.
    account : Account or None
        What the work on placed shards has cost so far; None where nobody keeps count.
    remote : bool
        Whether the workers are other processes, to which shards, arguments and results must be
        pickled.
    """

    kind_of_component: ClassVar[str] = "executor"

    workers: int
    shards: int
    mixing: int
    account: Account | None = None
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

    At most one result a worker is computed before it is asked for. Where the main thread is
    interrupted, or asks for no more results, those that are being computed are given up.
    """
    if workers == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

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
        if (
            not isinstance(error, Exception)
            and threading.current_thread() is threading.main_thread()
        ):
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
    account : Account or None
        To which rounds and seconds are added.
    """

    def __init__(
        self,
        make: Callable[[Any], Any],
        shard_data: Sequence[Any],
        workers: int = 1,
        account: Account | None = None,
    ) -> None:
        self.shards, self.workers = list(in_order(make, shard_data, workers)), workers
        self.account = account or Account()
        self._restored = False

    def call(
        self,
        method: str,
        *common: Any,
        each: Sequence[Any] | None = None,
        restore: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """Call a method of every shard, in threads; see `structopt.core.executor.Placement`."""
        if restore is not None and not self._restored:
            for shard, kept in zip(self.shards, restore, strict=True):
                shard.restore(kept)
            self._restored = True
        arguments = [()] * len(self.shards) if each is None else [(one,) for one in each]
        tasks = list(zip(self.shards, arguments, strict=True))
        yield from accounted(
            self.account,
            lambda task: getattr(task[0], method)(*common, *task[1]),
            tasks,
            self.workers,
        )

    def renew(self) -> None:
        """Count all shards as made anew."""
        self._restored = False


class MadeAnew:
    """Shards of this process that are made for every call and dropped after it, so that few are in
    memory; a `Placement`.

    What they keep from call to call they must be given anew (`restore`).

    Parameters
    ----------
    make, shard_data, workers, account
        As of `InThisProcess`.
    """

    def __init__(
        self,
        make: Callable[[Any], Any],
        shard_data: Sequence[Any],
        workers: int = 1,
        account: Account | None = None,
    ) -> None:
        self.make, self.shard_data, self.workers = make, list(shard_data), workers
        self.account = account or Account()

    def call(
        self,
        method: str,
        *common: Any,
        each: Sequence[Any] | None = None,
        restore: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """Call a method of every shard, in threads; see `structopt.core.executor.Placement`."""
        count = len(self.shard_data)
        arguments = [()] * count if each is None else [(one,) for one in each]
        kept = [()] * count if restore is None else [(one,) for one in restore]
        tasks = list(zip(self.shard_data, kept, arguments, strict=True))
        yield from accounted(
            self.account, lambda task: self._called(method, common, *task), tasks, self.workers
        )

    def _called(
        self,
        method: str,
        common: tuple[Any, ...],
        data: Any,
        kept: tuple[Any, ...],
        own: tuple[Any, ...],
    ) -> Any:
        """Make a shard, and call its method."""
        shard = self.make(data)
        for one in kept:
            shard.restore(one)
        return getattr(shard, method)(*common, *own)

    def renew(self) -> None:
        """Do nothing: all shards are made anew."""


def accounted(
    account: Account, function: Callable[[Any], Any], tasks: Sequence[Any], workers: int
) -> Iterator[Any]:
    """Results of a round's tasks in their order, the round and its seconds added to an account."""
    account.rounds += 1
    results = in_order(lambda task: timed(function, task), tasks, workers)
    while True:
        started = time.perf_counter()
        result = next(results, None)
        if result is None:
            return
        account.waiting_seconds += time.perf_counter() - started
        account.compute_seconds += result[1]
        yield result[0]


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function; return its result, and the seconds that it took."""
    started = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - started
