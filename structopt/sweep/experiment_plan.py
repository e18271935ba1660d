"""What an experiment's file asks for: read, checked, and made into jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product as cartesian
from pathlib import Path
from typing import Any

from structopt.config.overrides import key_of, spelled_out
from structopt.errors import ConfigError, did_you_mean

SCALES = ("small", "full")
SEPARATOR = ", "
Choice = tuple[str, str]
"""An override and what it adds to the label."""


@dataclass(frozen=True)
class Setting:
    """A row of a table or a curve of a figure; `grid` is None where the experiment's is meant."""

    overrides: tuple[str, ...] = ()
    grid: Mapping[str, Sequence[Any]] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """What is different at a scale."""

    overrides: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    grid: Mapping[str, Sequence[Any]] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """An experiment's settings, grid and files, and what is different at each scale."""

    experiment: str
    title: str
    report: str
    settings: Mapping[str, Setting]
    grid: Mapping[str, Sequence[Any]]
    files: Mapping[str, str]
    scales: Mapping[str, Scale]

    @classmethod
    def read(cls, experiment: str, given: Mapping[str, Any]) -> Plan:
        """Read the keys under ``hydra.sweeper``.

        Raises
        ------
        ConfigError
            If a key is unknown, missing or not of its form.
        """
        place = f"{experiment}: hydra.sweeper"
        _known(place, given, ("title", "report", "files", "settings", "grid", *SCALES))
        for key in ("title", "report", "settings"):
            if not given.get(key):
                raise ConfigError(f"{place}.{key} is missing. An experiment needs a title, a report and settings.")
        return cls(
            experiment, str(given["title"]), str(given["report"]),
            _settings(place, given["settings"]), _grid(place, given.get("grid")) or {}, _files(place, given.get("files")),
            {scale: _scale(f"{place}.{scale}", given.get(scale)) for scale in SCALES},
        )  # fmt: skip

    def scale(self, typed: str | None, data: str | None) -> str:
        """Return the scale to run at: what is typed, else full where there is data.

        Raises
        ------
        ConfigError
            If there is no such scale, or it needs data.
        """
        if typed is not None and typed not in SCALES:
            raise ConfigError(f"scale={typed}: there is no such scale.{did_you_mean(typed, SCALES)} Scales: {', '.join(SCALES)}.")
        if typed == "full" and data is None and self._paths("full"):
            raise ConfigError(f"scale=full needs the experiment's data: type data=DIR, the folder of {self._named('full')}.")
        return typed or ("small" if data is None else "full")

    def chosen(self, scale: str) -> dict[str, Setting]:
        """Return the settings of a scale, with the grid and files that are meant."""
        changes = self.scales[scale]
        settings = {**self.settings, **changes.settings}
        unknown = [name for name in changes.only or () if name not in settings]
        if unknown:
            near = did_you_mean(unknown[0], settings)
            raise ConfigError(f"{self.experiment}: hydra.sweeper.{scale}.only: there is no setting '{unknown[0]}'.{near}")
        shared = {**self.files, **changes.files}
        return {
            name: replace(setting, grid=self._grid(setting, changes), files={**shared, **setting.files})
            for name, setting in settings.items()
            if changes.only is None or name in changes.only
        }

    def _grid(self, setting: Setting, changes: Scale) -> Mapping[str, Sequence[Any]]:
        if changes.grid is not None:
            return changes.grid
        return self.grid if setting.grid is None else setting.grid

    def check_files(self, data: str | None, scale: str) -> None:
        """Refuse, by name, files that are not in the folder `data`."""
        if data is None:
            return
        missing = [path for path in self._paths(scale) if not (Path(data) / path).is_file()]
        if missing:
            raise ConfigError(f"data={data}: {self.experiment} needs files that are not in that folder: {', '.join(missing)}.")

    def _paths(self, scale: str) -> list[str]:
        return list(dict.fromkeys(path for setting in self.chosen(scale).values() for path in setting.files.values()))

    def _named(self, scale: str) -> str:
        return ", ".join(self._paths(scale)) or "its files"

    def jobs(self, data: str | None, scale: str, always: Sequence[str], typed: Sequence[Sequence[Choice]]) -> list[list[str]]:
        """Return the overrides of every job.

        Parameters
        ----------
        data : str or None
            Folder of the files.
        scale : str
            ``small`` or ``full``.
        always : sequence of str
            Overrides that every job begins with.
        typed : sequence of sequence of (override, part of the label)
            Combinations of what the user typed; every one is tried with every setting.
        """
        found = []
        for name, setting in self.chosen(scale).items():
            files = [f"{key}={_quoted(str(Path(data) / path))}" for key, path in setting.files.items()] if data else []
            for values, combination in cartesian(product([_choices(*one) for one in (setting.grid or {}).items()]), typed):
                label = SEPARATOR.join([name, *(part for _, part in (*values, *combination) if part)])
                first = [*always, *files, *self.scales[scale].overrides, *setting.overrides]
                last = [word for word, _ in (*values, *combination)]
                found.append(_last_of_each(spelled_out([*first, f"label={_quoted(label)}", *last])))
        return found


def setting(label: str) -> str:
    """Return the name of the setting from a job's label."""
    return label.partition(SEPARATOR)[0]


def product(choices: Sequence[Sequence[Choice]]) -> list[list[Choice]]:
    """Return every combination of one choice each, the last of them moving fastest."""
    return [list(one) for one in cartesian(*choices)]


def _last_of_each(words: Sequence[str]) -> list[str]:
    """Drop the overrides that a later one of the same key replaces."""
    last = {key_of(word): word for word in words}
    return [word for word in dict.fromkeys(words) if last[key_of(word)] is word]


def _choices(key: str, values: Sequence[Any]) -> list[Choice]:
    return [(f"{key}={_text(value)}", f"{key.lstrip('+').rpartition('.')[2]}={_text(value)}") for value in values]


def _text(value: Any) -> str:
    """A value of a YAML file as it is typed on the command line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'") if "'" in text else text
    return f"'{escaped}'"


def _settings(place: str, given: Any) -> dict[str, Setting]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}.settings: this must be NAME: [override, ...].")
    return {str(name): _setting(f"{place}.settings.{name}", str(name), value) for name, value in given.items()}


def _setting(place: str, name: str, given: Any) -> Setting:
    if SEPARATOR in name:
        raise ConfigError(f"{place}: the name of a setting cannot contain '{SEPARATOR}', which ends it in labels.")
    if given is None or isinstance(given, list | tuple):
        return Setting(_overrides(place, given))
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}: this must be a list of overrides, or have overrides, grid and files.")
    _known(place, given, ("overrides", "grid", "files"))
    overrides = _overrides(f"{place}.overrides", given.get("overrides"))
    return Setting(overrides, _grid(place, given.get("grid")), _files(place, given.get("files")))


def _scale(place: str, given: Any) -> Scale:
    if given is None:
        return Scale()
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}: this must have overrides, settings, only, grid or files.")
    _known(place, given, ("overrides", "settings", "only", "grid", "files"))
    only = given.get("only")
    return Scale(
        _overrides(f"{place}.overrides", given.get("overrides")),
        _settings(place, given.get("settings") or {}),
        None if only is None else tuple(str(name) for name in only),
        _grid(place, given.get("grid")),
        _files(place, given.get("files")),
    )


def _overrides(place: str, given: Any) -> tuple[str, ...]:
    words = [] if given is None else given
    if not isinstance(words, list | tuple):
        raise ConfigError(f"{place}: this must be a list of overrides, such as [optimizer=dca, optimizer.C=1].")
    wrong = [word for word in words if not isinstance(word, str) or not ("=" in word or word.startswith("~"))]
    if wrong:
        raise ConfigError(f"{place}: '{wrong[0]}' is no override. Write KEY=VALUE, such as optimizer.C=1.")
    return tuple(words)


def _grid(place: str, given: Any) -> dict[str, list[Any]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}.grid: this must be KEY: [value, ...], such as optimizer.C: [0.1, 1].")
    for key, values in given.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"{place}.grid.{key}: this must be a list of values, such as optimizer.C: [0.1, 1].")
    return {str(key): list(values) for key, values in given.items()}


def _files(place: str, given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}.files: this must be KEY: path inside data=DIR, such as task.train: conll2003/eng.train.gz.")
    return {str(key): str(path) for key, path in given.items()}


def _known(place: str, given: Mapping[str, Any], keys: Sequence[str]) -> None:
    unknown = [key for key in given if key not in keys]
    if unknown:
        near = did_you_mean(str(unknown[0]), keys)
        raise ConfigError(f"{place}: there is no key '{unknown[0]}' here.{near} Keys: {', '.join(keys)}.")
