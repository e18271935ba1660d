"""Writing files durably: to a temporary file in the same folder, synced, then renamed. Bytes, JSON,
safetensors; no pickle.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from structopt.errors import DataError, ModelError
from structopt.formats.in_memory.texts import keep
from structopt.kernels.waist.record import Array

LARGEST_JSON = 1 << 30
"""Bytes of JSON that are read at most."""
SMALL = 256 << 20
"""Bytes of arrays from which a file is written array by array, and not made in memory first."""
SAFETENSORS = {
    "i8": "I64",
    "f8": "F64",
    "f4": "F32",
    "i4": "I32",
    "i2": "I16",
    "i1": "I8",
    "u1": "U8",
    "b1": "BOOL",
}
"""Names of types in safetensors, in the order in which its files have them."""
TAKE_ANOTHER = "Take it from a backup, or train again."
DESCRIPTOR = re.compile(r"/(?:dev|proc/(\d+)(?:/task/\d+)?)/fd/(\d+)")
"""A path without links that names an open file of this or another process."""
MOST_LINKS = 40
"""Links that a path may pass through, as in Linux."""


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by some bytes: see `write_pieces`."""
    write_pieces(path, [data])


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Replace a file atomically: a reader sees the old file or the new one, and never a
    half-written one.

    The mode of a replaced file stays. Bytes are appended to a pipe, a device or an open file, such
    as /dev/stdout. Of a link the file is replaced to which it refers.
    """
    with naming(path):
        if (stream := opened_stream(path)) is not None:
            with stream:
                stream.writelines(pieces)
        else:
            _replace(Path(os.path.realpath(path)), pieces)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in errors of the operating system that do not: a disk that is full when data
    are written or synced.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def temporary_file(path: Path) -> tuple[int, Path]:
    """Create a file in the folder of `path` for its new content; return its descriptor and path.

    The name is unpredictable, and a link of that name is an error, so that nobody can redirect the
    content of a shared folder to another file.
    """
    while True:
        temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.partial")
        try:
            return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), temporary
        except FileExistsError:
            continue


def _replace(path: Path, data: Iterable[bytes | memoryview]) -> None:
    descriptor, temporary = temporary_file(path)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(data)
            stream.flush()
            with suppress(OSError):  # a new file, or a file system without modes
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def opened_stream(path: Path) -> BinaryIO | None:
    """Open a pipe, a device or an open file, such as /dev/stdout, to append to it; None for files.

    An open file of this process is written to at its present place: opening its path would begin at
    the first byte again.
    """
    own = _open_file(path)
    if own is not None:
        if own == 1:
            sys.stdout.flush()
        return os.fdopen(os.dup(own), "wb")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # the error of the caller's write names the reason
        return None
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        return None
    return os.fdopen(os.open(path, os.O_WRONLY), "wb")


def _open_file(path: Path) -> int | None:
    """Return the descriptor of an open file of this process; None for another path."""
    try:
        for _ in range(MOST_LINKS):
            path = Path(os.path.realpath(path.parent), path.name)
            if named := DESCRIPTOR.fullmatch(str(path)):
                return int(named[2]) if named[1] in (None, str(os.getpid())) else None
            path = path.parent / os.readlink(path)
    except (OSError, ValueError):  # not a link
        return None
    return None


def replace_file(path: str | Path, data: bytes | Iterator[bytes]) -> None:
    """Replace a file that the user named, as `write_pieces` does, by bytes or by pieces of them.

    Raises
    ------
    DataError
        The folder does not exist or cannot be written; nothing is left behind.
    """
    if isinstance(data, bytes) and keep(path, data):
        return
    try:
        write_pieces(Path(path), [data] if isinstance(data, bytes) else data)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(
            path,
            None,
            f"the file cannot be written ({reason})",
            remedy="choose a folder that exists and is writable.",
        ) from error


def write_json(path: Path, values: Any) -> None:
    """Write JSON with keys in the order of the mapping, which matters for columns; equal values
    give equal bytes.
    """
    write_bytes(path, json_bytes(values))


def json_bytes(values: Any) -> bytes:
    """JSON with keys in the order of the mapping, UTF-8, indented, infinities as the words ``inf``
    and ``-inf``.
    """
    return (
        json.dumps(plain(values), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()


def plain(value: Any) -> Any:
    """A value as JSON has it: string keys, lists, Python's numbers, infinities as words."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def read_json(path: Path, most_bytes: int = LARGEST_JSON) -> Any:
    """Read JSON that was written by `write_json`.

    Raises
    ------
    ModelError
        If the file is missing, larger than `most_bytes`, or no JSON in UTF-8 whose nesting and
        numbers Python takes.
    """
    try:
        if (size := path.stat().st_size) > most_bytes:
            raise ModelError(
                f"{size} bytes, where at most {most_bytes} are read.",
                where=str(path),
                remedy=TAKE_ANOTHER,
            )
        return json.loads(path.read_bytes().decode("utf8"))
    except FileNotFoundError:
        raise ModelError(
            "there is no such file; the folder is not complete.",
            where=str(path),
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(
            "truncated or altered.",
            where=str(path),
            remedy=f"{TAKE_ANOTHER} (It is no JSON in UTF-8: {_reason(error)}.)",
        ) from None


def _reason(error: Exception) -> str:
    return (
        "nested too deeply" if isinstance(error, RecursionError) else str(error).partition(":")[0]
    )


def write_arrays(
    path: Path, arrays: Mapping[str, Array], notes: Mapping[str, Any] | None = None
) -> None:
    """Write arrays, and notes as JSON, into one safetensors file; no copy of an array is made."""
    from safetensors.numpy import save

    metadata = {"notes": json.dumps(plain(notes or {}), sort_keys=True)}
    contiguous = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    if sum(array.nbytes for array in contiguous.values()) < SMALL:
        write_bytes(path, save(contiguous, metadata))
    else:
        with naming(path):
            _replace(Path(os.path.realpath(path)), _safetensors(contiguous, metadata))


def _safetensors(
    arrays: Mapping[str, Array], metadata: Mapping[str, str]
) -> Iterator[bytes | memoryview]:
    """The bytes of a safetensors file, array by array, those of the widest numbers first, so that
    all are aligned.
    """
    types = list(SAFETENSORS)
    ordered = sorted(arrays.items(), key=lambda item: (types.index(item[1].dtype.str[1:]), item[0]))
    entries: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        entries[name] = {
            "dtype": SAFETENSORS[array.dtype.str[1:]],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    yield len(header).to_bytes(8, "little") + header
    for _, array in ordered:
        yield array.reshape(-1).view(np.uint8).data


def read_arrays(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what `write_arrays` wrote.

    Raises
    ------
    ModelError
        If the file is missing, truncated or not of that format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            notes = json.loads((stored.metadata() or {}).get("notes", "{}"))
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelError(
            "there is no such file; the folder is not complete.",
            where=str(path),
        ) from None
    except (
        SafetensorError,
        ValueError,
        OSError,
        RecursionError,
        TypeError,
        LookupError,
        AttributeError,
        MemoryError,
    ) as error:
        raise ModelError(
            f"truncated or damaged ({error}).",
            where=str(path),
            remedy=TAKE_ANOTHER,
        ) from None
    if not isinstance(notes, dict):
        raise ModelError(
            "truncated or damaged (its notes are no mapping).",
            where=str(path),
            remedy=TAKE_ANOTHER,
        )
    return arrays, notes
