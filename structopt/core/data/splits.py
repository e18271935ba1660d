"""Parts of a corpus that are no files of their own: what a task generates, and shares of one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROLES = ("train", "dev", "test")


@dataclass(frozen=True)
class Part(os.PathLike[str]):
    """What stands among a task's files where there is no file: ``dev`` (generated), or ``images.npz#dev`` (a share of a file).

    Attributes
    ----------
    role : str
        train, dev or test.
    source : Path or None
        The file; None where the part is generated.
    """

    role: str
    source: Path | None = None

    @property
    def name(self) -> str:
        """Name without folders."""
        return self.role if self.source is None else f"{self.source.name}#{self.role}"

    def is_file(self) -> bool:
        """Whether it can be read."""
        return self.source is None or self.source.is_file()

    def __fspath__(self) -> str:
        return self.role if self.source is None else f"{self.source}#{self.role}"

    def __str__(self) -> str:
        return os.fspath(self)


def part_of(path: str | os.PathLike[str]) -> Part | None:
    """The part that a path names; None where it is a file."""
    text = os.fspath(path)
    source, mark, role = text.rpartition("#")
    if role not in ROLES or bool(mark) != bool(source) or Path(text).exists():
        return None
    return Part(role, Path(source) if source else None)
