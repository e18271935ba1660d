"""Where runs came from: their task, the files that it read, and the folder that they were started in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.config import feature_keys
from structopt.core.data.splits import SplitPath
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.formats.durable_files import digest
from structopt.run.records import RunRecord

NOT_DRAWN = ("limit", "default_C", "default_C_by", "train", "dev", "test")
"""Keys of a task that do not change what a part holds that is drawn."""


def same_file(records: Sequence[RunRecord], part: str) -> None:
    """Refuse runs whose files of a part are not the same, by name or by content.

    Raises
    ------
    ConfigError
        If they are not, or one is gone.
    """
    files = {_identity(record, file_of(record, part)): record for record in records}
    if len(files) > 1:
        first, second = [f"{record.name}: {file_of(record, part)}" for record in list(files.values())[:2]]
        raise ConfigError(f"the {part} files differ ({first}; {second}); scores on different sentences cannot be paired.")


def _identity(record: RunRecord, file: Path | SplitPath) -> str:
    """What is the same of equal files; of a share or a generated split also what it is drawn by."""
    if isinstance(file, Path):
        return digest(file)
    drawn = {key: value for key, value in _task_node(record).items() if key not in NOT_DRAWN}
    return f"{file.split} {digest(file.source) if file.source else ''} {sorted(drawn.items(), key=str)}"


def file_of(record: RunRecord, part: str) -> Path | SplitPath:
    """The file that a run's config names for a part: a path, or a part of a file.

    Raises
    ------
    ConfigError
        If the run has no such part, or the file is gone.
    """
    task = made_task(record)
    if part not in task.files:
        raise ConfigError(f"{record.name} has no {part} part.")
    file = task.files[part]
    if not file.is_file():
        raise ConfigError(f"{file}: the {part} file of {record.name} is gone.")
    return file


def made_task(record: RunRecord) -> Task:
    """The task of a run, not fitted; files that are named relative to where the run was started are found from there."""
    node, start = _task_node(record), start_folder(record)
    for role in ("train", "dev", "test"):
        path = node.get(role)
        if isinstance(path, str) and not Path(path).is_absolute() and (start / path).exists():
            node[role] = str(start / path)
    made: Task = feature_keys.task_of(record.config, node)
    return made


def _task_node(record: RunRecord) -> dict[str, Any]:
    node: Mapping[str, Any] = record.config.get("task", {})
    return dict(node)


def start_folder(record: RunRecord) -> Path:
    """The folder in which a run was started."""
    from omegaconf import OmegaConf

    told = record.folder / ".hydra" / "hydra.yaml"
    if not told.is_file():
        return Path()
    return Path(str(OmegaConf.select(OmegaConf.load(told), "hydra.runtime.cwd") or "."))
