"""The life of a sweep in the process that launches it: one parent run before any job, going on, table and exit code.

Light to import: Hydra makes the callback below for single runs too.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, flag_override

from structopt.errors import ConfigError

if TYPE_CHECKING:
    from structopt.sweep.table import JobRow

SWEEP = "sweep.json"  # also in `structopt.run.records`, which takes numpy to import
BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
DONE, BUG, MENDABLE = 0, 1, 2
RESUMING = "sweep.resume"
NOT_COMPARED = ("hydra/launcher", "hydra.launcher", "hydra.sweep.dir")
"""Words that do not change what a job computes: a sweep that goes on may be given others."""
SHARED = (".md", ".csv", ".png", ".json", ".yaml")
"""Files of the sweep's folder that the tracker keeps with the parent run."""


class Refused(BaseException):  # no Exception: Hydra turns exceptions of callbacks into warnings, and would go on
    """A sweep that cannot begin."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Opening(Callback):
    """Hydra's callback: opens the sweep after its config was composed and before a sweeper is made."""

    opened: ClassVar[Sweep | None] = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Settle the folder, make the parent run, and write ``sweep.json``.

        Raises
        ------
        Refused
            Around whatever went wrong.
        """
        HydraConfig.instance().set_config(config)  # without it ${hydra:...} does not resolve yet
        try:
            type(self).opened = Sweep.open(config, sys.argv[1:])
        except Exception as error:
            raise Refused(error) from error


@dataclass
class Sweep:
    """A sweep under way.

    Attributes
    ----------
    folder : Path
        Absolute; jobs have their own folders in it.
    command : list of str
        What was typed, without ``sweep.resume``.
    label : str
        Its name in tables and in MLflow.
    tracker : mapping
        The checked config node of the tracker.
    common : list of str
        Overrides of every job.
    parent : str
        The tracker's id of the parent run; empty where there is none.
    tracked : bool
        Whether jobs shall be tracked: a store that cannot take the parent is not asked again by every job.
    environment : list of str
        Variables that were set for its workers.
    replaced : mapping of Path to bytes
        What an earlier sweep had noted in the folder; put back where no job of this one begins.
    """

    folder: Path
    command: list[str]
    label: str
    tracker: Mapping[str, Any]
    common: list[str] = field(default_factory=list)
    parent: str = ""
    tracked: bool = True
    environment: list[str] = field(default_factory=list)
    replaced: Mapping[Path, bytes] = field(default_factory=dict)

    @classmethod
    def open(cls, config: DictConfig, words: Sequence[str]) -> Sweep:
        """Begin a sweep, or go on with an earlier one where ``sweep.resume=true`` is typed."""
        command = [word for word in words if _key(word) != RESUMING]
        resuming = _resuming(config)
        earlier = _earlier(config, command) if resuming else None
        typed = _Typed.parse(config)
        typed.check(config)
        folder = earlier or Path(str(config.hydra.sweep.dir)).resolve()
        sweep = cls(folder, command, typed.label(config), _tracker_node(config), typed.common)
        _pin(config, folder)
        if earlier is None:
            print(f"structopt: {sweep.label} in {folder}", file=sys.stderr, flush=True)
            sweep.replaced = _forget_jobs(folder, resuming)
        try:
            sweep._begin(_read(earlier / SWEEP)["parent"] if earlier else "")
        except BaseException:  # an impatient user, too
            if earlier is None:
                sweep._drop()
            raise
        if OmegaConf.select(config, "hydra.launcher._target_") != BASIC:
            sweep._one_thread_a_worker()
        return sweep

    def _begin(self, parent: str) -> None:
        self.parent = parent
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"this folder cannot be made ({error.strerror}). Name another."
            raise ConfigError(f"hydra.sweep.dir={self.folder}: {why}") from None
        self._write()  # a sweep that is killed while its parent run is made can go on, too
        tracker = self._make_tracker()
        self.parent = tracker.open_sweep(self.label, self.folder, shlex.join(["structopt", *self.command]), parent)
        self.tracked = bool(self.parent)
        self._write()

    def _write(self) -> None:
        from structopt.formats.durable_files import write_json

        facts = {"command": self.command, "label": self.label, "folder": str(self.folder), "common": self.common}
        write_json(self.folder / SWEEP, {**facts, "parent": self.parent, "tracked": self.tracked})

    def _make_tracker(self) -> Any:
        from structopt.config import registry

        return registry.create("tracker", self.tracker)

    def _one_thread_a_worker(self) -> None:
        """Jobs that run side by side must not each take every core; what the user has set stays."""
        self.environment = [name for name in ONE_THREAD if name not in os.environ]
        os.environ.update(dict.fromkeys(self.environment, "1"))

    @property
    def begun(self) -> bool:
        """Whether any job has begun."""
        return any(self.folder.glob("*/job.json"))

    @property
    def again(self) -> str:
        """The command that goes on with this sweep."""
        return shlex.join(["structopt", *self.command, f"{RESUMING}=true"])

    def close(self, interrupted: bool = False, broken: bool = False) -> int:
        """Print and write the table, end the parent run, and return the exit code.

        Parameters
        ----------
        interrupted : bool
            Whether the user stopped it.
        broken : bool
            Whether the sweeper or launcher raised, so that jobs may be missing.
        """
        for name in self.environment:
            os.environ.pop(name, None)
        if not self.begun:
            self._drop()
            return DONE
        from structopt.sweep.table import summary, write_tables

        table = write_tables(self.folder)
        if table.rows:
            print(f"\n{table.text()}\nsweep: {self.folder}", flush=True)
        code = exit_code(table.rows)
        status = "KILLED" if interrupted else "FAILED" if broken or code else "FINISHED"
        if self.parent:
            files = sorted(path for path in self.folder.iterdir() if path.suffix in SHARED)
            self._make_tracker().close_sweep(self.parent, status, summary(table), files)
        return code

    def _drop(self) -> None:
        """Leave nothing of a sweep of which no job began, and all of one before it in the same folder."""
        if self.parent:
            self._make_tracker().drop_sweep(self.parent)
        for name in (SWEEP, "multirun.yaml"):
            with suppress(OSError):  # such as a folder that could not be made
                (self.folder / name).unlink()
        for path, content in self.replaced.items():
            path.write_bytes(content)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def exit_code(rows: Iterable[JobRow]) -> int:
    """Return 0 when all jobs went well, 1 when some failed by a bug, 2 when all that failed can be mended by the user."""
    failed = [row for row in rows if row.status == "FAILED"]
    if any(not row.mendable for row in failed):
        return BUG
    return MENDABLE if failed else DONE


@dataclass(frozen=True)
class _Typed:
    """What was typed for the jobs.

    Attributes
    ----------
    common : list of str
        Overrides of every job, written as Hydra hands them to the jobs.
    swept : mapping of key to overrides
        The values of every key that is swept.
    """

    common: list[str]
    swept: dict[str, list[str]]

    @classmethod
    def parse(cls, config: DictConfig) -> _Typed:
        from hydra.core.global_hydra import GlobalHydra
        from hydra.core.override_parser.overrides_parser import OverridesParser

        params = OmegaConf.select(config, "hydra.sweeper.params") or {}
        words = [f"{key}={value}" for key, value in params.items() if isinstance(value, str | int | float)]
        words += [str(word) for word in config.hydra.overrides.task]
        loader = GlobalHydra.instance().config_loader()
        common, swept = [], {}
        for one in OverridesParser.create(config_loader=loader).parse_overrides(words):
            key = one.get_key_element()
            if one.is_discrete_sweep():
                swept[key] = [f"{key}={value}" for value in one.sweep_string_iterator()]
            elif one.is_sweep_override():
                swept[key] = []
            else:
                common.append(f"{key}={one.get_value_element_as_str()}")
        return cls(common, swept)

    def check(self, config: DictConfig) -> None:
        """Compose every typed choice once, so that a misspelt key or choice ends the command before anything is made."""
        from hydra.core.global_hydra import GlobalHydra

        if str(OmegaConf.select(config, "hydra.sweeper._target_")).rpartition(".")[2] != "BasicSweeper":
            return
        loader = GlobalHydra.instance().config_loader()
        groups = [key for key in self.swept if loader.get_group_options(key)]
        first = [values[0] for values in self.swept.values() if values]
        trials = [first, *([*first, value] for key in groups for value in self.swept[key][1:])]
        for trial in trials:
            latest = {_key(word): word for word in [*self.common, *trial]}
            loader.load_sweep_config(config, list(latest.values()))

    def label(self, config: DictConfig) -> str:
        """The sweep's name: its label, its experiment, or what is swept."""
        experiment = OmegaConf.select(config, "hydra.runtime.choices.experiment")
        given = config.get("label") or experiment
        return str(given) if given else f"sweep of {', '.join(self.swept) or 'one job'}"


def _tracker_node(config: DictConfig) -> dict[str, Any]:
    """The tracker's config; the runs of a published experiment are kept under its name, as its jobs are."""
    from structopt.config import registry
    from structopt.config.composition import resolved

    node = resolved(config.tracker)
    experiment = OmegaConf.select(config, "hydra.runtime.choices.experiment")
    typed = [_key(str(word)) for word in config.hydra.overrides.task]
    if experiment and "experiment" in node and "tracker.experiment" not in typed:
        node["experiment"] = str(experiment)
    checked: dict[str, Any] = registry.checked("tracker", node, {})
    return checked


def _pin(config: DictConfig, folder: Path) -> None:
    """Make `folder` the sweep's folder, here and in the configs that launchers compose for the jobs."""
    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    with flag_override(config.hydra, ["readonly", "struct"], [False, False]):
        config.hydra.sweep.dir = str(folder)
        config.hydra.overrides.hydra.append(f"hydra.sweep.dir='{quoted}'")


def _resuming(config: DictConfig) -> bool:
    """Whether an earlier sweep shall go on."""
    typed = OmegaConf.select(config, RESUMING)
    if not isinstance(typed, bool):
        raise ConfigError(f"{RESUMING}={typed} is neither true nor false. Type {RESUMING}=true to go on with an earlier sweep.")
    return typed


def _earlier(config: DictConfig, command: Sequence[str]) -> Path | None:
    """Find the newest sweep of the same command, or say that there is none.

    Raises
    ------
    ConfigError
        If the folder that was typed holds the sweep of another command.
    """
    pattern = Path(OmegaConf.to_container(config.hydra.sweep, resolve=False)["dir"])  # type: ignore[call-overload,index]
    fixed = "${" not in str(pattern)
    found = _sweeps(pattern)
    same = [path for path in found if _compared(_read(path)["command"]) == _compared(command)]
    if same:
        newest = max(same, key=lambda path: (path.stat().st_mtime, str(path))).parent.resolve()
        print(f"structopt: going on with the sweep in {newest}", file=sys.stderr)
        return newest
    if found and fixed:
        before = shlex.join(["structopt", *_read(found[0])["command"]])
        raise ConfigError(f"{pattern} holds the sweep of another command: {before}. Type that one, or another hydra.sweep.dir.")
    print(f"structopt: {RESUMING}=true: no sweep of this command is under {_root(pattern)}, so it begins anew", file=sys.stderr)
    return None


def _sweeps(pattern: Path) -> list[Path]:
    """The ``sweep.json`` of every sweep whose folder looks like the pattern, in which ``${...}`` stands for anything."""
    root = _root(pattern)
    levels = len(pattern.parts) - len(root.parts)
    return sorted(root.glob("/".join(["*"] * levels + [SWEEP])))


def _root(pattern: Path) -> Path:
    """The part of a folder's name before the first ``${...}``."""
    known = Path(str(pattern).partition("${")[0] + "x").parent if "${" in str(pattern) else pattern
    return known


def _compared(command: Sequence[str]) -> list[str]:
    """The words of a command by which two sweeps are the same."""
    return [word for word in command if word != "-m" and word != "--multirun" and not _key(word).startswith(NOT_COMPARED)]


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~").strip()


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
        command = found["command"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: this cannot be read ({error}). Delete the file, or restore it.") from None
    return {"parent": "", **found, "command": [str(word) for word in command]}


def _forget_jobs(folder: Path, resuming: bool) -> dict[Path, bytes]:
    """A sweep that begins anew in a folder that was used before has no jobs yet; return what the one before had noted.

    A search that is to go on does so by its journal, whatever became of ``sweep.json``.
    """
    jobs = [] if resuming and any(folder.glob("*.journal")) else [*folder.glob("*/job.json"), *folder.glob("*/tracking.json")]
    noted = [*jobs, *(path for name in (SWEEP, "multirun.yaml") if (path := folder / name).is_file())]
    before = {path: path.read_bytes() for path in noted}
    for path in jobs:
        path.unlink()
    return before


