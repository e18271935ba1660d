"""The files of the training, development and test parts that a task is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from structopt import datasets as shipped
from structopt.errors import ConfigError

Paths = Mapping[str, str | None]


def checked_paths(train: str | None, dev: str | None, test: str | None, limit: int | None) -> Paths:
    """Return the paths by role; refuse a limit below 1, and held-out parts without a training part."""
    if limit is not None and limit < 1:
        raise ConfigError(f"task.limit={limit} must be at least 1, or null for all.")
    if train is None and (dev or test):
        raise ConfigError("task.dev or task.test is given without task.train. Give task.train too.")
    return {"train": train, "dev": dev, "test": test}


def files_of(paths: Paths, kind: str) -> dict[str, Path]:
    """Files by role (train, dev, test); without a training file the shipped corpus, in a kind of format, takes all places."""
    if paths["train"] is None:
        return {part: shipped.path(part, kind) for part in shipped.PARTS}
    return {role: Path(path) for role, path in paths.items() if path is not None}
