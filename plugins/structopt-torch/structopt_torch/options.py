"""Checks of the options that networks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structopt.plugin import ConfigError

LEAST = {
    "word_size": 0,
    "word_min_count": 1,
    "ngram_size": 0,
    "ngram_longest": 1,
    "ngram_buckets": 1,
    "tag_size": 0,
    "window": 0,
    "hidden": 2,
    "layers": 1,
    "arc_size": 1,
    "relation_size": 1,
}
"""The least that each whole number may be."""


def check_network(options: Mapping[str, Any]) -> None:
    """Refuse sizes and shares out of range.

    Raises
    ------
    ConfigError
        With the key, the value and the range.
    """
    for name, value in options.items():
        least = LEAST.get(name)
        if least is not None and not least <= value <= 2**24:
            raise ConfigError(
                f"features.{name}={value} must be a whole number from {least} to {2**24}."
            )
        if "dropout" in name and not 0 <= value < 1:
            raise ConfigError(f"features.{name}={value} must be at least 0 and below 1.")
    encoder = options.get("encoder", "bilstm")
    if encoder not in ("bilstm", "window"):
        raise ConfigError(f"features.encoder={encoder} is none of: bilstm, window.")
    if encoder == "bilstm" and options["hidden"] % 2:
        raise ConfigError(
            f"features.hidden={options['hidden']} must be even: half of it reads in each direction."
        )
