"""Teams of Ray's worker processes, and the shards that they hold: placed, called, and placed again
where a worker was lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from structopt.core.executor import Account, timed
from structopt.errors import ConfigError, StructoptError
from structopt.executor.ray_process import hire
from structopt.executor.shard_files import ShardFiles

log = logging.getLogger(__name__)
MOST_LOSSES = 5  # of each worker in one round, on average; a run that loses more ends
# calls a worker that are sent before the first result is taken: no worker waits, and few results
# are held
AHEAD = 2
PATIENCE = 60.0  # seconds for a new worker to start, before another one takes over its shards
TICK = 1.0  # seconds between two looks whether a worker starts
# a straggler takes so many times as long as the median shard, and so many seconds longer
SLOW, LEAST = 3.0, 5.0


class Team:
    """Worker processes and the shards that each of them holds: shard k of every placement is with
    worker k mod W.

    Parameters
    ----------
    workers : int
        W.
    folder : str or None
        Where the data of shards are written, for their workers to open
        (`structopt.executor.shard_files`); None keeps them in Ray's object store.
    """

    def __init__(self, workers: int, folder: str | None = None) -> None:
        self._files = None if folder is None else ShardFiles(folder)
        self.losses = 0  # in the round that is going on
        # of each shard of a placement, how often it was made
        self.made: dict[tuple[int, int], int] = {}
        # of each placement `make` and the data of its shards, or where they are
        self._placed: list[tuple[Any, list[Any]]] = []
        self.actors = [hire() for _ in range(workers)]

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> int:
        """Have the workers make a shard of each entry; return the number of the placement."""
        import ray

        # to bytes: the arrays of the shards are to be the workers' own, and writable
        dumps: Any = ray.cloudpickle.dumps
        number = len(self._placed)
        kept = [
            self._kept(f"{number}-{shard}.pickle", dumps(data))
            for shard, data in enumerate(shard_data)
        ]
        self._placed.append((ray.put(dumps(make)), kept))
        for worker in range(len(self.actors)):
            self._send(number, worker)
        return number

    def ask(self, placement: int, shard: int, method: str, arguments: Sequence[Any]) -> Any:
        """Have a method of a shard called; return the reference of its result, and of the seconds
        that it took.
        """
        return self.actors[shard % len(self.actors)].call.remote(
            (placement, shard), method, *arguments
        )

    def replace(self, worker: int, error: Exception) -> None:
        """Start another worker instead of one that was lost, and send it the shards of that one.

        Where none can be started, since a machine was lost with it, one of the others takes over
        the shards.
        """
        self.losses += 1
        reason = str(error).strip().splitlines()[0]
        if self.losses > MOST_LOSSES * len(self.actors):
            raise ConfigError(
                f"lost {self.losses} workers, the last one so: {reason} Look whether there "
                "is enough memory: every worker holds its share of the corpus, which more "
                "workers or task.limit=N make smaller.",
                parameter="executor",
                value="ray",
            ) from error
        log.warning(
            "executor=ray: worker %d was lost (%s) and is replaced; what it was doing is done "
            "again",
            worker,
            reason,
        )
        self._dismiss(worker)
        self.actors[worker] = self._successor(worker)
        for placement in range(len(self._placed)):
            self._send(placement, worker)

    def close(self) -> None:
        """Let the workers go."""
        import ray

        for actor in self.actors:
            ray.kill(actor)
        self._placed.clear()
        if self._files is not None:
            self._files.remove()

    def _kept(self, name: str, data: bytes) -> Any:
        """Keep the data of a shard, to be sent again where its worker is lost."""
        import ray

        return ray.put(data) if self._files is None else self._files.write(name, data)

    def _dismiss(self, worker: int) -> None:
        """End a worker that does not answer, if it is there all the same, unless it has taken over
        another's shards.
        """
        import ray

        if self.actors.count(self.actors[worker]) == 1:
            ray.kill(self.actors[worker])

    def _successor(self, worker: int) -> Any:
        """A new worker; or another one, where there is no CPU for a new one."""
        import ray

        actor, others = hire(), [one for place, one in enumerate(self.actors) if place != worker]
        ready, started = actor.ready.remote(), time.monotonic()
        while not ray.wait([ready], timeout=TICK)[0] and others:
            resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
            if (
                resources.get("CPU", 0) < len(set(others)) + 1
                or time.monotonic() - started > PATIENCE
            ):
                ray.kill(actor)
                log.warning(
                    "executor=ray: no CPU is free for another worker; worker %d's shards go to "
                    "one that is left",
                    worker,
                )
                return others[worker % len(others)]
        return actor

    def _send(self, placement: int, worker: int) -> None:
        make, shard_data = self._placed[placement]
        for shard in range(worker, len(shard_data), len(self.actors)):
            key = placement, shard
            self.made[key] = self.made.get(key, 0) + 1
            self.actors[worker].take.remote(key, make, shard_data[shard])


class RayPlacement:
    """Shards with the workers of a team.

    Parameters
    ----------
    team : Team
    number : int
        Of the placement.
    shards : int
    account : Account
        To which rounds, seconds and bytes are added.
    """

    def __init__(self, team: Team, number: int, shards: int, account: Account) -> None:
        self.team, self._number, self._shards, self.account = team, number, shards, account
        # of shards, which making of them has got what it is to keep
        self._restored: dict[int, int] = {}
        self._slow: set[int] = set()  # stragglers that were reported

    def call(
        self,
        method: str,
        *common: Any,
        each: Sequence[Any] | None = None,
        restore: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """Call a method of every shard; see `structopt.core.executor.Placement`."""
        sent = [self._put(argument) for argument in common]  # once, for all

        def ask(shard: int) -> Any:
            made = self.team.made[self._number, shard]
            if restore is not None and self._restored.get(shard) != made:
                self.team.ask(self._number, shard, "restore", [self._put(restore[shard])])
                self._restored[shard] = made
            argument = [] if each is None else [self._put(each[shard])]
            return self.team.ask(self._number, shard, method, [*sent, *argument])

        asked: list[Any] = []
        seconds: list[float] = []
        for shard in range(self._shards):
            while len(asked) < min(self._shards, shard + AHEAD * len(self.team.actors)):
                asked.append(ask(len(asked)))
            result, took = self._wait(asked, shard, ask)
            asked[shard] = None  # so that the object store may forget it
            seconds.append(took)
            yield result
        self.account.rounds += 1
        self.account.compute_seconds += sum(seconds)
        self.team.losses = 0
        self._report_stragglers(method, seconds)

    def renew(self) -> None:
        """Count all shards as made anew."""
        self._restored.clear()

    def _wait(self, asked: list[Any], shard: int, ask: Callable[[int], Any]) -> tuple[Any, float]:
        """Return the result of a shard; calls that a lost worker has not answered are sent to the
        one that replaces it.
        """
        import ray

        workers = len(self.team.actors)
        lost = (
            ray.exceptions.RayActorError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
        )
        while True:
            try:
                return self._get(asked[shard])
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, StructoptError):
                    raise error.cause from None
                raise
            except lost as error:
                self.team.replace(shard % workers, error)
                for other in range(shard, len(asked), workers):
                    asked[other] = ask(other)

    def _put(self, argument: Any) -> Any:
        """Put an argument into the object store; its reference."""
        import ray

        reference, seconds = timed(ray.put, argument)
        self.account.serialization_seconds = (self.account.serialization_seconds or 0.0) + seconds
        self.account.bytes_out = (self.account.bytes_out or 0) + _bytes(argument)
        return reference

    def _get(self, reference: Any) -> tuple[Any, float]:
        """Wait for a result, and fetch it, with the seconds that it took."""
        import ray

        self.account.waiting_seconds += timed(ray.wait, [reference])[1]
        fetched: tuple[Any, float]
        fetched, seconds = timed(ray.get, reference)
        self.account.serialization_seconds = (self.account.serialization_seconds or 0.0) + seconds
        self.account.bytes_in = (self.account.bytes_in or 0) + _bytes(fetched)
        return fetched

    def _report_stragglers(self, method: str, seconds: Sequence[float]) -> None:
        """Warn, once a worker, of workers whose shards take far longer than others."""
        usual = median(seconds)
        for shard, took in enumerate(seconds):
            worker = shard % len(self.team.actors)
            if took > SLOW * usual + LEAST and worker not in self._slow:
                self._slow.add(worker)
                log.warning(
                    "executor=ray: worker %d is slow: its shard %d took %.1f s for %s, half of "
                    "the shards %.1f s or less; all "
                    "others wait for it. See what else its machine does.",
                    worker,
                    shard,
                    took,
                    method,
                    usual,
                )


def _bytes(value: Any) -> int:
    """Bytes of a value as it is sent: those of its arrays, which are not copied for it, and of
    everything else pickled.
    """
    from ray import cloudpickle

    buffers: list[Any] = []
    rest = len(cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append))  # type: ignore[no-untyped-call]
    return rest + sum(int(buffer.raw().nbytes) for buffer in buffers)
