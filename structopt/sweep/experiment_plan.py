"""The plan in an experiment's file: read, checked, and turned into jobs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product as cartesian
from pathlib import Path
from typing import Any

from structopt.config.overrides import key_of, spelled_out
from structopt.core.data.file_sets import data_path
from structopt.errors import ConfigError, did_you_mean

SCALES = ("small", "full")
SEEDS = {"small": (0,), "full": (0, 1, 2)}
"""Of every setting, where the plan does not say others."""
TUNING = ("tail", "dev")
TAIL = 0.2
"""The share of the training file that values are chosen on with ``tuning=tail``."""
SEPARATOR = ", "
NAMED = " of "
"""Between the key of several named files and the name of each, in `Setting.files`."""
Choice = tuple[str, str]
"""An override, and what it adds to the label."""


@dataclass(frozen=True)
class Setting:
    """A row of a table or a curve of a figure; where `grid` is None, the experiment's grid
    counts.
    """

    overrides: tuple[str, ...] = ()
    grid: Mapping[str, Sequence[Any]] | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def divisible(self) -> bool:
        """Whether scores on a dev split choose its values: it names one, or no files at all."""
        return not self.files or any(key.endswith(".dev") for key in self.files)

    @property
    def test_files(self) -> list[str]:
        """The files of its test split."""
        return [path for key, path in self.files.items() if key.endswith(".test")]


@dataclass(frozen=True)
class Scale:
    """What a scale changes: overrides of all jobs, settings, grid, files and seeds."""

    overrides: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    grid: Mapping[str, Sequence[Any]] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Plan:
    """An experiment's settings, grid, files and seeds, and what each scale changes."""

    experiment: str
    title: str
    report: str
    settings: Mapping[str, Setting]
    grid: Mapping[str, Sequence[Any]]
    files: Mapping[str, str]
    scales: Mapping[str, Scale]
    seeds: tuple[int, ...] | None = None

    @classmethod
    def read(cls, experiment: str, node: Mapping[str, Any]) -> Plan:
        """Read the keys under ``hydra.sweeper``.

        Raises
        ------
        ConfigError
            If a key is unknown, missing or not of its form.
        """
        where = f"{experiment}: hydra.sweeper"
        _known(where, node, ("title", "report", "files", "settings", "grid", "seeds", *SCALES))
        for key in ("title", "report", "settings"):
            if not node.get(key):
                raise ConfigError(
                    f"{where}.{key} is missing. An experiment needs a title, a report and settings."
                )
        return cls(
            experiment,
            str(node["title"]),
            str(node["report"]),
            _settings(where, node["settings"]),
            _grid(where, node.get("grid")) or {},
            _files(where, node.get("files")),
            {scale: _scale(f"{where}.{scale}", node.get(scale)) for scale in SCALES},
            _seeds(where, node.get("seeds")),
        )

    def scale(self, typed: str | None, data: str | None) -> str:
        """Return the scale to run at: what is typed, else full where there is data.

        Raises
        ------
        ConfigError
            If there is no such scale, or it needs data.
        """
        if typed is not None and typed not in SCALES:
            raise ConfigError(
                f"scale={typed}: there is no such scale.{did_you_mean(typed, SCALES)} Scales: "
                f"{', '.join(SCALES)}."
            )
        if typed == "full" and data is None and self._paths("full"):
            raise ConfigError(
                "needs the experiment's data",
                parameter="scale",
                value="full",
                remedy=f"set data=DIR, the folder of {self._named('full')}.",
            )
        return typed or ("small" if data is None else "full")

    def tuning(self, typed: str | None, data: str | None, scale: str) -> str:
        """Return what values are chosen on: what is typed, else at full scale the tail, unless
        there are test files.

        Raises
        ------
        ConfigError
            If there is no such part, or the experiment chooses nothing.
        """
        if typed is not None and typed not in TUNING:
            raise ConfigError(
                f"tuning={typed}: there is no such part.{did_you_mean(typed, TUNING)} Parts: "
                f"{', '.join(TUNING)}."
            )
        divisible = any(setting.divisible for setting in self.chosen(scale).values())
        if typed == "tail" and not divisible:
            name = self.experiment
            raise ConfigError(
                f"tuning=tail: {name} chooses nothing by scores and trains on whole files.",
                remedy="Leave it out.",
            )
        files = any(setting.files for setting in self.chosen(scale).values())
        wanted = (
            scale == "full"
            and data is not None
            and files
            and divisible
            and not self._tested(data, scale)
        )
        return typed or ("tail" if wanted else "dev")

    def _tested(self, data: str, scale: str) -> bool:
        """Whether every setting with a dev split has a test file that is there."""
        settings = [setting for setting in self.chosen(scale).values() if setting.divisible]
        return all(
            setting.test_files and _all_there(data, setting.test_files) for setting in settings
        )

    def seeds_of(self, scale: str) -> tuple[int, ...]:
        """Return the seeds of every setting at a scale."""
        own = self.scales[scale].seeds
        return own or (SEEDS[scale] if scale == "small" or self.seeds is None else self.seeds)

    def chosen(self, scale: str) -> dict[str, Setting]:
        """Return the settings of a scale, each with its grid and files."""
        changes = self.scales[scale]
        settings = {**self.settings, **changes.settings}
        unknown = [name for name in changes.only or () if name not in settings]
        if unknown:
            near = did_you_mean(unknown[0], settings)
            raise ConfigError(
                f"{self.experiment}: hydra.sweeper.{scale}.only: there is no setting "
                f"'{unknown[0]}'.{near}"
            )
        shared = {**self.files, **changes.files}
        return {
            name: replace(
                setting, grid=self._grid(setting, changes), files={**shared, **setting.files}
            )
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
        optional = {path for setting in self.chosen(scale).values() for path in setting.test_files}
        missing = [
            path
            for path in self._paths(scale)
            if path not in optional and not _all_there(data, [path])
        ]
        if missing:
            raise ConfigError(
                f"data={data}: {self.experiment} needs files that are not in that folder: "
                f"{', '.join(missing)}."
            )

    def _paths(self, scale: str) -> list[str]:
        return list(
            dict.fromkeys(
                path for setting in self.chosen(scale).values() for path in setting.files.values()
            )
        )

    def _named(self, scale: str) -> str:
        return ", ".join(self._paths(scale)) or "its files"

    def jobs(
        self,
        data: str | None,
        scale: str,
        always: Sequence[str],
        typed: Sequence[Sequence[Choice]],
        tuning: str = "dev",
    ) -> list[list[str]]:
        """Return the overrides of every job.

        Parameters
        ----------
        data : str or None
            Folder of the files.
        scale : str
            ``small`` or ``full``.
        always : sequence of str
            Overrides that every job begins with.
        typed : sequence of sequence of (override, addition to the label)
            Combinations of the user's overrides; every one is tried with every setting. Their
            values replace the values of a grid or a setting, and are in the label then.
        tuning : str
            ``tail`` or ``dev``: see `tuning`.
        """
        jobs, keys = [], {key_of(word) for one in typed for word, _ in one}
        for name, setting in self.chosen(scale).items():
            files = _files_of(setting, data, tuning) if data else []
            tail = [f"tail={TAIL:g}"] if tuning == "tail" and setting.divisible else []
            grid = {**(setting.grid or {}), **self._seed_grid(setting, scale, keys)}
            replaced = {key_of(word) for word in (*setting.overrides, *grid)}
            grid = {key: choices for key, choices in grid.items() if key_of(key) not in keys}
            for values, combination in cartesian(
                product([_choices(*one) for one in grid.items()]), typed
            ):
                additions = [addition for _, addition in values]
                additions += [
                    addition or _choice(word)[1]
                    for word, addition in combination
                    if addition or (key_of(word) in replaced and word not in setting.overrides)
                ]
                label = SEPARATOR.join([name, *additions])
                first = [*always, *files, *tail, *self.scales[scale].overrides, *setting.overrides]
                last = [word for word, _ in (*values, *combination)]
                jobs.append(_last_of_each(spelled_out([*first, f"label={_quoted(label)}", *last])))
        return jobs

    def _seed_grid(
        self, setting: Setting, scale: str, typed: Collection[str]
    ) -> dict[str, Sequence[Any]]:
        """Return the seeds as a key of the grid if there are several, unless the setting or a
        `typed` key sets them.
        """
        keys = {*map(key_of, (*setting.overrides, *(setting.grid or {}))), *typed}
        seeds = self.seeds_of(scale)
        return {} if len(seeds) < 2 or "seed" in keys else {"seed": seeds}


def _all_there(data: str, paths: Sequence[str]) -> bool:
    return all(data_path(Path(data) / path).is_file() for path in paths)


def _files_of(setting: Setting, data: str, tuning: str) -> list[str]:
    """The overrides of a setting's files; without those of the test split that are not there, or
    that no values leave apart.
    """
    without = (
        setting.test_files if tuning == "tail" or not _all_there(data, setting.test_files) else []
    )
    used = {key: path for key, path in setting.files.items() if path not in without}
    named: dict[str, list[str]] = {}
    for key, path in used.items():
        node, _, name = key.partition(NAMED)
        named.setdefault(node, []).append((f"{name}: " if name else "") + _in(data, path))
    return [
        f"{node}={{{', '.join(paths)}}}" if node not in used else f"{node}={paths[0]}"
        for node, paths in named.items()
    ]


def _in(data: str, path: str) -> str:
    """Return the path of a file of the folder of data, as an override has it."""
    return _quoted(str(Path(data) / path))


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
    return [_choice(f"{key}={_text(value)}") for value in values]


def _choice(word: str) -> Choice:
    """Return an override, and the last part of its key with its value."""
    return word, f"{key_of(word).rpartition('.')[2]}={word.partition('=')[2]}"


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


def _settings(where: str, node: Any) -> dict[str, Setting]:
    if not isinstance(node, Mapping):
        raise ConfigError(f"{where}.settings: this must be NAME: [override, ...].")
    return {
        str(name): _setting(f"{where}.settings.{name}", str(name), value)
        for name, value in node.items()
    }


def _setting(where: str, name: str, node: Any) -> Setting:
    if SEPARATOR in name:
        raise ConfigError(
            f"{where}: the name of a setting cannot contain '{SEPARATOR}', which ends it in labels."
        )
    if node is None or isinstance(node, list | tuple):
        return Setting(_overrides(where, node))
    if not isinstance(node, Mapping):
        raise ConfigError(
            f"{where}: this must be a list of overrides, or have overrides, grid and files."
        )
    _known(where, node, ("overrides", "grid", "files"))
    overrides = _overrides(f"{where}.overrides", node.get("overrides"))
    return Setting(overrides, _grid(where, node.get("grid")), _files(where, node.get("files")))


def _scale(where: str, node: Any) -> Scale:
    if node is None:
        return Scale()
    if not isinstance(node, Mapping):
        raise ConfigError(
            f"{where}: this must have overrides, settings, only, grid, files or seeds."
        )
    _known(where, node, ("overrides", "settings", "only", "grid", "files", "seeds"))
    only = node.get("only")
    return Scale(
        _overrides(f"{where}.overrides", node.get("overrides")),
        _settings(where, node.get("settings") or {}),
        None if only is None else tuple(str(name) for name in only),
        _grid(where, node.get("grid")),
        _files(where, node.get("files")),
        _seeds(where, node.get("seeds")),
    )


def _seeds(where: str, node: Any) -> tuple[int, ...] | None:
    if node is None:
        return None
    if (
        not isinstance(node, list | tuple)
        or not node
        or not all(isinstance(one, int) and one >= 0 for one in node)
    ):
        raise ConfigError(
            f"{where}.seeds: this must be a list of integers from 0, such as [0, 1, 2]."
        )
    return tuple(node)


def _overrides(where: str, node: Any) -> tuple[str, ...]:
    words = [] if node is None else node
    if not isinstance(words, list | tuple):
        raise ConfigError(
            f"{where}: this must be a list of overrides, such as [optimizer=dca, optimizer.C=1]."
        )
    wrong = [
        word
        for word in words
        if not isinstance(word, str) or not ("=" in word or word.startswith("~"))
    ]
    if wrong:
        raise ConfigError(
            f"{where}: '{wrong[0]}' is no override.",
            remedy="Write KEY=VALUE, such as optimizer.C=1.",
        )
    return tuple(words)


def _grid(where: str, node: Any) -> dict[str, list[Any]] | None:
    if node is None:
        return None
    if not isinstance(node, Mapping):
        raise ConfigError(
            f"{where}.grid: this must be KEY: [value, ...], such as optimizer.C: [0.1, 1]."
        )
    for key, values in node.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(
                f"{where}.grid.{key}: this must be a list of values, such as optimizer.C: [0.1, 1]."
            )
    return {str(key): list(values) for key, values in node.items()}


def _files(where: str, node: Any) -> dict[str, str]:
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        raise ConfigError(
            f"{where}.files: this must be KEY: path inside data=DIR, such as task.train: "
            "conll2003/eng.train.gz."
        )
    files: dict[str, str] = {}
    for key, value in node.items():
        named = value.items() if isinstance(value, Mapping) else ()
        files |= {f"{key}{NAMED}{name}": str(path) for name, path in named}
        if not isinstance(value, Mapping):
            files[str(key)] = str(value)
    return files


def _known(where: str, node: Mapping[str, Any], keys: Sequence[str]) -> None:
    unknown = [key for key in node if key not in keys]
    if unknown:
        near = did_you_mean(str(unknown[0]), keys)
        raise ConfigError(
            f"{where}: there is no key '{unknown[0]}' here.{near} Keys: {', '.join(keys)}."
        )
