"""Records of runs, read from their folders for tables, comparisons and reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from structopt.config import saved_config
from structopt.errors import (
    ConfigError,
    MemoryShortage,
    NumericalError,
    StructoptError,
    SystemRefusal,
)
from structopt.process import folder_lock

if TYPE_CHECKING:
    from structopt.run.history import Value

JOB, SWEEP, MULTIRUN = "job.json", "sweep.json", "multirun.yaml"
TRACKING = "tracking.json"  # the store and the id of the run that a tracker made for a folder
METRICS = "metrics.json"
REMEDY = "Restore the file, or delete it."
SCORES = Mapping[str, float | None]
TYPES: Mapping[str, Mapping[str, Any]] = {
    JOB: {
        "number": int,
        "overrides": Sequence[str],
        "status": str,
        "metric": str | None,
        "seconds": float | None,
        "error": str,
        "mendable": bool,
        "config": Mapping[str, Any],
        "files": Mapping[str, str],
        "score": float | None,
        "run_id": str,
    },
    SWEEP: {"parent": str, "common": Sequence[str], "command": Sequence[str], "tracked": bool},
}
"""What the entries of files must be; of metrics.json, all are numbers by name."""
REQUIRED: Mapping[str, tuple[str, ...]] = {JOB: ("number", "overrides", "status", "config")}
FINISHED, FAILED, KILLED, PRUNED = "FINISHED", "FAILED", "KILLED", "PRUNED"
OF_REFUSED = frozenset({TRACKING, folder_lock.LOCK, ".hydra", "structopt.log"})
"""Files and folders that a run writes before it reads data."""


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Remove the content of a new run folder if the run is refused before it trains.

    `structopt.process.folder_lock` then removes the empty folder.
    """
    try:
        yield
    except (
        SystemRefusal,
        MemoryShortage,
        NumericalError,
    ):  # which have more causes than the command
        raise
    except StructoptError:
        if folder_lock.is_new(folder) and {path.name for path in folder.iterdir()} <= OF_REFUSED:
            for name in OF_REFUSED - {folder_lock.LOCK}:
                path = folder / name
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class RunRecord:
    """A run as its folder records it.

    Attributes
    ----------
    folder : Path
    name : str
        Its label, else its overrides, else the folder's name.
    overrides : tuple of str
        The words that were typed for it.
    config : mapping
        The composed config, nested plain values.
    metrics : mapping of split (train, dev, test) to metrics
        ``metrics.json``; empty where the run did not come to an end.
    status : str
        ``FINISHED``, ``FAILED``, ``KILLED`` or ``PRUNED``.
    error : str
        Why a failed run failed.
    """

    folder: Path
    name: str
    overrides: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    status: str = FINISHED
    error: str = ""

    @cached_property
    def history(self) -> list[dict[str, Value]]:
        """``history.csv``: one row a pass."""
        from structopt.run import history

        return history.read(self.folder / "history.csv")

    def metric(self, key: str) -> float | None:
        """Return a metric by its dotted name, such as ``dev.f1``; None where the run has none."""
        split, _, name = key.partition(".")
        return self.metrics.get(split, {}).get(name)

    def setting(self, key: str) -> Any:
        """Return a value of the config by its dotted key, such as ``loss.beta``; None where there
        is none.
        """
        node: Any = self.config
        for name in key.split("."):
            node = node.get(name) if isinstance(node, Mapping) else None
        return node

    def curve(self, key: str, against: str = "epoch") -> tuple[list[float], list[float]]:
        """Return two columns of the history, `against` and `key`, of the passes that have both."""
        pairs = [(row.get(against), row.get(key)) for row in self.history]
        known = [(float(x), float(y)) for x, y in pairs if x is not None and y is not None]
        return [x for x, _ in known], [y for _, y in known]


def mean_curve(
    runs: Sequence[RunRecord], key: str, against: str = "epoch", times: float = 1.0
) -> tuple[list[float], list[float]]:
    """Return two columns of the history, averaged over runs at the epochs at which all of them have
    both.
    """
    curves = [_by_epoch(run, key, against) for run in runs]
    shared = [epoch for epoch in (curves or [{}])[0] if all(epoch in curve for curve in curves)]
    xs = [fmean(curve[epoch][0] for curve in curves) for epoch in shared]
    return xs, [times * fmean(curve[epoch][1] for curve in curves) for epoch in shared]


def _by_epoch(run: RunRecord, key: str, against: str) -> dict[Value, tuple[float, float]]:
    """Return `against` and `key` of the epochs that have both."""
    rows = [(row.get("epoch"), row.get(against), row.get(key)) for row in run.history]
    return {epoch: (float(x), float(y)) for epoch, x, y in rows if x is not None and y is not None}


def read_run(folder: Path) -> RunRecord:
    """Read a run's folder.

    Raises
    ------
    ConfigError
        If it is not the folder of a run, or one of its files cannot be read.
    """
    job, metrics = read_json(folder / JOB), folder / METRICS
    config = job.get("config") or _yaml(folder / ".hydra" / "config.yaml")
    if not config or not isinstance(config, Mapping):
        raise ConfigError(
            "this is not the folder of a run; it has no .hydra/config.yaml.",
            where=str(folder),
        )
    overrides = job.get("overrides") or _yaml(folder / ".hydra" / "overrides.yaml") or ()
    if not isinstance(overrides, Sequence) or not all(isinstance(word, str) for word in overrides):
        raise ConfigError(
            f"{folder / '.hydra' / 'overrides.yaml'}: this is not a list of overrides. {REMEDY}"
        )
    name = config.get("label") or ",".join(overrides) or folder.name
    status = job.get("status") or (FINISHED if metrics.is_file() else KILLED)
    return RunRecord(
        folder,
        str(name),
        tuple(overrides),
        config,
        read_json(metrics),
        status,
        job.get("error", ""),
    )


def read_sweep(folder: Path) -> list[RunRecord]:
    """Read the runs of a sweep's folder in the order of their numbers."""
    folders = [path.parent for path in folder.glob(f"*/{JOB}")]
    return [
        read_run(path) for path in sorted(folders, key=lambda path: (len(path.name), path.name))
    ]


def _yaml(path: Path) -> Any:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError  # type: ignore[import-untyped, unused-ignore]

    try:
        return OmegaConf.to_container(saved_config.load(path)) if path.is_file() else None
    except (
        YAMLError,
        OmegaConfBaseException,
        OSError,
        ValueError,
        TypeError,
        RecursionError,
    ) as error:
        raise ConfigError(
            f"this is not YAML ({' '.join(str(error).split())}).",
            where=str(path),
        ) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read an object from a JSON file; an empty one where there is no file.

    Raises
    ------
    ConfigError
        If the file holds anything else, or an entry of another type than is written there.
    """
    if not path.is_file():
        return {}
    try:
        values: dict[str, Any] = json.loads(path.read_bytes().decode("utf8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"this is not JSON ({error}). {REMEDY}",
            where=str(path),
        ) from None
    if not isinstance(values, dict):
        raise ConfigError(
            f"this is not a JSON object. {REMEDY}",
            where=str(path),
        )
    _check_entries(path, values)
    return values


def _check_entries(path: Path, values: Mapping[str, Any]) -> None:
    from structopt.config.schema import coerce

    required, types = REQUIRED.get(path.name, ()), TYPES.get(path.name, {})
    if absent := [key for key in required if key not in values]:
        raise ConfigError(
            f"the entry {absent[0]} is missing. {REMEDY}",
            where=str(path),
        )
    for key, value in values.items():
        try:
            coerce(key, value, SCORES if path.name == METRICS else types.get(key, Any))
        except ConfigError as error:
            raise ConfigError(
                f"the entry {key} is not of the type that a run writes. {REMEDY}",
                where=str(path),
            ) from error
