"""Checks of the options that all executors have."""

from __future__ import annotations

from structopt.errors import ConfigError


def check(workers: int | None, shards: int, mixing: int | None) -> None:
    """Refuse numbers of workers and shards that are too small."""
    if workers is not None and workers < 1:
        raise ConfigError(
            "must be at least 1, or null for one worker per core.",
            parameter="executor.workers",
            value=workers,
        )
    if shards < 1:
        raise ConfigError("must be at least 1.", parameter="executor.shards", value=shards)
    if mixing is not None and mixing < 0:
        raise ConfigError(
            "must be at least 0; 0 and null mean no mixing.",
            parameter="executor.mixing",
            value=mixing,
        )
