"""The rows of a file of trees, split into columns in bulk: one word a line, a blank line after
every sentence.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.text_files import plain

TAB = "\t"
SPACE = " \t\r"


@dataclass(frozen=True)
class Layout:
    """The columns of a format.

    Attributes
    ----------
    title : str
        The format's name in messages.
    names : tuple of str
        Names of the columns, as in the format's manual.
    numbers : mapping of str to int
        Column numbers, from 0, of the cells of `structopt.formats.trees.dependency_trees.Trees`.
    numbered : bool
        Whether the first column counts the words of the sentence, from 1.
    comments : bool
        Whether lines that begin with ``#`` are comments.
    spaces : bool
        Whether columns may be separated by single spaces instead of tabs.
    """

    title: str
    names: tuple[str, ...]
    numbers: Mapping[str, int]
    numbered: bool = True
    comments: bool = True
    spaces: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of a file; rows of one sentence follow each other.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    lines : int64, shape (rows,)
        From 1.
    columns : list of list of str, each of length rows
    """

    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    columns: list[list[str]]

    def selected(self, keep: NDArray[np.bool_]) -> Rows:
        """Return the rows for which a mask is true."""
        before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)
        indices = np.flatnonzero(keep).tolist()
        columns = [[column[index] for index in indices] for column in self.columns]
        return Rows(before[self.offsets], self.lines[keep], columns)


def plain_lines(text: str) -> list[str]:
    r"""Return the lines of a text without byte order mark, ``\n`` and ``\r\n``."""
    return plain(text).split("\n")


def is_blank(line: str) -> bool:
    """Whether a line separates sentences."""
    return not line.strip(SPACE)


def scan(path: str | Path, lines: Sequence[str], layout: Layout, limit: int | None = None) -> Rows:
    """Split the lines of a file into rows, or its first `limit` sentences; O(characters).

    Raises
    ------
    DataError
        No rows at all, a row with another number of columns, or an empty cell.
    """
    rows, numbers, offsets = _row_lines(lines, layout.comments, limit)
    if not rows:
        raise DataError(
            path,
            None,
            "the file has no sentences",
            remedy="check the path, or make the file again.",
        )
    separator, width = separator_of(rows[0], layout), len(layout.names)
    counts = list(map(str.count, rows, repeat(separator)))
    if counts.count(width - 1) < len(counts):
        wrong = next(row for row, count in enumerate(counts) if count != width - 1)
        raise DataError(path, numbers[wrong], _wrong_width(counts[wrong] + 1, layout))
    cells = separator.join(rows).split(separator)
    if "" in cells:
        row, column = divmod(cells.index(""), width)
        raise DataError(
            path,
            numbers[row],
            f"the column {layout.names[column]} is empty",
            remedy="write _ where there is no value.",
        )
    columns = [cells[column::width] for column in range(width)]
    return Rows(np.array(offsets, np.int64), np.array(numbers, np.int64), columns)


def separator_of(row: str, layout: Layout) -> str:
    """Return the separator of a file's columns, given one of its rows."""
    return " " if layout.spaces and TAB not in row else TAB


def _row_lines(
    lines: Sequence[str], comments: bool, limit: int | None
) -> tuple[list[str], array[int], list[int]]:
    """Lines that are rows, their numbers, and the offsets of the sentences among them."""
    rows: list[str] = []
    numbers, offsets = array("q"), [0]
    for number, line in enumerate(lines, 1):
        if not line or (line[0] in SPACE and is_blank(line)):
            if len(rows) > offsets[-1]:
                offsets.append(len(rows))
                if len(offsets) - 1 == limit:
                    break
        elif line[0] != "#" or not comments:
            rows.append(line)
            numbers.append(number)
    if len(rows) > offsets[-1]:
        offsets.append(len(rows))
    return rows, numbers, offsets


def _wrong_width(columns: int, layout: Layout) -> str:
    separators = "tabs or single spaces" if layout.spaces else "tabs"
    width, names = len(layout.names), " ".join(layout.names)
    return (
        f"this line has {columns} {'column' if columns == 1 else 'columns'}, but {layout.title} "
        f"has {width}, "
        f"parted by {separators}: {names}. Mend the line, or set task.format."
    )
