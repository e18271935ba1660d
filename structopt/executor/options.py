"""Checks of the options that all executors have."""

from __future__ import annotations

from structopt.errors import ConfigError


def check(workers: int | None, shards: int, mixing: int | None) -> None:
    """Refuse numbers of workers and shards that are too small."""
    if workers is not None and workers < 1:
        raise ConfigError(
            f"executor.workers={workers} must be at least 1 (or null, for one a core)."
        )
    if shards < 1:
        raise ConfigError(f"executor.shards={shards} must be at least 1.")
    if mixing is not None and mixing < 0:
        raise ConfigError(
            f"executor.mixing={mixing} must be at least 0 (0 or null, for no mixing)."
        )
