"""The origins of runs: their task, the files that it read, and the folder in which they were
started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.config import feature_keys, saved_config
from structopt.core.data.config_keys import Purpose, relevant
from structopt.core.data.file_sets import DataPath, data_path, digest
from structopt.core.data.splits import SPLITS, SplitPath, with_tail
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.run.records import RunRecord


def check_same_file(records: Sequence[RunRecord], split: str) -> None:
    """Refuse runs whose data of a split differ in content.

    Raises
    ------
    ConfigError
        If they differ, or a file is gone.
    """
    files = {_identity(record, file_of(record, split)): record for record in records}
    if len(files) > 1:
        first, second = [
            f"{record.name}: {file_of(record, split)}" for record in list(files.values())[:2]
        ]
        raise ConfigError(
            f"the {split} files differ ({first}; {second}); scores on different sentences cannot "
            "be paired."
        )


def _identity(record: RunRecord, file: DataPath) -> str:
    """Return a text that is the same for equal data: the file's digest; of a drawn or generated
    split also its parameters.
    """
    if not isinstance(file, SplitPath):
        return digest(file)
    drawn = relevant(_task_node(record), Purpose.DRAWING, "task")
    return (
        f"{file.split} {digest(file.source) if file.source else ''} "
        f"{sorted(drawn.items(), key=str)}"
    )


def file_of(record: RunRecord, split: str) -> DataPath:
    """Return the file that a run's config names for a split: a path, or a split that is no file of
    its own.

    Raises
    ------
    ConfigError
        If the run has no such split, or the file is gone.
    """
    task = task_of(record)
    files = with_tail(task.files, record.config.get("tail"))
    if split not in files:
        raise ConfigError(f"{record.name} has no {split} split.")
    if split == "dev" and record.config.get("tail") is not None:
        raise ConfigError(
            f"{record.name}: its dev split is the end of its training file (tail), and no "
            "file of its own.",
            remedy="Set metric=test.NAME.",
        )
    file: DataPath = files[split]
    if not file.is_file():
        raise ConfigError(
            f"the {split} file of {record.name} is gone.",
            where=str(file),
        )
    return file


def task_of(record: RunRecord) -> Task:
    """Make the task of a run, not fitted; files that are named relative to the folder where the run
    started are found there.
    """
    node, start = _task_node(record), start_folder(record)
    for split in SPLITS:
        path = node.get(split)
        if (
            isinstance(path, str)
            and not Path(path).is_absolute()
            and data_path(start / path).is_file()
        ):
            node[split] = str(start / path)
    task: Task = feature_keys.task_of(record.config, node)
    return task


def _task_node(record: RunRecord) -> dict[str, Any]:
    node: Mapping[str, Any] = record.config.get("task", {})
    return dict(node)


def start_folder(record: RunRecord) -> Path:
    """Return the folder in which a run was started."""
    from omegaconf import OmegaConf

    saved = record.folder / ".hydra" / "hydra.yaml"
    if not saved.is_file():
        return Path()
    return Path(str(OmegaConf.select(saved_config.load(saved), "hydra.runtime.cwd") or "."))
