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

from structopt.core.executor import Account, Executor, in_order
from structopt.errors import ArgumentError, ConfigError
from structopt.executor import options
from structopt.executor.ray_workers import RayPlacement, Team
from structopt.process.cores import cores


class Ray(Executor):
    """Shards in worker processes, on this machine or on others; what is computed is the same as in
    threads, to the last bit.

    Every shard stays with its worker. Weights go out, once for all; sums come back. A worker that
    is lost is replaced: its shards are placed again, from the copies in Ray's object store, and
    what was asked of them is asked again.

    Parameters
    ----------
    workers : int or None
        Worker processes, each with one CPU and one thread; None takes one a core of this machine.
    address : str or None
        Of a running cluster, such as ``auto`` or ``ray://head:10001``; None starts Ray on this
        machine, and shuts it down.
    shards : int
        Into how many shards evaluations of loss and gradient are divided: no more workers than that
        have work. On it the last bits of results depend, and not on the number of workers.
    mixing : int or None
        Into how many shards the passes of an online optimizer are divided, to be mixed or added up;
        None: as many as there are workers.
    folder : str or None
        A folder that all machines see, or a URL that fsspec understands: shards are written there
        once, and every worker opens its own, a replaced one too. None keeps them in Ray's object
        store, in the memory of this machine.
    """

    remote = True

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        shards: int = 8,
        mixing: int | None = None,
        folder: str | None = None,
    ) -> None:
        options.check(workers, shards, mixing)
        if find_spec("ray") is None:
            raise ConfigError(
                "needs Ray.",
                parameter="executor",
                value="ray",
                remedy="Run: pip install 'structopt-trainer[ray]', or use Threads().",
            )
        if address is not None and workers is None:
            raise ArgumentError(
                "names a cluster: say how much of it to take, by `workers=N`.",
                parameter="address",
            )
        self.workers, self.address, self.shards = workers or cores(), address, shards
        self.folder = folder
        self.mixing = self.workers if mixing is None else mixing
        self.account = Account(serialization_seconds=0.0, bytes_out=0, bytes_in=0)
        self._started = False
        self._team: Team | None = None

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard, in threads of this process; results in shard order."""
        return list(in_order(function, shards, min(self.workers, cores())))

    def place(self, make: Callable[[Any], Any], shard_data: Sequence[Any]) -> RayPlacement:
        """Send the data of every shard to its worker, which makes the shard."""
        if self._team is None:
            self._start()
            self._team = Team(self.workers, self.folder)
        return RayPlacement(
            self._team,
            self._team.place(make, shard_data),
            len(shard_data),
            self.account or Account(),
        )

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

        where = "on this machine" if self.address is None else f"at `address={self.address!r}`"
        try:
            if not ray.is_initialized():
                with _own_handler():
                    self._join()
            there: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        # Ray raises plain exceptions, or exits, if one of its processes ends as it starts
        except (Exception, SystemExit) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(
                f"executor=ray: Ray could not be reached or started {where}: {reason}",
                kinds={"address": "executor"},
            ) from error
        if there.get("CPU", 0) < self.workers:
            raise ConfigError(
                f"`workers={self.workers}`, of one CPU each, but Ray has {there.get('CPU', 0):g}.",
                remedy="Take fewer workers.",
                kinds={"workers": "executor"},
            )

    def _join(self) -> None:
        import ray

        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address is None:
            ray.init("local", num_cpus=self.workers, include_dashboard=False, **quiet)
        else:
            ray.init(self.address, **quiet)
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
