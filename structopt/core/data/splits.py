"""Splits of a corpus that are no files of their own: those that a task generates, and shares of one
file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.errors import ConfigError

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class SplitPath(os.PathLike[str]):
    """The path of a split that is no file of its own: ``dev`` (generated), or ``images.npz#dev`` (a
    share of a file).

    Attributes
    ----------
    split : str
        One of `SPLITS`.
    source : Path or None
        The file; None where the split is generated.
    """

    split: str
    source: Path | None = None

    @property
    def name(self) -> str:
        """Name without folders."""
        return self.split if self.source is None else f"{self.source.name}#{self.split}"

    def is_file(self) -> bool:
        """Whether it can be read."""
        return self.source is None or os.path.isfile(self.source)

    def __fspath__(self) -> str:
        return self.split if self.source is None else f"{self.source}#{self.split}"

    def __str__(self) -> str:
        return os.fspath(self)


def divided(count: int, share: float) -> int:
    """Where the last `share` of `count` instances begins, rounded to the nearest instance.

    Raises
    ------
    ConfigError
        If one of the two parts has no instance.
    """
    first = count - round(share * count)
    if not 0 < first < count:
        raise ConfigError(
            f"of {count} training instances leaves one of the two parts empty.",
            parameter="tail",
            value=share,
            remedy="Give more data, or `dev`.",
            kinds={"dev": "task"},
        )
    return first


def with_tail(files: Mapping[str, Any], share: float | None) -> dict[str, Any]:
    """The data by split where the last `share` of the training data is the dev split, and the
    former dev split the test split.

    A test split that there is stays; the former dev split is then not used. Without a share all
    remains as it is.

    Raises
    ------
    ConfigError
        If the share is not between 0 and 1.
    """
    if share is None:
        return dict(files)
    if not 0 < share < 1:
        raise ConfigError(
            "must be more than 0 and less than 1: a share of the training data.",
            parameter="tail",
            value=share,
            remedy="null takes none apart.",
        )
    train = files["train"]
    if isinstance(train, SplitPath) and train.source is not None:
        raise ConfigError(
            f"takes a part of a file, and {train} is one already.",
            parameter="tail",
            value=share,
            remedy="Leave out one of the two.",
        )
    tail = SplitPath("dev", train) if isinstance(train, Path) else SplitPath("dev")
    test = files.get("test", files.get("dev"))
    return {"train": train, "dev": tail, **({} if test is None else {"test": test})}


def split_of(path: str | os.PathLike[str]) -> SplitPath | None:
    """The split that a path names; None where the path is that of a file."""
    text = os.fspath(path)
    source, mark, split = text.rpartition("#")
    if split not in SPLITS or bool(mark) != bool(source) or os.path.exists(text):
        return None
    return SplitPath(split, Path(source) if source else None)
