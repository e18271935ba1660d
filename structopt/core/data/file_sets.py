"""Corpora of several files: a folder, a glob, ranges of names, the members of an archive."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from structopt.core.data import name_patterns
from structopt.core.data.splits import SplitPath
from structopt.errors import ConfigError, DataError

ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip")
"""How the names of archives end."""
MEMBERS = re.compile(r"(.*?\.(?:tar\.gz|tgz|tar|zip)):(.+)", re.IGNORECASE | re.DOTALL)
"""An archive, and a pattern of names in it."""


@dataclass(frozen=True)
class FileSet(os.PathLike[str]):
    """Files that are read as one corpus.

    Attributes
    ----------
    pattern : str
        A folder (all files in it and in its folders, but hidden ones, sorted); a pattern of names
        (see `structopt.core.data.name_patterns`); or ``ARCHIVE:PATTERN``, where a pattern without
        ``/`` fits members in any folder; an archive alone stands for all its members.
    """

    pattern: str

    @property
    def name(self) -> str:
        """Name without folders."""
        if members := MEMBERS.fullmatch(self.pattern):
            return f"{Path(members[1]).name}:{members[2]}"
        return Path(self.pattern).name

    def is_file(self) -> bool:
        """Whether there is something to read."""
        try:
            return bool(self.names())
        except DataError:
            return False

    def names(self) -> list[str]:
        """Return the names of the files, in the order in which they are read; of members, in their
        archive.

        Raises
        ------
        DataError
            There are none; the message shows the nearest names.
        """
        if archive := self._archive():
            with _opened(archive[0]) as members:
                return self._members(archive[1], list(members))
        if os.path.isdir(self.pattern):
            names = list(map(str, _files(Path(self.pattern))))
            if not names:
                raise DataError(
                    self.pattern, None, "there is no file in this folder", remedy="check the path."
                )
            return names
        try:
            return name_patterns.chosen(self.pattern, _globbed, self._neighbours)
        except (OSError, ValueError) as error:  # a name that is too long, or has a NUL character
            reason = error.strerror if isinstance(error, OSError) else error
            message = f"these files cannot be listed ({reason})"
            raise DataError(self.pattern, None, message, remedy="correct the path.") from error

    @property
    def is_archive(self) -> bool:
        """Whether the files are members of an archive."""
        return self._archive() is not None

    @property
    def packed_size(self) -> int:
        """Bytes of the archive; 0 if there is none."""
        archive = self._archive()
        return os.path.getsize(archive[0]) if archive and os.path.isfile(archive[0]) else 0

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path of every file, for messages, and its bytes."""
        archive = self._archive()
        if archive is None:
            for name in self.names():
                try:
                    data = Path(name).read_bytes()
                except OSError as error:
                    raise DataError(
                        name,
                        None,
                        f"the file cannot be read ({error.strerror})",
                        remedy="check its permissions.",
                    ) from error
                yield name, data
            return
        with _opened(archive[0]) as members:
            for name in self._members(archive[1], list(members)):
                yield f"{archive[0]}:{name}", members[name]()

    def _archive(self) -> tuple[Path, str] | None:
        """The archive and the pattern of its members; None where the files are in folders."""
        if (members := MEMBERS.fullmatch(self.pattern)) and not os.path.isdir(self.pattern):
            return Path(members[1]), members[2]
        alone = self.pattern.lower().endswith(ENDINGS) and not os.path.isdir(self.pattern)
        return (Path(self.pattern), "**") if alone else None

    def _members(self, pattern: str, names: Sequence[str]) -> list[str]:
        """The members that a pattern fits; hidden ones only where it names them."""
        visible = name_patterns.Names(
            [name for name in names if not _hidden(Path(name)) or name == pattern]
        )
        try:
            return name_patterns.chosen(pattern, visible.fitting, lambda: visible.sorted)
        except DataError as error:
            raise DataError(self.pattern, None, error.message) from None

    def _neighbours(self) -> list[str]:
        """The files of the folder that a pattern begins with."""
        plain = (
            self.pattern[: sign.start()]
            if (sign := name_patterns.SIGNS.search(self.pattern))
            else self.pattern
        )
        folder = Path(plain).parent if not plain.endswith("/") else Path(plain)
        return (
            [str(path) for path in sorted(folder.iterdir()) if path.is_file()]
            if os.path.isdir(folder)
            else []
        )

    def __fspath__(self) -> str:
        return self.pattern

    def __str__(self) -> str:
        return self.pattern


DataPath = Path | SplitPath | FileSet


def data_path(path: str | os.PathLike[str]) -> Path | FileSet:
    """Return a path as what it names: one file, or several. A file whose name has signs of patterns
    is a file.
    """
    text = os.fspath(path)
    try:
        file, is_folder, exists = Path(text), os.path.isdir(text), os.path.exists(text)
    except (OSError, ValueError):
        return Path(text)
    if exists and not is_folder:
        return FileSet(text) if text.lower().endswith(ENDINGS) else file
    several = is_folder or MEMBERS.fullmatch(text) or name_patterns.SIGNS.search(text)
    return FileSet(text) if several else file


def check_exists(path: DataPath) -> None:
    """Raise ConfigError where a file of a task does not exist, DataError where no file fits a
    pattern.
    """
    if isinstance(path, FileSet):
        path.names()
    elif not (path.is_file() if isinstance(path, SplitPath) else os.path.isfile(path)):
        raise ConfigError(
            "there is no such file.",
            where=str(path),
            remedy="Check `train`, `dev` and `test`.",
            kinds=dict.fromkeys(("train", "dev", "test"), "task"),
        )


def check_one_file(path: str | os.PathLike[str], form: str) -> None:
    """Raise DataError where a path names several files, and a form of data (``an npz``) is read
    from one.
    """
    if isinstance(data_path(path), FileSet):
        raise DataError(
            os.fspath(path),
            None,
            f"this names several files, and {form} is read from one",
            remedy="give its path.",
        )


def digest(path: Path | FileSet) -> str:
    """SHA-256 of a file, in hexadecimal; of several files, of their bytes one after the other."""
    if isinstance(path, FileSet):
        sums = hashlib.sha256()
        for _, data in path.contents():
            sums.update(data)
        return sums.hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _opened(archive: Path) -> AbstractContextManager[Mapping[str, Callable[[], bytes]]]:
    """Open an archive, with libraries that nothing else needs at the start."""
    from structopt.core.data.archives import opened

    return opened(archive)


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if not _hidden(path.relative_to(folder)) and path.is_file()
    )


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in path.parts)


def _globbed(pattern: str) -> list[str]:
    """The files that a pattern without braces fits, sorted.

    Several ``**`` are matched against the list of all files, because `glob` lists folders once for
    each way to divide a path among them.
    """
    sign = name_patterns.SIGNS.search(pattern)
    if not sign:
        return [pattern] if os.path.isfile(pattern) else []
    if pattern.count("**") > 1:
        begin = "".join(pattern[: sign.start()].rpartition("/")[:2])
        folder = begin or "."
        names = [begin + os.path.relpath(path, folder) for path in _files(Path(folder))]
        return name_patterns.Names(names).fitting(pattern)
    return sorted(path for path in glob(pattern, recursive=True) if os.path.isfile(path))
