"""Compressed data, expanded within a bound: a small file may hold more than memory does."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from structopt.errors import DataError

GZIP_SIGNATURE = b"\x1f\x8b"
KEY = "max_expansion"
DEFAULT = 100.0
"""How many times its size compressed data may become. Columns of text become 4 to 10 times their
size.
"""
ALWAYS = 64 << 20
"""Bytes that any file may become."""
CHUNK = 1 << 16

_bound: ContextVar[float] = ContextVar(KEY, default=DEFAULT)


@contextmanager
def expanding(settings: Mapping[str, Any]) -> Iterator[None]:
    """Let compressed data become as large as the settings say, by the key ``max_expansion``, while
    this lasts.
    """
    token = _bound.set(settings.get(KEY, DEFAULT))
    try:
        yield
    finally:
        _bound.reset(token)


def check_expansion(path: str | Path, packed: int, expanded: int) -> None:
    """Raise DataError where so many packed bytes may not become so many."""
    times = _bound.get()
    if expanded > max(ALWAYS, times * packed):
        size = f"{packed / 1000:.0f} kB become more than {expanded // 1_000_000} MB"
        advice = (
            f"if the file is what you mean, set {KEY}={10 * times:g}, and mind that memory must "
            "hold it"
        )
        raise DataError(
            path,
            None,
            f"it expands to over {times:g} times its size ({size})",
            remedy=f"{advice}.",
        )


class Expansion:
    """The size that the members of an archive have together so far.

    Parameters
    ----------
    path : str or Path
        The archive.
    packed : int
        Its bytes.
    """

    def __init__(self, path: str | Path, packed: int) -> None:
        self.path, self.packed, self.size = path, packed, 0

    def add(self, size: int) -> None:
        """Count the bytes of a member.

        Raises
        ------
        DataError
            If all members together expand to more than they may.
        """
        self.size += size
        check_expansion(self.path, self.packed, self.size)


def expanded(path: str | Path, data: bytes) -> bytes:
    """Return the bytes of a file, expanded where it is gzip, of one member or several; O(bytes).

    Raises
    ------
    DataError
        A gzip file that is truncated or damaged, or that expands to more than it may; a file that
        is named so and is none.
    """
    if data.startswith(GZIP_SIGNATURE):
        return _gunzip(path, data)
    if data and str(path).endswith(".gz"):
        raise DataError(
            path,
            None,
            "the name ends in .gz, but this is not a gzip file",
            remedy="rename it, or compress it with gzip.",
        )
    return data


def _gunzip(path: str | Path, data: bytes) -> bytes:
    packed, chunks, size = io.BytesIO(data), [], 0
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while chunk := stream.read(CHUNK):
                chunks.append(chunk)
                size += len(chunk)
                check_expansion(path, packed.tell(), size)
    except EOFError:
        raise DataError(
            path,
            None,
            "the gzip file is truncated",
            remedy="copy or download it again.",
        ) from None
    except (OSError, zlib.error) as error:
        raise DataError(
            path,
            None,
            f"the gzip file is damaged ({error})",
            remedy="copy or download it again.",
        ) from error
    return b"".join(chunks)
