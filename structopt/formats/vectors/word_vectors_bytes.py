"""Files of word vectors as bytes, a block at a time, plain or gzip: they may be larger than
memory.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from structopt.core.data.expansion import GZIP_SIGNATURE, check_expansion
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import DataError, missing_file

BLOCK = 1 << 22
"""Bytes that are read at a time."""
LONGEST_LINE = 1 << 24
"""Bytes of a line, at most: a million numbers."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEADER = re.compile(rb"[ \t]*([0-9]{1,15})[ \t]+([0-9]{1,7})[ \t\r]*")


class Header(NamedTuple):
    """The first line of word2vec's files: how many words follow, and how many numbers each has."""

    words: int
    dimensions: int


def header_of(line: bytes) -> Header | None:
    """Return what a line says as a header; None where it is no two whole numbers."""
    match = HEADER.fullmatch(line.removeprefix(BYTE_ORDER_MARK))
    return Header(int(match[1]), int(match[2])) if match else None


def check_is_file(path: str | Path) -> None:
    """Raise DataError unless a path names one file, which can be read more than once."""
    if isinstance(data_path(path), FileSet):
        raise DataError(
            path,
            None,
            "this is a folder, a pattern or an archive, and word vectors are read from one file",
            remedy="give its path, unpacked.",
        )
    try:
        exists, is_file = Path(path).exists(), Path(path).is_file()
    except (OSError, ValueError):  # a name with a NUL character, or one that is too long
        exists = is_file = False
    if not exists:
        raise missing_file(path)
    if not is_file:
        raise DataError(
            path,
            None,
            "this is a pipe or a device, and input is read more than once",
            remedy="save it to a file, and give that.",
        )


def is_packed(path: str | Path) -> bool:
    """Whether a file is gzip, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(2) == GZIP_SIGNATURE


def blocks(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file, expanded where it is gzip, in blocks.

    Raises
    ------
    DataError
        A file that cannot be read; a gzip file that is truncated or damaged, or that expands to
        more than it may.
    """
    try:
        if is_packed(path):
            yield from _unpacked(path)
        else:
            yield from _plain(path)
    except EOFError:
        raise DataError(
            path,
            None,
            "the gzip file is truncated",
            remedy="copy or download it again.",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            path,
            None,
            f"the gzip file is damaged ({error})",
            remedy="copy or download it again.",
        ) from error
    except OSError as error:
        raise DataError(
            path,
            None,
            f"the file cannot be read ({error.strerror})",
            remedy="check the path and its permissions.",
        ) from error


def _plain(path: str | Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            if str(path).endswith(".gz"):
                raise DataError(
                    path,
                    None,
                    "the name ends in .gz, but this is not a gzip file",
                    remedy="rename it, or compress it with gzip.",
                )
            yield block


def _unpacked(path: str | Path) -> Iterator[bytes]:
    size = 0
    with open(path, "rb") as file, gzip.GzipFile(fileobj=file) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            check_expansion(path, file.tell(), size)
            yield block


def lines(path: str | Path, stream: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of a stream of blocks, many at a time: without a byte order mark, without
    white space at their ends.

    Tabs become spaces, so that one search finds all separators.

    Raises
    ------
    DataError
        A line that is too long to be one.
    """
    rest, mark = b"", BYTE_ORDER_MARK
    for block in stream:
        whole, end, tail = block.rpartition(b"\n")
        if end:
            yield _split((rest + whole).removeprefix(mark))
            rest, mark = tail, b""
        else:
            rest += tail
        if len(rest) > LONGEST_LINE:
            raise DataError(
                path,
                None,
                f"a line has over {LONGEST_LINE} bytes, so this is no text of word vectors",
                remedy="check the path.",
            )
    if rest:
        yield _split(rest.removeprefix(mark))


def _split(text: bytes) -> list[bytes]:
    return [line.rstrip() for line in text.replace(b"\t", b" ").split(b"\n")]
