"""Checks of the keys that a user types in a mapping of the config."""

from __future__ import annotations

from collections.abc import Collection

from structopt.errors import ConfigError, did_you_mean


def check_keys(node: str, keys: Collection[str], known: Collection[str]) -> None:
    """Raise ConfigError for the first key of a config node that is not known."""
    for key in keys:
        if key not in known:
            raise ConfigError(
                f"There is no key '{node}.{key}'.{did_you_mean(key, known)} Keys: "
                f"{', '.join(known)}."
            )
