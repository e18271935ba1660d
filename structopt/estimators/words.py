"""Parameters of estimators as the words that one would type on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structopt.errors import ConfigError

PLAIN = re.compile(r"[A-Za-z_][\w./+-]*")
RESERVED = {"true", "false", "null", "inf", "nan"}
"""Texts that Hydra would not take for texts, in lower case."""

Overrides = Mapping[str, Any] | Sequence[str] | None
"""Further settings: by their dotted keys, or as words."""


def typed(value: Any) -> str:
    """Return a value as one would type it: ``true``, ``null``, ``inf``, ``[1,2]``, ``{O: 0.5}``,
    texts quoted where need be.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{typed(str(key))}: {typed(one)}" for key, one in value.items()) + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(typed, value)) + "]"
    text = str(value)
    if not isinstance(value, str) or (PLAIN.fullmatch(text) and text.lower() not in RESERVED):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def words_of(settings: Mapping[str, Any], overrides: Overrides) -> list[str]:
    """Return the words for settings by their keys, without those that are None, and for overrides.

    Components come first, since their parameters are typed on them.

    Raises
    ------
    ConfigError
        If the overrides are neither a mapping nor a list.
    """
    if isinstance(overrides, str) or not isinstance(overrides, (Mapping, Sequence, type(None))):
        raise ConfigError(
            "must be a mapping, {'optimizer.eta': 0.1}, or a list, ['optimizer.eta=0.1'].",
            parameter="overrides",
            value=overrides,
        )
    further = (
        overrides
        if isinstance(overrides, Mapping)
        else dict(word.partition("=")[::2] for word in overrides or ())
    )
    words = [
        f"{key}={typed(value)}"
        for key, value in settings.items()
        if value is not None and key not in further
    ]
    if isinstance(overrides, Mapping):
        words += [f"{key}={typed(value)}" for key, value in overrides.items()]
    else:
        words += list(overrides or ())
    return sorted(words, key=lambda word: "." in word.partition("=")[0])
