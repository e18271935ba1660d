"""Work on several threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from structopt.errors import ConfigError


class Threads:
    """Apply a function to the shards in threads. Kernels release the GIL, so that they run side by side.

    Parameters
    ----------
    workers : int or None
        Number of threads; None takes one a core.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"executor.workers={workers} must be at least 1 (or null, for one a core).")
        self.workers = workers or os.cpu_count() or 1

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard; results in shard order, whichever finishes first."""
        if self.workers == 1 or len(shards) <= 1:
            return [function(shard) for shard in shards]
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(function, shards))
