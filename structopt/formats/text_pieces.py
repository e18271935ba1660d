"""Text files read in pieces that end at empty lines, so that a file need not fit into memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import Path
from typing import IO, Any, NamedTuple

from structopt.core.data.expansion import GZIP_SIGNATURE
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import DataError
from structopt.formats.text_files import BYTE_ORDER_MARK, check_encoding, read_each

SIZE = 1 << 22
"""Characters of a piece, about."""
SPACE = " \t\r\f\v\n"
STRETCH = 1 << 24
"""Bytes of a stretch, about."""


class Stretch(NamedTuple):
    """Consecutive lines of a plain file; or the whole of a file, or of an archive, where `end` is
    None.

    Attributes
    ----------
    path : str or FileSet
        The file.
    begin : int
        The place of its first byte.
    end : int or None
        The place behind the last one.
    line : int
        The number of the first of the lines, from 1.
    """

    path: Any
    begin: int = 0
    end: int | None = None
    line: int = 1


class Piece(NamedTuple):
    """Consecutive lines of a file.

    Attributes
    ----------
    path : str
        The file.
    line : int
        The number of the first of the lines, from 1.
    text : str
        It ends after an empty line, or with the file.
    """

    path: str
    line: int
    text: str


def stretches(path: Any, encoding: str = "utf8") -> list[Stretch]:
    """Divide files into stretches that end at empty lines, of about `STRETCH` bytes where files are
    plain.

    A file that is compressed is one, and so is an archive. Raises `DataError` where there is no
    such file.
    """
    return [stretch for name in _names(path) for stretch in _stretches_of(name, encoding)] or [
        Stretch(path)
    ]


def _names(path: Any) -> list[str]:
    """The files of a path, one by one; none where it is an archive, whose members are read
    together.
    """
    files = data_path(path)
    if isinstance(files, FileSet):
        return [] if files.is_archive else files.names()
    return [str(path)]


def _stretches_of(name: str, encoding: str) -> list[Stretch]:
    """The stretches of one file."""
    if not _is_plain(name) or not _lines_are_bytes(encoding):
        return [Stretch(name)]
    found, begin, line = [], 0, 1
    with Path(name).open("rb") as stream:
        while block := stream.read(STRETCH):
            # without the empty line, which is then read over
            rest = chain([stream.readline()], takewhile(bytes.strip, stream))
            lines = block.count(b"\n") + sum(one.endswith(b"\n") for one in rest)
            end = stream.tell()
            found.append(Stretch(name, begin, end, line))
            begin, line = end, line + lines + 1
    return found or [Stretch(name)]


def _lines_are_bytes(encoding: str) -> bool:
    """Whether lines and white space are the same bytes as in ASCII, so that a file may be cut
    before it is decoded.
    """
    check_encoding(encoding)
    return "\n \t".encode(encoding) == b"\n \t"


def read_pieces(path: Any, encoding: str = "utf8", size: int = SIZE) -> Iterator[Piece]:
    r"""Yield the text of files, or of a stretch, piece by piece, as
    `structopt.formats.text_files.read_text` reads it.

    A plain file is read as it is needed. One that is compressed, and a member of an archive, is
    expanded in memory.

    Raises
    ------
    DataError
        See `read_text`.
    ConfigError
        An unknown encoding.
    """
    check_encoding(encoding)
    empty = True
    for piece in _pieces_of_all(path, encoding, size):
        empty = empty and not piece.text.strip()
        yield piece
    if empty and not isinstance(path, Stretch):
        raise DataError(
            path,
            None,
            "the file is empty",
            remedy="check the path, or make the file again.",
        )


def _pieces_of_all(path: Any, encoding: str, size: int) -> Iterator[Piece]:
    if isinstance(path, Stretch):
        yield from _pieces_of_stretch(path, encoding, size)
        return
    names = _names(path)
    for name in names or [path]:
        if names and _is_plain(name):
            with Path(name).open("rb") as stream:
                yield from _decoded(name, stream, encoding, size)
        else:
            for member, text in read_each(name, encoding):
                yield from _cut(member, io.StringIO(text), size)


def _pieces_of_stretch(stretch: Stretch, encoding: str, size: int) -> Iterator[Piece]:
    if stretch.end is None:
        yield from _pieces_of_all(stretch.path, encoding, size)
        return
    with Path(stretch.path).open("rb") as stream:
        stream.seek(stretch.begin)
        yield from _decoded(
            stretch.path,
            io.BytesIO(stream.read(stretch.end - stretch.begin)),
            encoding,
            size,
            stretch.line,
        )


def _is_plain(name: str) -> bool:
    """Whether there is a file that is not gzip, nor named so, which is refused where it is read."""
    if not Path(name).is_file():
        return False
    with Path(name).open("rb") as stream:
        return stream.read(2) != GZIP_SIGNATURE and not name.endswith(".gz")


def _decoded(
    name: str, stream: IO[bytes], encoding: str, size: int, line: int = 1
) -> Iterator[Piece]:
    """The pieces of an open file, whose first line has a number."""
    with io.TextIOWrapper(stream, encoding, newline="\n") as lines:
        try:
            for piece in _cut(name, lines, size, line):
                line = piece.line
                yield piece
        except UnicodeError as error:
            advice = "set task.encoding to the file's encoding, for example task.encoding=latin-1"
            raise DataError(
                name,
                None,
                f"behind line {line} the file is not {encoding} ({error})",
                remedy=f"{advice}.",
            ) from error


def _cut(name: str, lines: IO[str], size: int, first: int = 1) -> Iterator[Piece]:
    """The pieces of the lines of a file."""
    begin, length = first, 0
    gathered: list[str] = []
    for number, line in enumerate(lines, first):
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        gathered.append(f"{text[:-2]}\n" if text.endswith("\r\n") else text)
        length += len(text)
        if length >= size and not text.strip(SPACE):
            yield Piece(name, begin, "".join(gathered))
            begin, length, gathered = number + 1, 0, []
    if gathered:
        yield Piece(name, begin, "".join(gathered))
