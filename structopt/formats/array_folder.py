"""A folder of arrays that are mapped into memory: one ``.npy`` file an array, and a manifest with
checksums of every segment.

It is written beside its place, synced, then renamed, so that a folder under its name is whole. When
it is opened, every byte is compared with the manifest: a folder that is cut off, altered or of
another key is refused, and never used.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from structopt.core.memory import in_words
from structopt.errors import ConfigError, StructoptError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array

FORMAT = 1
"""Of the manifest and the files; folders of another one are made anew."""
MANIFEST = "manifest.json"
SEGMENT = 32 << 20
"""Bytes of a file that have a checksum together."""
HEADER = 128
"""Bytes before the numbers of a file."""


class UnusableFolder(StructoptError):
    """A folder that holds no such arrays, or damaged ones; its text says why, as a clause."""


class ArrayFolderWriter:
    """Writes a folder of vectors that are given piece by piece.

    Parameters
    ----------
    folder : Path
        Its final place.
    key : mapping
        JSON values that tell it from other folders.
    """

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        self.folder, self.key = folder, key
        self.beside = folder.with_name(temporary_name(folder.name))
        for left in folder.parent.glob(f".{folder.name}.*.partial"):
            if not _is_running(left.name.split(".")[-2].partition("-")[0]):
                shutil.rmtree(left, ignore_errors=True)  # of a process that was killed
        self.beside.mkdir(parents=True)
        self._files: dict[str, _VectorFile] = {}

    def add(self, name: str, piece: Array) -> None:
        """Append numbers to a vector, whose type is that of its first piece."""
        if name not in self._files:
            self._files[name] = _VectorFile(self.beside / f"{name}.npy", piece.dtype)
        try:
            self._files[name].add(piece)
        except OSError as error:
            raise ConfigError(
                f"{in_words(piece.nbytes)} more cannot be written ({error.strerror or error}).",
                where=str(self.folder),
                remedy="Free some room, or set storage.folder to a folder of another disk.",
            ) from error

    def size(self, name: str) -> int:
        """How many numbers a vector has so far."""
        return self._files[name].size if name in self._files else 0

    def finish(self, notes: Mapping[str, Any]) -> None:
        """Sync all files, write the manifest, and put the folder in its place, instead of what is
        there.
        """
        arrays = {name: file.close() for name, file in self._files.items()}
        content = {"format": FORMAT, "key": dict(self.key), "arrays": arrays, "notes": dict(notes)}
        durable_files.write_json(
            self.beside / MANIFEST, {**content, "checksum": _checksum_of(content)}
        )
        _sync(self.beside)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.beside.rename(self.folder)
        _sync(self.folder.parent)

    def abandon(self) -> None:
        """Remove what was written, unless it is finished."""
        shutil.rmtree(self.beside, ignore_errors=True)


class _VectorFile:
    """A ``.npy`` file of a vector that grows; its header is written last."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.stream, self.dtype, self.size = path.open("wb"), dtype, 0
        self.stream.write(bytes(HEADER))
        self.checksums: list[int] = []
        self._sum, self._room = 0, SEGMENT

    def add(self, piece: Array) -> None:
        data = np.ascontiguousarray(piece, self.dtype).reshape(-1).view(np.uint8).data
        self.size += len(piece)
        self.stream.write(data)
        while len(data):
            part = data[: self._room]
            self._sum, self._room = crc32(part, self._sum), self._room - len(part)
            data = data[len(part) :]
            if not self._room:
                self._end_segment()

    def close(self) -> dict[str, Any]:
        """Write the header and sync; return the entry of the manifest."""
        if self._room < SEGMENT:
            self._end_segment()
        self.stream.seek(0)
        self.stream.write(_header(self.dtype, self.size))
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.stream.close()
        return {"type": self.dtype.str, "size": self.size, "checksums": self.checksums}

    def _end_segment(self) -> None:
        self.checksums.append(self._sum)
        self._sum, self._room = 0, SEGMENT


def temporary_name(name: str) -> str:
    """Return an unpredictable name of a folder that becomes `name`; it has this process's id."""
    return f".{name}.{os.getpid()}-{secrets.token_hex(8)}.partial"


def opened(
    folder: Path, key: Mapping[str, Any] | None = None, checked: bool = True
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Map the arrays of a folder, and read its notes. The maps can be written to, which leaves the
    files as they are.

    Parameters
    ----------
    folder : Path
    key : mapping or None
        What it must have been written with; None: anything.
    checked : bool
        Whether all bytes are compared with their checksums; else the lengths of the files are.

    Raises
    ------
    UnusableFolder
    """
    manifest = _manifest(folder)
    if key is not None and manifest["key"] != json.loads(durable_files.json_bytes(key)):
        raise UnusableFolder("it is of other data or settings")
    arrays = {}
    try:
        for name, entry in manifest["arrays"].items():
            path = folder / f"{name}.npy"
            _check(path, entry, checked)
            arrays[name] = (
                np.asarray(np.load(path, mmap_mode="c"))
                if entry["size"]
                else np.zeros(0, entry["type"])
            )
    except (OSError, ValueError) as error:
        raise UnusableFolder(f"{name}.npy cannot be read ({error})") from error
    except (KeyError, TypeError) as error:
        raise UnusableFolder(f"its manifest has no entry of {name} ({error})") from error
    return arrays, manifest["notes"]


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, as it was written."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf8"))
    except FileNotFoundError:
        raise UnusableFolder("there is no manifest") from None
    except (OSError, ValueError) as error:
        raise UnusableFolder(f"its manifest cannot be read ({error})") from error
    checksum = content.pop("checksum", None) if isinstance(content, dict) else None
    if checksum is None or checksum != _checksum_of(content):
        raise UnusableFolder("its manifest was altered")
    if content.get("format") != FORMAT:
        raise UnusableFolder("it was written by another version")
    return dict(content)


def _check(path: Path, entry: Mapping[str, Any], checked: bool) -> None:
    """Compare a file with its entry of the manifest."""
    dtype, size = np.dtype(entry["type"]), entry["size"]
    if path.stat().st_size != HEADER + size * dtype.itemsize:
        raise UnusableFolder(f"{path.name} is truncated, or longer than it was")
    with path.open("rb") as stream:
        if stream.read(HEADER) != _header(dtype, size):
            raise UnusableFolder(f"{path.name} was altered")
        if checked and list(_checksums(stream)) != entry["checksums"]:
            raise UnusableFolder(f"{path.name} was altered")


def _checksums(stream: Any) -> Iterator[int]:
    """Of the segments of an open file, from where it stands."""
    buffer = memoryview(bytearray(1 << 20))
    while True:
        value, left = 0, SEGMENT
        while left and (count := stream.readinto(buffer[: min(left, len(buffer))])):
            value, left = crc32(buffer[:count], value), left - count
        if left < SEGMENT:
            yield value
        if left:
            return


def _checksum_of(content: Mapping[str, Any]) -> int:
    """Of a manifest as it is read back."""
    return crc32(json.dumps(json.loads(durable_files.json_bytes(content)), sort_keys=True).encode())


def _header(dtype: np.dtype[Any], size: int) -> bytes:
    """The header of a ``.npy`` file of a vector, version 1.0, `HEADER` bytes long."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({size},), }}"
    return (
        b"\x93NUMPY\x01\x00"
        + (HEADER - 10).to_bytes(2, "little")
        + f"{text:<{HEADER - 11}}\n".encode("ascii")
    )


def _is_running(process: str) -> bool:
    """Whether there may be a process of this number."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True


def _sync(folder: Path) -> None:
    """Sync the entries of a folder, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
