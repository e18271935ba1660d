"""Reading CoNLL column files: one token a line, a blank line between sentences; plain or gzip."""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structopt.errors import ConfigError, DataError, line_name
from structopt.formats.conll_layouts import (
    OF_COMMENTS,
    OF_TEXTS,
    OF_TREES,
    WIDTH_OF_TREES,
    column_numbers,
)
from structopt.formats.tag_schemes import TagError, convert
from structopt.formats.text_files import check_limit, read_text
from structopt.formats.text_pieces import Stretch, read_pieces

DOCUMENT_START = "-DOCSTART-"
UNICODE_SPACE = re.compile("[\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
ASCII_CELLS = re.compile("[^ \t\n\r\f\v]+")
ASCII_SPACE = " \t\n\r\f\v"
FEW = 1 << 14
"""Most characters of a text whose token lines are kept."""

ColumnsByWidth = Callable[[int, int], Mapping[str, int]]
"""From the number of a file's first token line, and how many columns it has, to the numbers of the
named columns.
"""


@dataclass(frozen=True)
class Columns:
    """The named columns of a file, flat over all tokens.

    Attributes
    ----------
    path : str
        The file.
    offsets : int64, shape (sentences + 1,)
        Where each sentence begins and ends in the cells.
    cells : dict of str to list of str, each of length tokens
        The columns by name; an optional column that the file lacks is missing here. Equal strings
        are one object.
    lines : int64, shape (tokens,)
        The line of each token, from 1; in memory, the number of its sentence.
    numbers : dict of str to int
        Column numbers in the file, from 0, by name; empty for sentences in memory that give columns
        by name.
    width : int
        How many columns the file has; 0 for sentences in memory that give columns by name.
    fields : dict of str to str
        What the columns are called in a file whose fields have names; empty for other files, and in
        memory.
    matrices : mapping of str to sequence
        Matrices that came with sentences in memory, by key: one matrix per sentence.
    """

    path: str
    offsets: NDArray[np.int64]
    cells: dict[str, list[str]]
    lines: NDArray[np.int64]
    numbers: dict[str, int] = field(default_factory=dict)
    width: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    matrices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> Columns:
        """Return the sentences first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        cells = {name: column[begin:end] for name, column in self.cells.items()}
        return replace(
            self,
            offsets=self.offsets[first : last + 1] - begin,
            cells=cells,
            lines=self.lines[begin:end],
            matrices={key: every[first:last] for key, every in self.matrices.items()},
        )

    def sentences(self, name: str) -> list[list[str]]:
        """Return a column as one list a sentence."""
        cells, bounds = self.cells[name], self.offsets.tolist()
        return [cells[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


@dataclass(frozen=True)
class TokenLines:
    """The cells of a file, line after line; its number of columns; where sentences begin, and the
    number of each token line.
    """

    cells: list[str]
    width: int
    offsets: list[int]
    lines: array[int]


def read(
    path: str | Path,
    columns: Mapping[str, int] | ColumnsByWidth,
    limit: int | None = None,
    encoding: str = "utf8",
    separator: str | None = None,
    optional: Collection[str] = (),
    shared: Collection[str] = (),
    comment: str | None = None,
) -> Columns:
    """Read the named columns of a CoNLL file; blank lines separate sentences, and ``-DOCSTART-``
    lines and comments are skipped.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.
    columns : mapping of name to number, or callable
        Columns from 0; negative numbers count from the end. A function returns them, given the
        number of the first token line and how many columns it has.
    limit : int, optional
        Read the first so many sentences only.
    encoding : str
        The file's encoding.
    separator : str, optional
        What separates the cells; None means any run of ASCII white space.
    optional : collection of str
        Names that the file may lack: absent when the first token line has too few columns for the
        number, or when the number (counted from the end) falls on a column that another name has.
    shared : collection of str
        Optional names that may fall on a column that another optional name has.
    comment : str, optional
        How lines begin that are comments; None if there are none.

    Raises
    ------
    DataError
        A file that cannot be read or has no sentences, a line with another number of columns, a
        column out of range, two names for one column.
    ConfigError
        A limit below 1, an empty separator, or an unknown encoding.
    """
    tokens = whole_token_lines(path, read_text(path, encoding), limit, separator, comment)
    if not tokens.lines:
        raise no_sentences(path)
    return _columns(path, tokens, _numbers(path, tokens, columns, optional, shared))


def read_blocks(
    path: str | Path | Stretch,
    columns: Mapping[str, int] | ColumnsByWidth,
    limit: int | None = None,
    encoding: str = "utf8",
    separator: str | None = None,
    optional: Collection[str] = (),
    shared: Collection[str] = (),
    comment: str | None = None,
    known: tuple[int, int] = (0, 0),
) -> Iterator[Columns]:
    """Yield the sentences that `read` reads, block by block, of which one at a time is in memory;
    the parameters of `read`.

    Of a stretch behind the first, the number of the first token line of all and its width are
    `known`.

    Raises
    ------
    DataError, ConfigError
        Those of `read`; an error behind the first block comes when its block is read.
    """
    check_limit(limit)
    (first, width), left = known, limit
    numbers: dict[str, int] = {}
    for piece in read_pieces(path, encoding):
        tokens = token_lines(
            piece.path, piece.text, left, separator, comment, piece.line, width, first
        )
        if not tokens.lines:
            continue
        if not numbers:
            first, width = (first, width) if width else (tokens.lines[0], tokens.width)
            numbers = _numbers(piece.path, tokens, columns, optional, shared)
        yield _columns(piece.path, tokens, numbers)
        if left is not None and (left := left - len(tokens.offsets) + 1) == 0:
            return
    if not numbers and not isinstance(path, Stretch):
        raise no_sentences(path)


def _numbers(
    path: str | Path,
    tokens: TokenLines,
    columns: Mapping[str, int] | ColumnsByWidth,
    optional: Collection[str],
    shared: Collection[str],
) -> dict[str, int]:
    """The numbers of the columns, by the first token line; the errors of `read`."""
    first, width = tokens.lines[0], tokens.width
    try:
        numbers = columns(first, width) if callable(columns) else columns
        return column_numbers(path, first, width, numbers, optional, shared)
    except DataError as error:
        if _is_hashed(tokens.cells[0]):
            error.remedy = f"{error.remedy} {OF_COMMENTS}"
        raise


def _columns(path: str | Path, tokens: TokenLines, numbers: dict[str, int]) -> Columns:
    """The columns, in which equal strings are one object."""
    share: dict[str, str] = {}
    cells = {}
    for name, number in numbers.items():
        column = tokens.cells[number :: tokens.width]
        cells[name] = list(map(share.setdefault, column, column))
    lines = np.array(tokens.lines, np.int64)
    return Columns(
        str(path), np.array(tokens.offsets, np.int64), cells, lines, numbers, tokens.width
    )


def no_sentences(path: str | Path) -> DataError:
    """The error for a file without sentences."""
    return DataError(
        path,
        None,
        "the file has no sentences",
        remedy="check the path, or make the file again.",
    )


def first_line(
    path: str | Path,
    encoding: str = "utf8",
    separator: str | None = None,
    comment: str | None = None,
) -> tuple[int, int]:
    """Return the number of the first token line of a file, and how many columns it has; the errors
    of `read`.
    """
    for piece in read_pieces(path, encoding):
        tokens = token_lines(piece.path, piece.text, 1, separator, comment, piece.line)
        if tokens.lines:
            return tokens.lines[0], tokens.width
    raise no_sentences(path)


def convert_tags(columns: Columns, name: str, source: str, target: str) -> list[str]:
    """Return a column of tags, flat over all tokens, in another scheme, each sentence by
    `structopt.formats.tag_schemes.convert`.

    Raises
    ------
    DataError
        A tag outside the source scheme, with its file and line.
    ConfigError
        An unknown scheme, or a conversion from plain labels.
    """
    converted: list[str] = []
    share: dict[str, str] = {}
    for start, sentence in zip(columns.offsets.tolist(), columns.sentences(name), strict=False):
        try:
            tags = convert(sentence, source, target)
        except TagError as error:
            raise DataError(
                columns.path, int(columns.lines[start + error.position]), f"{error}."
            ) from None
        converted.extend(map(share.setdefault, tags, tags))
    return converted


def _splitter(text: str, separator: str | None) -> Callable[[str], Sequence[str]]:
    """The function that splits a line of the text into cells; `str.split` where no Unicode space
    could mislead it.
    """
    if separator == "":
        raise ConfigError(
            "the separator is empty",
            remedy="give the character between the columns, or null for any white space.",
        )
    if separator is not None:
        return lambda line: line.split(separator) if line.strip(ASCII_SPACE) else ()
    return ASCII_CELLS.findall if UNICODE_SPACE.search(text) else str.split


def token_lines(
    path: str | Path,
    text: str,
    limit: int | None,
    separator: str | None,
    comment: str | None = None,
    begin: int = 1,
    width: int = 0,
    first: int = 0,
) -> TokenLines:
    """Split a text, or its first `limit` sentences, into cells; the errors of `read` but for those
    of columns.

    Lines that begin with `comment` are skipped. The lines of a piece are counted from `begin`. The
    first token line of its file has the number `first` and `width` columns; 0: not known.
    """
    check_limit(limit)
    split, end = _splitter(text, separator), -1 if limit is None else limit + 1
    cells: list[str] = []
    offsets, lines = [0], array("q")
    for number, line in enumerate(text.split("\n"), begin):
        if comment and line.startswith(comment):
            continue
        row = split(line)
        if not row or row[0] == DOCUMENT_START:
            if len(lines) > offsets[-1]:
                offsets.append(len(lines))
                if len(offsets) == end:
                    break
            continue
        if len(row) != width:
            if width:
                raise _ragged(
                    path,
                    number,
                    (row[0], cells[0] if cells else ""),
                    len(row),
                    width,
                    first or lines[0],
                )
            width = len(row)
        cells.extend(row)
        lines.append(number)
    if len(lines) > offsets[-1]:
        offsets.append(len(lines))
    return TokenLines(cells, width, offsets, lines)


def whole_token_lines(
    path: str | Path, text: str, limit: int | None, separator: str | None, comment: str | None
) -> TokenLines:
    """Return `token_lines` of a whole text; the lines of a short text are cached until the next."""
    own = path, text, limit, separator, comment
    if len(text) > FEW:
        return token_lines(*own)
    if _latest.arguments != own:
        _latest.tokens = token_lines(*own)
        _latest.arguments = own
    return _latest.tokens


class _Latest(threading.local):
    """The latest short text: a stream splits each text to predict it, and again to write it."""

    arguments: tuple[Any, ...] = ()
    tokens: TokenLines


_latest = _Latest()


def _ragged(
    path: str | Path, line: int, cells: Sequence[str], columns: int, width: int, first: int
) -> DataError:
    """The error for a line of another width; `cells` begin this line and the first token line."""
    advice = OF_COMMENTS if any(map(_is_hashed, cells)) else OF_TEXTS
    if WIDTH_OF_TREES in (columns, width):
        advice = OF_TREES
    return DataError(
        path,
        line,
        f"this line has {columns} columns, but the first token line "
        f"({line_name(path, first, line)}) has {width}",
        remedy=f"give every token line the same columns, or set the separator. {advice}",
    )


def _is_hashed(cell: str) -> bool:
    """Whether a line that begins with this cell may be a comment."""
    return cell.startswith("#")
