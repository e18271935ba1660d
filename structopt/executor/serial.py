"""Work on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Serial:
    """Apply a function to one shard after the other, in this thread.

    Parameters
    ----------
    workers : int or None
        Must be 1 or None; for more, use ``executor=threads``.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = 1

    def map(self, function: Callable[[Any], Any], shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard."""
        return [function(shard) for shard in shards]
