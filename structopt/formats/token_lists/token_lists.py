"""Sentences as lists of tokens and labels, with fields that have names: what all formats of named
fields are read into.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.conll_layouts import TAG
from structopt.formats.conll_reader import Columns
from structopt.formats.in_memory.instances import shown
from structopt.formats.token_lists.class_names import ClassNames

NO_LABEL = ""
"""The label of a token that has none (null), as an empty cell: see
`structopt.task.partial_labels`.
"""


@dataclass(frozen=True)
class TokenLists:
    """Sentences of a file, flat over all tokens.

    Attributes
    ----------
    path : str
    fields : dict of str to str
        The field of every column that the file has.
    cells : dict of str to list, each of length tokens
        By column, as the file has them: strings, or integers that have names; labels may be None.
    offsets : int64, shape (sentences + 1,)
        Sentences without tokens are left out.
    lines : int64, shape (tokens,)
        The line of each token, from 1; of Parquet, the row.
    names : mapping of str to list of str
        Names of integers that the file has itself, by field.
    """

    path: str
    fields: dict[str, str]
    cells: dict[str, list[Any]]
    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    names: Mapping[str, list[str]] = field(default_factory=dict)

    def columns(self, names: ClassNames, some: bool = True) -> Columns:
        """Return the columns as tasks take them, integers by their names.

        Parameters
        ----------
        names : ClassNames
        some : bool
            Whether there must be a token.

        Raises
        ------
        DataError
            There are no sentences; a cell that is neither a string nor an integer with a name.
        """
        if some and not len(self.lines):
            raise DataError(
                self.path,
                None,
                "the file has no sentences",
                remedy="check the path, or make the file again.",
            )
        cells = {column: self._strings(column, names) for column in self.fields}
        numbers = {column: number for number, column in enumerate(self.fields)}
        return Columns(
            self.path, self.offsets, cells, self.lines, numbers, len(numbers), self.fields
        )

    def _strings(self, column: str, names: ClassNames) -> list[str]:
        """The cells of a column as strings, equal ones one object."""
        cells = self.cells[column]
        kinds = set(map(type, cells))
        if kinds <= {str}:
            share: dict[str, str] = {}
            return list(map(share.setdefault, cells, cells))
        known = names.of(self.path, self.fields[column], self.names) if int in kinds else None
        meanings = {value: self._meaning(column, value, cells, known) for value in _distinct(cells)}
        return [meanings[type(cell), cell] for cell in cells]

    def _meaning(
        self, column: str, key: tuple[type, Any], cells: Sequence[Any], names: Sequence[str] | None
    ) -> str:
        """What a cell says; DataError at the first one that says nothing."""
        kind, value = key
        if kind is str:
            return str(value)
        if value is None and column == TAG:
            return NO_LABEL
        if kind is int and names is not None and 0 <= value < len(names):
            return str(names[value])
        name = self.fields[column]
        position = next(
            i
            for i, cell in enumerate(cells)
            if type(cell) is kind and (kind not in (int, str) or cell == value)
        )
        raise DataError(self.path, int(self.lines[position]), _refusal(name, kind, value, names))


def _distinct(cells: Sequence[Any]) -> list[tuple[type, Any]]:
    """The different cells with their types, since 1 equals 1.0 and True; of lists, which have no
    hash, the first is enough.
    """
    found: dict[tuple[type, Any], None] = {}
    for cell in cells:
        if isinstance(cell, list | dict):
            return [(type(cell), cell)]
        found[type(cell), cell] = None
    return list(found)


def _refusal(name: str, kind: type, value: Any, names: Sequence[str] | None) -> str:
    """Why a cell is refused, and what to do."""
    if kind is not int:
        return (
            f'"{name}" has {shown(value)} in it, which is no string: give a list of strings, one '
            "a token."
        )
    if names is None:
        advice = (
            "name them in a file, a line a name from 0 on: task.names=FILE, or give "
            "dataset_info.json beside the data"
        )
        return (
            f'"{name}" has the integer {shown(value)}, and integers have no names here: {advice}.'
        )
    return (
        f'"{name}" has the integer {shown(value)}, but there are names for 0 to {len(names) - 1} '
        "only: check task.names."
    )


def other_length(field: str, entries: int, words: str, tokens: int) -> str:
    """The message for a list that has not an entry a token."""
    return f'"{field}" has {entries} entries for {tokens} of "{words}": give one a token.'


class Gathering:
    """Sentences that are read one after the other.

    Parameters
    ----------
    path : str
    fields : mapping of str to str
        The field of every column.
    """

    def __init__(self, path: str, fields: Mapping[str, str]) -> None:
        self.path, self.fields = path, dict(fields)
        self.cells: dict[str, list[Any]] = {column: [] for column in fields}
        self.offsets, self.lines = array("q", [0]), array("q")

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    def add(self, line: int, lists: Mapping[str, Any]) -> None:
        """Add a sentence, by column; one without tokens is left out; DataError if the lists have
        different lengths.

        The list of labels may be None: then no token has one.
        """
        columns = iter(self.fields)
        word = next(columns)
        size = len(lists[word])
        if lists.get(TAG, ()) is None:
            lists = {**lists, TAG: [None] * size}
        for column in columns:
            if len(lists[column]) != size:
                message = other_length(
                    self.fields[column], len(lists[column]), self.fields[word], size
                )
                raise DataError(self.path, line, message)
        if size:
            for column, cells in self.cells.items():
                cells.extend(lists[column])
            self.lines.extend([line] * size)
            self.offsets.append(len(self.lines))

    def result(self, names: Mapping[str, list[str]] | None = None) -> TokenLists:
        """The sentences that were read."""
        offsets, lines = np.array(self.offsets, np.int64), np.array(self.lines, np.int64)
        return TokenLists(self.path, self.fields, self.cells, offsets, lines, names or {})
