"""A worker process of Ray."""

from __future__ import annotations

import os
from typing import Any

from structopt.core.executor import timed
from structopt.executor.shard_files import ShardFile


def hire() -> Any:
    """Start a worker."""
    import ray

    return ray.remote(num_cpus=1, max_restarts=0)(Worker).remote()


class Worker:
    """Holds some shards in a process of its own, and calls their methods."""

    def __init__(self) -> None:
        self._shards: dict[tuple[int, int], Any] = {}

    def ready(self) -> int:
        """Answer, once it has started, with the number of its process."""
        return os.getpid()

    def take(self, key: tuple[int, int], make: bytes, data: bytes | ShardFile) -> None:
        """Make a shard of its data; an error is kept until the shard is called."""
        from ray import cloudpickle

        try:
            content = data.read() if isinstance(data, ShardFile) else data
            self._shards[key] = cloudpickle.loads(make)(cloudpickle.loads(content))
        except Exception as error:
            self._shards[key] = error

    def call(self, key: tuple[int, int], method: str, *arguments: Any) -> tuple[Any, float]:
        """Call a method of a shard; the result, and the seconds that it took."""
        if isinstance(self._shards[key], Exception):
            raise self._shards[key]
        return timed(getattr(self._shards[key], method), *arguments)
