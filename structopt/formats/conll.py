"""CoNLL column files: one token a line, a blank line between sentences; plain or gzip."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.errors import ConfigError, DataError
from structopt.formats.conll_layouts import one_column
from structopt.formats.tag_schemes import TagError, convert
from structopt.formats.text_files import check_limit, read_text, read_verbatim, write_text

DOCUMENT_START = "-DOCSTART-"
UNICODE_SPACE = re.compile("[\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
ASCII_CELLS = re.compile("[^ \t\n\r\f\v]+")
ASCII_SPACE = " \t\n\r\f\v"


Told = Callable[[int, int], Mapping[str, int]]
"""Tells the columns of a file from the number of its first token line and how many columns that has."""


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
        The columns by name; an optional column that the file lacks is missing here. Equal strings are one object.
    lines : int64, shape (tokens,)
        The line of each token, from 1; in memory, the number of its sentence.
    numbers : dict of str to int
        Where the columns stand in the file, from 0; empty where they were not read by place.
    width : int
        How many columns the file has; 0 where they were not read by place.
    """

    path: str
    offsets: NDArray[np.int64]
    cells: dict[str, list[str]]
    lines: NDArray[np.int64]
    numbers: dict[str, int] = field(default_factory=dict)
    width: int = 0

    def sentences(self, name: str) -> list[list[str]]:
        """Return a column as one list a sentence."""
        cells, bounds = self.cells[name], self.offsets.tolist()
        return [cells[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


@dataclass(frozen=True)
class _Scan:
    cells: list[str]
    width: int
    offsets: list[int]
    lines: array[int]


def read(
    path: str | Path,
    columns: Mapping[str, int] | Told,
    limit: int | None = None,
    encoding: str = "utf8",
    separator: str | None = None,
    optional: Collection[str] = (),
    shared: Collection[str] = (),
) -> Columns:
    """Read the named columns of a CoNLL file; blank lines part sentences, and ``-DOCSTART-`` lines are skipped.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.
    columns : mapping of name to number, or callable
        Columns from 0; negative numbers count from the end. A function tells them from the first token line's number and how
        many columns it has.
    limit : int, optional
        Read the first so many sentences only.
    encoding : str
        The file's encoding.
    separator : str, optional
        What parts the cells; None means any run of ASCII white space.
    optional : collection of str
        Names that the file may lack: absent when the first token line has too few columns for the number, or when the number
        (counted from the end) falls on a column that another name has.
    shared : collection of str
        Optional names that may fall on a column that another optional name has.

    Raises
    ------
    DataError
        A file that cannot be read or has no sentences, a line with another number of columns, a column out of range, two names
        for one column.
    ConfigError
        A limit below 1, an empty separator, or an unknown encoding.
    """
    scan = _scan(path, read_text(path, encoding), limit, separator)
    wanted = columns(scan.lines[0], scan.width) if callable(columns) else columns
    numbers = _numbers(path, scan, wanted, optional, shared)
    share: dict[str, str] = {}
    cells = {}
    for name, number in numbers.items():
        column = scan.cells[number :: scan.width]
        cells[name] = list(map(share.setdefault, column, column))
    lines = np.array(scan.lines, np.int64)
    return Columns(str(path), np.array(scan.offsets, np.int64), cells, lines, numbers, scan.width)


def first_line(path: str | Path, encoding: str = "utf8", separator: str | None = None) -> tuple[int, int]:
    """Number of the first token line of a file, and how many columns it has; the errors of `read`."""
    scan = _scan(path, read_text(path, encoding), 1, separator)
    return scan.lines[0], scan.width


def convert_tags(columns: Columns, name: str, source: str, target: str) -> list[str]:
    """Return a column of tags, flat over all tokens, in another scheme, each sentence by `structopt.formats.tag_schemes.convert`.

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
            raise DataError(columns.path, int(columns.lines[start + error.position]), f"{error}.") from None
        converted.extend(map(share.setdefault, tags, tags))
    return converted


def write(
    source: str | Path,
    target: str | Path,
    added: Sequence[Sequence[Sequence[str]]],
    encoding: str = "utf8",
    separator: str | None = None,
) -> None:
    """Copy a column file line by line and append cells to each token line; `target` appears whole or not at all.

    Parameters
    ----------
    source, target : str or Path
        The files; each plain or gzip (the target by its name).
    added : sequence over sentences, over tokens, over cells
        What to append, in the order of the source.
    encoding, separator : str
        As in `read`; None keeps the tab where the line has one and takes a space elsewhere.

    Raises
    ------
    DataError
        As in `read`; `added` does not match the source; the target cannot be written.
    """
    text = read_verbatim(source, encoding)
    scan = _scan(source, text.removeprefix("\ufeff").replace("\r\n", "\n"), None, separator)
    check_counts(source, scan.offsets, scan.lines, added)
    lines = text.split("\n")
    cells = (token for sentence in added for token in sentence)
    for number, extra in zip(scan.lines, cells, strict=True):
        lines[number - 1] = _append(lines[number - 1], extra, separator)
    write_text(target, "\n".join(lines), encoding)


def check_counts(
    source: str | Path, offsets: Sequence[int], lines: Sequence[int], added: Sequence[Sequence[Sequence[str]]]
) -> None:
    """Raise DataError unless `added` has one entry for each sentence and each token of the source."""
    changed = "has the file changed since it was read, or was only a part of it read?"
    if len(added) != len(offsets) - 1:
        raise DataError(source, None, f"the file has {len(offsets) - 1} sentences, but the predictions {len(added)}: {changed}")
    for number, sentence in enumerate(added):
        tokens = offsets[number + 1] - offsets[number]
        if len(sentence) != tokens:
            message = f"the sentence that begins here has {tokens} tokens, but its prediction {len(sentence)}: {changed}"
            raise DataError(source, lines[offsets[number]], message)


def _splitter(text: str, separator: str | None) -> Callable[[str], Sequence[str]]:
    if separator == "":
        raise ConfigError("the separator is empty: give the character between the columns, or null for any white space.")
    if separator is not None:
        return lambda line: line.split(separator) if line.strip(ASCII_SPACE) else ()
    return ASCII_CELLS.findall if UNICODE_SPACE.search(text) else str.split


def _scan(path: str | Path, text: str, limit: int | None, separator: str | None) -> _Scan:
    check_limit(limit)
    split, width, end = _splitter(text, separator), 0, -1 if limit is None else limit + 1
    cells: list[str] = []
    offsets, lines = [0], array("q")
    number = 0
    for number, line in enumerate(text.split("\n"), 1):
        found = split(line)
        if not found or found[0] == DOCUMENT_START:
            if len(lines) > offsets[-1]:
                offsets.append(len(lines))
                if len(offsets) == end:
                    break
            continue
        if len(found) != width:
            if width:
                raise _ragged(path, number, len(found), width, lines[0])
            width = len(found)
        cells.extend(found)
        lines.append(number)
    if len(lines) > offsets[-1]:
        offsets.append(len(lines))
    if not lines:
        raise DataError(path, None, "the file has no sentences: check the path, or make the file again.")
    return _Scan(cells, width, offsets, lines)


def _ragged(path: str | Path, line: int, found: int, width: int, first: int) -> DataError:
    advice = "give every token line the same columns, or set the separator"
    return DataError(path, line, f"this line has {found} columns, but the first token line ({first}) has {width}: {advice}.")


def _numbers(
    path: str | Path, scan: _Scan, columns: Mapping[str, int], optional: Collection[str], shared: Collection[str]
) -> dict[str, int]:
    """Return the column numbers from 0 of the names that the file has, in the order of `columns`."""
    width = scan.width
    numbers = {name: number + width if number < 0 else number for name, number in columns.items()}
    kept = {}
    for name, number in numbers.items():
        if not 0 <= number < width:
            if name in optional:
                continue
            raise _out_of_range(path, scan, name, columns[name])
        rivals = [other for other in columns if other != name and numbers[other] == number]
        rival = next((other for other in rivals if _gives_way(name, other, columns, optional, shared)), None)
        if rival is None:
            kept[name] = number
        elif name not in optional:
            raise one_column(path, scan.lines[0], width, columns, *sorted((name, rival), key=list(columns).index))
    return kept


def _gives_way(
    name: str, other: str, columns: Mapping[str, int], optional: Collection[str], shared: Collection[str]
) -> bool:
    """Whether a name is absent, or refused where it is not optional, because another one has its column.

    Of two optional names the one that is counted from the end gives way: a shorter file has moved it.
    """
    if other not in optional or name not in optional:
        return other not in optional
    return columns[name] < 0 and name not in shared and other not in shared


def _out_of_range(path: str | Path, scan: _Scan, name: str, number: int) -> DataError:
    has = f"has {scan.width} columns, numbered 0 to {scan.width - 1} (or -{scan.width} to -1)"
    advice = "set its number or the separator"
    return DataError(path, scan.lines[0], f"there is no column {number} for {name!r}: this line {has}; {advice}.")


def _append(line: str, cells: Sequence[str], separator: str | None) -> str:
    end = "\r" if line.endswith("\r") else ""
    line = line.removesuffix("\r") if separator is not None else line.rstrip(ASCII_SPACE)
    between = separator if separator is not None else "\t" if "\t" in line else " "
    return between.join((line, *cells)) + end


