"""Splits of a corpus that are no files of their own: those that a task generates, and shares of one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class SplitPath(os.PathLike[str]):
    """The path of a split that is no file of its own: ``dev`` (generated), or ``images.npz#dev`` (a share of a file).

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
        return self.source is None or self.source.is_file()

    def __fspath__(self) -> str:
        return self.split if self.source is None else f"{self.source}#{self.split}"

    def __str__(self) -> str:
        return os.fspath(self)


def split_of(path: str | os.PathLike[str]) -> SplitPath | None:
    """The split that a path names; None where the path is that of a file."""
    text = os.fspath(path)
    source, mark, split = text.rpartition("#")
    if split not in SPLITS or bool(mark) != bool(source) or Path(text).exists():
        return None
    return SplitPath(split, Path(source) if source else None)
