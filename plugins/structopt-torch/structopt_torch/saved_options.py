"""Options of a saved model's network, checked before its class is made of them again."""

from __future__ import annotations

import inspect
from typing import Any

from structopt.plugin import ConfigError
from structopt.plugin.provisional import SavedState


def checked_options(cls: type, state: SavedState) -> dict[str, Any]:
    """Options that a constructor takes: each of the type of its default, and ``cuda`` replaced by
    ``auto``.

    Raises
    ------
    ModelError
        Where an entry is no parameter of the class, or of another type.
    """
    parameters = inspect.signature(cls).parameters
    for name, value in state.values.items():
        default = parameters[name].default if name in parameters else None
        kinds = (
            (int, float)
            if isinstance(default, float)
            else (list, tuple)
            if isinstance(default, tuple)
            else type(default)
        )
        if (
            name not in parameters
            or not isinstance(value, kinds)
            or isinstance(value, bool) != isinstance(default, bool)
        ):
            state.refuse(name, f"an option of {cls.__name__}")
    options = dict(state.values)
    try:
        cls(**options | {"device": "cpu"})
    except ConfigError as error:
        state.refuse(next(iter(options), "options"), f"options that fit together ({error})")
    return options | {"device": "cpu" if options.get("device") == "cpu" else "auto"}
