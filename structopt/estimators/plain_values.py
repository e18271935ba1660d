"""Values from Python as a config holds them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np

from structopt.errors import ArgumentError


def plain_value(name: str, value: Any) -> Any:
    """Return a value as YAML can hold it.

    Parameters
    ----------
    name : str
        Name of the setting, for messages.
    value : object
        None, a boolean, a number, text, a path, a list, tuple or iterator of these, or a mapping
        whose keys are text or numbers. Arrays and NumPy scalars are converted. A set becomes a
        sorted list.

    Raises
    ------
    ArgumentError
        For an object of another type.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, PathLike):
        return str(fspath(value))
    if isinstance(value, Mapping):
        return {_key(name, key): plain_value(name, one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain_value(name, one) for one in value), key=str)
    if isinstance(value, (list, tuple, range)) or hasattr(type(value), "__next__"):
        return [plain_value(name, one) for one in value]
    raise ArgumentError(
        f"must be a number, text, a list or a mapping, not of type {type(value).__name__}.",
        parameter=name,
        value=value,
    )


def _key(name: str, key: Any) -> str:
    """A key of a mapping as text: the label 0 is ``0``."""
    key = key.item() if isinstance(key, np.generic) else key
    if not isinstance(key, (str, int, float)):
        raise ArgumentError("must have keys that are text or numbers.", parameter=name, value=key)
    return str(key)
