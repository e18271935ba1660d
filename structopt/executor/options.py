"""Checks of the options that all executors have."""

from __future__ import annotations

from structopt.errors import ArgumentError


def check(workers: int | None, shards: int, mixing: int | None) -> None:
    """Refuse numbers of workers and shards that are too small."""
    if workers is not None and workers < 1:
        raise ArgumentError(
            "must be at least 1, or `None` for one worker per core.",
            parameter="workers",
            value=workers,
        )
    if shards < 1:
        raise ArgumentError("must be at least 1.", parameter="shards", value=shards)
    if mixing is not None and mixing < 0:
        raise ArgumentError(
            "must be at least 0; 0 and `None` mean no mixing.",
            parameter="mixing",
            value=mixing,
        )
