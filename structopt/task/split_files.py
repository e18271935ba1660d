"""The files of the training, dev and test splits of a task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from structopt import datasets
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import ConfigError
from structopt.formats.text_files import check_limit

Paths = Mapping[str, str | None]


def checked_paths(train: str | None, dev: str | None, test: str | None, limit: int | None) -> Paths:
    """Return the paths by split; ConfigError for a limit below 1, or a dev or test file without a
    training file.
    """
    check_limit(limit, "instances", "task.limit")
    if train is None and (dev or test):
        raise ConfigError(
            "is missing, and task.dev or task.test is set.",
            parameter="task.train",
            remedy="Set task.train, too.",
        )
    return {"train": train, "dev": dev, "test": test}


def files_of(paths: Paths, kind: str) -> dict[str, Path | FileSet]:
    """Return the files by split (train, dev, test); without a training file those of the shipped
    corpus in a format.
    """
    if paths["train"] is None:
        return {split: datasets.path(split, kind) for split in datasets.SPLITS}
    return {split: data_path(path) for split, path in paths.items() if path is not None}
