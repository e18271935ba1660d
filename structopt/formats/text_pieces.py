"""Text files read in pieces that end at empty lines, so that a file need not fit into memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from structopt.core.data.expansion import GZIP_SIGNATURE
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import DataError
from structopt.formats.text_files import BYTE_ORDER_MARK, check_encoding, read_each

SIZE = 1 << 22
"""Characters of a piece, about."""
SPACE = " \t\r\f\v\n"


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


def read_pieces(path: str | Path, encoding: str = "utf8", size: int = SIZE) -> Iterator[Piece]:
    r"""Yield the text of a file, or of several, piece by piece, as `structopt.formats.text_files.read_text` reads it.

    A plain file is read as it is needed. One that is compressed, and a member of an archive, is expanded in memory.

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
    if empty:
        raise DataError(path, None, "the file is empty: check the path, or make the file again.")


def _pieces_of_all(path: str | Path, encoding: str, size: int) -> Iterator[Piece]:
    files = data_path(path)
    names = [str(path)] if not isinstance(files, FileSet) else files.names() if not files.is_archive else []
    if not names:
        for name, text in read_each(path, encoding):
            yield from _cut(name, io.StringIO(text), size)
    for name in names:
        if Path(name).is_file() and not _is_compressed(name):
            with Path(name).open("rb") as stream:
                yield from _decoded(name, stream, encoding, size)
        else:
            for _, text in read_each(name, encoding):
                yield from _cut(name, io.StringIO(text), size)


def _is_compressed(name: str) -> bool:
    """Whether a file is gzip; or is named so, which is refused where it is read."""
    with Path(name).open("rb") as stream:
        return stream.read(2) == GZIP_SIGNATURE or name.endswith(".gz")


def _decoded(name: str, stream: IO[bytes], encoding: str, size: int) -> Iterator[Piece]:
    """The pieces of an open file."""
    line = 1
    with io.TextIOWrapper(stream, encoding, newline="\n") as lines:
        try:
            for piece in _cut(name, lines, size):
                line = piece.line
                yield piece
        except UnicodeError as error:
            advice = "set task.encoding to the file's encoding, for example task.encoding=latin-1"
            raise DataError(name, None, f"behind line {line} the file is not {encoding} ({error}): {advice}.") from error


def _cut(name: str, lines: IO[str], size: int) -> Iterator[Piece]:
    """The pieces of the lines of a file."""
    begin, number, length = 1, 0, 0
    gathered: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        gathered.append(f"{text[:-2]}\n" if text.endswith("\r\n") else text)
        length += len(text)
        if length >= size and not text.strip(SPACE):
            yield Piece(name, begin, "".join(gathered))
            begin, length, gathered = number + 1, 0, []
    if gathered:
        yield Piece(name, begin, "".join(gathered))
