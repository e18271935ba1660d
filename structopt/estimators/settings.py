"""The settings of an estimator: choices of components as overrides, and all other values as they
are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from structopt.config import registry
from structopt.config.overrides import HYDRA, SHORT
from structopt.config.presets import values_of
from structopt.config.search_path import groups
from structopt.config.unreadable_words import readable
from structopt.config.values import plain_value
from structopt.core.component import Component, parameters_of
from structopt.errors import ConfigError

PLAIN = re.compile(r"[A-Za-z_][\w./+-]*")
RESERVED = {"true", "false", "null", "inf", "nan"}
"""Texts that Hydra would read as other values, in lower case."""

Overrides = Mapping[str, Any] | Sequence[str] | None
"""Further settings: by their dotted keys, or as overrides of the command line."""


class Settings(NamedTuple):
    """The settings of a run.

    Attributes
    ----------
    overrides : list of str
        Choices of components, and overrides that were given as text.
    values : dict
        Values by dotted keys, which go into the config without being parsed.
    """

    overrides: list[str]
    values: dict[str, Any]

    @classmethod
    def of(cls, settings: Mapping[str, Any], overrides: Overrides) -> Self:
        """Divide settings and further `overrides` by their keys; None leaves a setting out.

        Raises
        ------
        ConfigError
            If the overrides are neither a mapping nor a list.
        """
        further = further_settings(overrides)
        every = {
            key: value
            for key, value in settings.items()
            if value is not None and key not in further
        }
        if isinstance(overrides, Mapping):
            every |= overrides
        parsed = groups()
        words = [f"{key}={typed(value)}" for key, value in every.items() if _is_parsed(key, parsed)]
        values = {
            SHORT.get(key, key): plain_value(key, value)
            for key, value in every.items()
            if not _is_parsed(key, parsed)
        }
        return cls([*words, *([] if isinstance(overrides, Mapping) else overrides or [])], values)

    @property
    def words(self) -> list[str]:
        """All settings as overrides of the command line, components first."""
        words = [
            *self.overrides,
            *(f"{key}={typed(value)}" for key, value in self.values.items()),
        ]
        return sorted(words, key=lambda word: "." in word.partition("=")[0])


def of_component(kind: str, component: Component) -> dict[str, Any]:
    """Return the settings of a component by their keys: its word, and its arguments.

    Raises
    ------
    ConfigError
        For a class without a word.
    """
    parameters = parameters_of(component)
    words = [word for word, one in registry.installed(kind).items() if one.is_of(type(component))]
    if not words:
        raise ConfigError(
            f"The class {type(component).__name__} has no word.",
            parameter=kind,
            remedy=f'Give it one: @structopt.register("{kind}", WORD).',
        )
    alike = [word for word in words if _agrees(kind, word, parameters)]
    nodes = {
        f"{kind}.{key}": _word_of(key, one) if isinstance(one, Component) else one
        for key, one in parameters.items()
        if one is not None
    }
    return {kind: [*alike, *words][0], **nodes}


def _agrees(kind: str, word: str, parameters: Mapping[str, Any]) -> bool:
    """Whether the config file of a word sets arguments, and none to another value."""
    values = values_of(kind, word)
    made = registry.create(kind, {"name": word, **values})
    return bool(values) and all(
        _same(getattr(made, key), parameters[key]) for key in values if key in parameters
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Component):
        return type(one) is type(other) and parameters_of(one) == parameters_of(other)
    return bool(one == other)


def _word_of(kind: str, component: Component) -> Any:
    """Return the word of a component that is an argument of another."""
    settings = of_component(kind, component)
    if len(settings) > 1:
        raise ConfigError(
            f"A {type(component).__name__} with arguments cannot be a setting.", parameter=kind
        )
    return settings[kind]


def further_settings(overrides: Overrides) -> dict[str, Any]:
    """Return `overrides` by key; the values of a list are text.

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
    if isinstance(overrides, Mapping):
        return dict(overrides)
    return dict(word.partition("=")[::2] for word in overrides or ())


def typed(value: Any) -> str:
    """Return a value as an override of the command line has it: ``true``, ``null``, ``inf``,
    ``[1,2]``, ``{O: 0.5}``; text has quotes if need be.
    """
    value = plain_value("value", value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        text = "{" + ", ".join(f"{key}: {typed(one)}" for key, one in value.items()) + "}"
        return text if readable(f"key={text}") else _quoted(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return "[" + ",".join(map(typed, value)) + "]"
    text = str(value)
    if not isinstance(value, str) or (PLAIN.fullmatch(text) and text.lower() not in RESERVED):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _is_parsed(key: str, parsed: Sequence[str]) -> bool:
    """Whether Hydra has to read a setting: a choice of a group, or a key with a sign."""
    return key in parsed or key == "experiment" or key[:1] in "+~" or bool(HYDRA.match(key))
