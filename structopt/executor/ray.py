"""Work on the processes of a Ray cluster, or of one that is started here."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from structopt.core.executor import Executor, in_order
from structopt.errors import ConfigError, StructoptError
from structopt.executor import options

log = logging.getLogger(__name__)
MOST_LOSSES = 5  # of workers; a run that loses more ends
AHEAD = 2  # calls a worker that are sent before the first result is taken: no worker waits, and few results are held


class Ray(Executor):
    """Shards in worker processes, on this machine or on others; what is computed is the same as in threads, to the last bit.

    Every shard stays with its worker. Weights go out, once for all; sums come back. A worker that is lost is replaced: its
    shards are placed again, from the copies in Ray's object store, and what was asked of them is asked again.

    Parameters
    ----------
    workers : int or None
        Worker processes, each with one CPU and one thread; None takes one a core of this machine.
    address : str or None
        Of a running cluster, such as ``auto`` or ``ray://head:10001``; None starts Ray on this machine, and shuts it down.
    shards : int
        Into how many shards evaluations of loss and gradient are divided: no more workers than that have work. On it the last
        bits of results depend, and not on the number of workers.
    mixing : int or None
        Into how many shards the passes of an online optimizer are divided, whose parameters are then mixed; None: as many as
        there are workers.
    """

    remote = True

    def __init__(
        self, workers: int | None = None, address: str | None = None, shards: int = 8, mixing: int | None = None
    ) -> None:
        options.check(workers, shards, mixing)
        if find_spec("ray") is None:
            raise ConfigError("executor=ray needs Ray. Type: pip install 'structopt-trainer[ray]', or take executor=threads.")
        if address is not None and workers is None:
            raise ConfigError("executor.address names a cluster: say how much of it to take, by executor.workers=N.")
        self.workers, self.address, self.shards = workers or os.cpu_count() or 1, address, shards
        self.mixing = self.workers if mixing is None else mixing
        self._started = False
        self._team: Team | None = None

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard, in threads of this process; results in shard order."""
        return list(in_order(function, shards, min(self.workers, os.cpu_count() or 1)))

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> RayPlacement:
        """Send the data of every shard to its worker, which makes the shard."""
        if self._team is None:
            self._start()
            self._team = Team(self.workers)
        return RayPlacement(self._team, self._team.place(make, shard_data), len(shard_data))

    def close(self) -> None:
        """Let the workers go, and shut Ray down if it was started here."""
        if self._team is not None:
            self._team.close()
            self._team = None
        if self._started:
            import ray

            ray.shutdown()
            self._started = False

    def _start(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if self.address is None:
            os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        import ray

        if not ray.is_initialized():
            with _own_handler():
                self._join()
        there: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        if there.get("CPU", 0) < self.workers:
            raise ConfigError(
                f"executor.workers={self.workers}, of one CPU each, but Ray has {there.get('CPU', 0):g}. Take fewer workers."
            )

    def _join(self) -> None:
        import ray

        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if self.address is None:
                ray.init("local", num_cpus=self.workers, include_dashboard=False, **quiet)
            else:
                ray.init(self.address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = "on this machine" if self.address is None else f"at executor.address={self.address}"
            raise ConfigError(f"executor=ray: Ray could not be reached or started {where}: {error}") from error
        self._started = True


@contextmanager
def _own_handler() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces as it starts by one that loses the run."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


class Team:
    """Worker processes and the shards that each of them holds: shard k of every placement is with worker k mod W.

    Parameters
    ----------
    workers : int
        W.
    """

    def __init__(self, workers: int) -> None:
        self.losses = 0
        self._placed: list[tuple[Any, list[Any]]] = []  # of each placement `make` and the data of its shards, in the object store
        self.actors = [_hire() for _ in range(workers)]

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> int:
        """Have the workers make a shard of each entry; return the number of the placement."""
        import ray

        dumps: Any = ray.cloudpickle.dumps  # to bytes: the arrays of the shards are to be the workers' own, and writable
        self._placed.append((ray.put(dumps(make)), [ray.put(dumps(data)) for data in shard_data]))
        for worker in range(len(self.actors)):
            self._send(len(self._placed) - 1, worker)
        return len(self._placed) - 1

    def ask(self, placement: int, shard: int, method: str, arguments: Sequence[Any]) -> Any:
        """Have a method of a shard called; return the reference of its result."""
        return self.actors[shard % len(self.actors)].call.remote((placement, shard), method, *arguments)

    def replace(self, worker: int, error: Exception) -> None:
        """Start another worker instead of one that was lost, and send it the shards of that one."""
        self.losses += 1
        reason = str(error).strip().splitlines()[0]
        if self.losses > MOST_LOSSES:
            raise ConfigError(
                f"executor=ray lost {self.losses} workers, the last one so: {reason} Look whether there is enough memory: "
                "every worker holds its share of the corpus, which more workers or task.limit=N make smaller."
            ) from error
        log.warning("executor=ray: worker %d was lost (%s) and is replaced; what it was doing is done again", worker, reason)
        self.actors[worker] = _hire()
        for placement in range(len(self._placed)):
            self._send(placement, worker)

    def close(self) -> None:
        """Let the workers go."""
        import ray

        for actor in self.actors:
            ray.kill(actor)
        self._placed.clear()

    def _send(self, placement: int, worker: int) -> None:
        make, shard_data = self._placed[placement]
        for shard in range(worker, len(shard_data), len(self.actors)):
            self.actors[worker].take.remote((placement, shard), make, shard_data[shard])


class RayPlacement:
    """Shards with the workers of a team.

    Parameters
    ----------
    team : Team
    number : int
        Of the placement.
    shards : int
    """

    def __init__(self, team: Team, number: int, shards: int) -> None:
        self.team, self._number, self._shards = team, number, shards

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard; see `structopt.core.executor.Placement`."""
        import ray

        sent = [ray.put(argument) for argument in common]  # once, for all

        def ask(shard: int) -> Any:
            argument = [] if each is None else [ray.put(each[shard])]
            return self.team.ask(self._number, shard, method, [*sent, *argument])

        asked: list[Any] = []
        for shard in range(self._shards):
            while len(asked) < min(self._shards, shard + AHEAD * len(self.team.actors)):
                asked.append(ask(len(asked)))
            result = self._wait(asked, shard, ask)
            asked[shard] = None  # so that the object store may forget it
            yield result

    def _wait(self, asked: list[Any], shard: int, ask: Callable[[int], Any]) -> Any:
        """Return the result of a shard; calls that a lost worker has not answered are sent to the one that replaces it."""
        import ray

        workers = len(self.team.actors)
        lost = ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, ray.exceptions.OutOfMemoryError
        while True:
            try:
                return ray.get(asked[shard])
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, StructoptError):
                    raise error.cause from None
                raise
            except lost as error:
                self.team.replace(shard % workers, error)
                for other in range(shard, len(asked), workers):
                    asked[other] = ask(other)


def _hire() -> Any:
    """Start a worker."""
    import ray

    return ray.remote(num_cpus=1, max_restarts=0)(Worker).remote()


class Worker:
    """Holds some shards in a process of its own, and calls their methods."""

    def __init__(self) -> None:
        self._shards: dict[tuple[int, int], Any] = {}

    def take(self, key: tuple[int, int], make: bytes, data: bytes) -> None:
        """Make a shard of its data; an error is kept until the shard is called."""
        from ray import cloudpickle

        try:
            self._shards[key] = cloudpickle.loads(make)(cloudpickle.loads(data))
        except Exception as error:
            self._shards[key] = error

    def call(self, key: tuple[int, int], method: str, *arguments: Any) -> Any:
        """Call a method of a shard."""
        if isinstance(self._shards[key], Exception):
            raise self._shards[key]
        return getattr(self._shards[key], method)(*arguments)
