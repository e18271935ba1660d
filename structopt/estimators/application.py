"""The application underneath an estimator: the settings of a run, its config, and training.

No other module of this package imports `structopt.config` or `structopt.run`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from structopt.config import plain_composition, registering, registry, validation
from structopt.config.overrides import HYDRA, SHORT, check_single_run
from structopt.config.presets import values_of
from structopt.config.search_path import groups
from structopt.core.component import Component, parameters_of
from structopt.core.data.in_memory import InMemory
from structopt.errors import ArgumentError, ConfigError
from structopt.estimators.plain_values import plain_value
from structopt.model.model import Model
from structopt.run import in_memory
from structopt.run.evaluation import Metrics

PLAIN = re.compile(r"[A-Za-z_][\w./+-]*")
RESERVED = {"true", "false", "null", "inf", "nan"}
"""Texts that Hydra would read as other values, in lower case."""

Overrides = Mapping[str, Any] | Sequence[str] | None
"""Further settings: by their dotted keys, or as overrides of the command line."""


class Settings(NamedTuple):
    """The settings of a run.

    Attributes
    ----------
    choices : dict
        Names of components by their kinds, and keys with a sign, which Hydra reads.
    values : dict
        Plain values by dotted keys, which go into the config without being parsed.
    text : tuple of str
        Overrides as the command line takes them.
    """

    choices: dict[str, Any]
    values: dict[str, Any]
    text: tuple[str, ...] = ()

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
        choices = {key: value for key, value in every.items() if _is_parsed(key, parsed)}
        values = {
            SHORT.get(key, key): plain_value(key, value)
            for key, value in every.items()
            if key not in choices
        }
        return cls(
            choices, values, () if isinstance(overrides, Mapping) else tuple(overrides or ())
        )

    @property
    def keys(self) -> list[str]:
        """The keys of all settings; of text, the text."""
        return [*self.choices, *self.text, *self.values]

    @property
    def typed(self) -> list[str]:
        """The choices and the text as overrides of the command line."""
        return [*(f"{key}={typed(value)}" for key, value in self.choices.items()), *self.text]

    @property
    def words(self) -> list[str]:
        """All settings as overrides of the command line, components first."""
        words = [
            *self.typed,
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
        from structopt.config.unreadable_words import readable

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


def component(kind: str, chosen: Any) -> Any:
    """Return the component that a parameter chooses: an object, or the one that a word names.

    Raises
    ------
    ConfigError
        For unknown words.
    ArgumentError
        For an object of another kind.
    """
    if isinstance(chosen, str):
        return registering.component(kind, chosen)
    if not isinstance(chosen, registry.contract(kind)):
        raise ArgumentError(
            f"must be a component of the kind {kind}, or its word.", parameter=kind, value=chosen
        )
    return chosen


def is_kind(name: str) -> bool:
    """Whether a config has a node of this name for a component."""
    return name in registry.KINDS


def component_parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of all components of a config, as ``optimizer__eta``."""
    return {
        f"{kind}__{key}": value
        for kind in registry.KINDS
        for key, value in config.get(kind, {}).items()
        if key != "name"
    }


def bound_to_data(config: Mapping[str, Any]) -> str:
    """Return why the optimizer of a config cannot continue with other data; empty if it can."""
    return str(registry.create("optimizer", config["optimizer"]).plan.bound)


class Fitted(NamedTuple):
    """Result of training: the model, and its metrics by split."""

    model: Model
    metrics: Metrics


def composed(settings: Settings, further: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the config of a run, checked, with `further` values by their keys."""
    values = {**settings.values, **(further or {})}
    config = None if settings.text else plain_composition.compose(settings.choices, values)
    if config is None:
        from structopt.config import composition

        check_single_run(settings.typed)
        config = composition.compose(settings.typed, values)
    return validation.validate(config, [*settings.keys, *values])


EARLIER = {"warm_start.model": "memory", "warm_start.state": "new"}
"""Settings of training that continues from a model in memory."""
UNTRACKED = "none"


def fitted(
    settings: Settings,
    splits: Mapping[str, InMemory],
    folder: str | Path | None,
    earlier: Model | None = None,
) -> Fitted:
    """Train as the command line would, on splits in memory.

    Parameters
    ----------
    settings : Settings
    splits : mapping of split to InMemory
        ``train``, and perhaps ``dev``.
    folder : str or Path or None
        The run folder. None: no files, unless a tracker records the run, whose folder is then
        temporary.
    earlier : Model or None
        The model that training continues from (`structopt.partial_fit`).
    """
    config = composed(settings, EARLIER if earlier is not None else None)
    if folder is None and config["tracker"]["name"] == UNTRACKED:
        return Fitted(*in_memory.train(config, splits, earlier))
    return _fitted_in_folder(config, splits, folder, earlier)


def _fitted_in_folder(
    config: Mapping[str, Any],
    splits: Mapping[str, InMemory],
    folder: str | Path | None,
    earlier: Model | None,
) -> Fitted:
    from structopt.config import saved_config
    from structopt.process import folder_lock
    from structopt.run import stages

    plotted = folder is not None and find_spec("matplotlib") is not None
    with _run_folder(folder) as path, folder_lock.locked(path):
        saved_config.save(config, path)
        model = stages.train(config, path, memory=splits, pictures=plotted, earlier=earlier)
        return Fitted(model, json.loads((path / "metrics.json").read_text(encoding="utf8")))


@contextmanager
def _run_folder(folder: str | Path | None) -> Iterator[Path]:
    if folder is not None:
        yield Path(folder)
        return
    with TemporaryDirectory(prefix="structopt-") as path:
        yield Path(path)
