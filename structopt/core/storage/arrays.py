"""Where arrays as long as a corpus are kept: in memory, or in files that are mapped into memory.

Arrays of files look like any others to kernels and optimizers; the system reads and writes their
pages as they are used.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structopt.core.memory import in_words
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

RANGE = 1 << 14
"""Instances of which graphs, targets and costs are made at a time, where the corpus is in files."""


class Growing(Protocol):
    """A vector that is made piece by piece."""

    def add(self, piece: Array) -> None:
        """Append the numbers of an array."""

    def array(self) -> Array:
        """All numbers; nothing is added afterwards."""


class Storage(Protocol):
    """Makes arrays as long as a corpus.

    Attributes
    ----------
    in_files : bool
        Whether they are memory maps of files.
    folder : Path or None
        Of the files; None in memory.
    """

    @property
    def in_files(self) -> bool:
        """See above."""

    @property
    def folder(self) -> Path | None:
        """See above."""

    def zeros(self, size: int, dtype: Any = np.float64) -> Array:
        """A vector of zeros."""

    def growing(self, dtype: Any) -> Growing:
        """A vector that is made piece by piece."""

    def joined(self, arrays: Iterable[Array], dtype: Any) -> Array:
        """One vector of all numbers of some vectors, one after the other; they are looked at once,
        in their order.
        """

    def ranges(self, m: int) -> list[tuple[int, int]]:
        """Ranges of m instances of which as much as is made at a time fits into memory; at least
        one.
        """


@dataclass(frozen=True)
class InMemory:
    """Arrays of numpy."""

    in_files, folder = False, None

    def zeros(self, size: int, dtype: Any = np.float64) -> Array:
        """Allocate a vector of zeros."""
        return np.zeros(size, dtype)

    def growing(self, dtype: Any) -> GrowingInMemory:
        """Begin a list of pieces."""
        return GrowingInMemory(dtype)

    def joined(self, arrays: Iterable[Array], dtype: Any) -> Array:
        """Concatenate vectors; a single one of the type is not copied."""
        return _joined(self.growing(dtype), arrays)

    def ranges(self, m: int) -> list[tuple[int, int]]:
        """One range of all."""
        return [(0, m)]


@dataclass(frozen=True)
class InFiles:
    """Arrays that are mapped from nameless files of a folder, which vanish with their arrays,
    however the process ends.

    Room on the disk is taken before the map is made: where there is none, an error says so, and no
    access to the map fails later.

    Attributes
    ----------
    folder : Path
        Made where it is missing.
    """

    folder: Path
    in_files = True

    def zeros(self, size: int, dtype: Any = np.float64) -> Array:
        """Map a file of zeros.

        Raises
        ------
        ConfigError
            If the disk has no room for it.
        """
        count = size * np.dtype(dtype).itemsize
        if not count:
            return np.zeros(size, dtype)
        with self.file() as stream:
            self._reserve(stream.fileno(), count)
            return _mapped(stream, dtype, size)

    def growing(self, dtype: Any) -> GrowingInFile:
        """Open a file."""
        return GrowingInFile(self, dtype)

    def joined(self, arrays: Iterable[Array], dtype: Any) -> Array:
        """Write vectors to one file as they come, and map it."""
        return _joined(self.growing(dtype), arrays)

    def ranges(self, m: int) -> list[tuple[int, int]]:
        """Ranges of equal length."""
        return [(first, min(first + RANGE, m)) for first in range(0, max(1, m), RANGE)]

    def file(self) -> Any:
        """Open a nameless file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=self.folder)

    def _reserve(self, descriptor: int, count: int) -> None:
        """Take room on the disk, where the system can; else set the length alone."""
        try:
            os.posix_fallocate(descriptor, 0, count)
        except AttributeError:  # not on this system
            os.ftruncate(descriptor, count)
        except OSError as error:
            raise self.full(count, error) from error

    def full(self, count: int, error: OSError) -> ConfigError:
        """The error that says that the disk has no room for so many bytes."""
        return ConfigError(
            f"there is no room for {in_words(count)} more ({error.strerror or error}).",
            where=str(self.folder),
            remedy="Free some, or set storage.folder to a folder of another disk.",
        )


class GrowingInMemory:
    """Pieces of a vector; a `Growing`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.pieces: list[Array] = []

    def add(self, piece: Array) -> None:
        """Keep an array."""
        self.pieces.append(np.asarray(piece, self.dtype).reshape(-1))

    def array(self) -> Array:
        """Concatenate them; a single one is itself."""
        return (
            self.pieces[0]
            if len(self.pieces) == 1
            else np.concatenate([np.zeros(0, self.dtype), *self.pieces])
        )


class GrowingInFile:
    """A vector that grows in a nameless file; a `Growing`."""

    def __init__(self, storage: InFiles, dtype: Any) -> None:
        self.storage, self.dtype, self.size, self.stream = storage, dtype, 0, storage.file()

    def add(self, piece: Array) -> None:
        """Write an array; `ConfigError` if the disk is full."""
        flat = np.ascontiguousarray(piece, self.dtype).reshape(-1)
        try:
            self.stream.write(flat.view(np.uint8).data)
            self.stream.flush()
        except OSError as error:
            raise self.storage.full(flat.nbytes, error) from error
        self.size += len(flat)

    def array(self) -> Array:
        """Map the file."""
        with self.stream as stream:
            return _mapped(stream, self.dtype, self.size) if self.size else np.zeros(0, self.dtype)


def _joined(growing: Growing, arrays: Iterable[Array]) -> Array:
    """One vector of all numbers of some arrays."""
    for array in arrays:
        growing.add(array)
    return growing.array()


def _mapped(stream: Any, dtype: Any, size: int) -> Array:
    """Map an open file; the map keeps what is written to it, and outlives the file's name."""
    return np.asarray(np.memmap(stream, dtype, "r+", shape=(size,)))


IN_MEMORY = InMemory()
