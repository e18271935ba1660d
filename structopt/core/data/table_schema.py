"""Schemas of the tables of inputs and outputs, one row an instance, from which MLflow's signatures
are made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from structopt.errors import DataError

TABLE = "<table>"
Kind = Literal["string", "long", "double"]
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str, int, float),
    "long": (int,),
    "double": (float, int),
}
"""The types that an element of a kind may have; it is converted to the first of them."""
PLURALS = {"string": "strings", "long": "whole numbers", "double": "numbers"}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : str
        Of the elements: ``string``, ``long`` or ``double``.
    depth : int
        How deep lists are nested in a cell: 0 for one element, 1 for a list, 2 for a list of lists.
    required : bool
        Whether a table must have it.
    like : str
        The column of the input with which it shares its lengths, on every level that both have:
        ``labels`` are like ``tokens``.
    alias : str
        Another name under which it may be given, and the one that the task itself uses.
    filler : str, float or None
        The element that replaces a cell that an optional column lacks.
    """

    name: str
    kind: Kind
    depth: int = 0
    required: bool = True
    like: str = ""
    alias: str = ""
    filler: str | float | None = None

    @property
    def task_name(self) -> str:
        """The name that the task uses."""
        return self.alias or self.name

    def __str__(self) -> str:
        return f"{self.name} ({self.form}{'' if self.required else ', optional'})"

    @property
    def form(self) -> str:
        """What a cell is, in words: ``a list of lists of strings``."""
        if not self.depth:
            return {"string": "a string", "long": "a whole number", "double": "a number"}[self.kind]
        return "a list of " + "lists of " * (self.depth - 1) + PLURALS[self.kind]


@dataclass(frozen=True)
class Schema:
    """The columns of a table; the first one is required."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        """The columns in their order."""
        return iter(self.columns)

    def checked(self, table: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The columns of a table as plain lists, by name; columns that the schema does not have are
        left out.

        A cell that an optional column lacks (None, or a number that is nan) is filled; a column of
        nothing but fillers is left out, as if it had not been given.

        Parameters
        ----------
        table : mapping of column name to sequence of cells
            Cells are elements, or nested lists, tuples or arrays of them.

        Raises
        ------
        DataError
            For a required column that is missing, columns of different lengths, and a cell of
            another form than the schema's or of other lengths than the column has that it is like;
            the number after ``<table>:`` counts the rows from 1.
        """
        present = {
            column: table[name]
            for column in self
            for name in (column.name, column.alias)
            if name in table
        }
        for column in self:
            if column.required and column not in present:
                raise DataError(
                    TABLE,
                    None,
                    f"there is no column '{column.name}'. The columns are: "
                    f"{', '.join(map(str, self))}.",
                )
        checked: dict[str, list[Any]] = {}
        for column, cells in present.items():
            rows = _rows(column, cells)
            first = self.columns[0].name
            if checked and len(rows) != len(checked[first]):
                raise DataError(
                    TABLE,
                    None,
                    f"'{column.name}' has {len(rows)} rows and '{first}' {len(checked[first])}",
                    remedy="give as many of both.",
                )
            checked[column.name] = _matched(column, rows, checked.get(column.like))
        return {name: rows for name, rows in checked.items() if not self._says_nothing(name, rows)}

    def records(self, table: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """The rows of a table that was checked, as mappings from the task's own names of columns to
        cells.
        """
        present = [column for column in self if column.name in table]
        rows = zip(*(table[column.name] for column in present), strict=True)
        return [
            dict(zip([column.task_name for column in present], row, strict=True)) for row in rows
        ]

    def check_outputs(
        self, outputs: Mapping[str, Sequence[Any]], inputs: Mapping[str, list[Any]]
    ) -> None:
        """Raise `DataError` unless output columns have this schema's form, and the lengths of the
        checked input's rows.
        """
        rows = len(next(iter(inputs.values())))
        for column in self:
            cells = _rows(column, outputs[column.name])
            if len(cells) != rows:
                raise DataError(
                    TABLE,
                    None,
                    f"the task made {len(cells)} outputs '{column.name}' for {rows} rows.",
                )
            _matched(column, cells, inputs.get(column.like))

    def state(self) -> list[dict[str, Any]]:
        """As JSON values."""
        return [asdict(column) for column in self]

    @classmethod
    def restore(cls, state: Sequence[Mapping[str, Any]]) -> Schema:
        """Undo `state`."""
        return cls(tuple(Column(**values) for values in state))

    def _says_nothing(self, name: str, rows: list[Any]) -> bool:
        column = next(one for one in self if one.name == name)
        return (
            not column.required
            and column.kind == "string"
            and all(cell == column.filler for cell in _elements(rows))
        )


def example_sentences(values: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """Two sentences, of four tokens and of two, from the first values of every column."""
    spans = (range(4), range(4, 6))
    return {
        name: [[cells[t % len(cells)] for t in span] for span in spans]
        for name, cells in values.items()
    }


def vector_columns(name: str, kind: Kind) -> Schema:
    """The schema of sparse vectors: which attributes an instance has, and their values, 1 where
    none are given.
    """
    return Schema(
        (
            Column(name, kind, 1),
            Column("values", "double", 1, required=False, like=name, filler=1.0),
        )
    )


def vectors(table: Mapping[str, Sequence[Any]]) -> list[dict[Any, float]]:
    """Instances of such a table: mappings from attribute to value; DataError for an attribute that
    occurs twice in a row, which files refuse as well.
    """
    names, *values = table.values()
    for number, row in enumerate(names, 1):
        if len(set(row)) < len(row):
            twice = next(name for index, name in enumerate(row) if name in row[:index])
            raise DataError(
                TABLE,
                number,
                f"the attribute {twice} occurs twice in this row.",
                remedy="Keep one of them, or their sum.",
            )
    weights = values[0] if values else [[1.0] * len(row) for row in names]
    return [dict(zip(row, own, strict=True)) for row, own in zip(names, weights, strict=True)]


def _rows(column: Column, cells: Sequence[Any]) -> list[Any]:
    """The cells of a column as plain values, each checked; None where a cell is missing."""
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise DataError(
            TABLE,
            None,
            f"'{column.name}' must have a cell a row, each {column.form}; it is {_shown(cells)}.",
        )
    return [_cell(column, cell, row) for row, cell in enumerate(cells, 1)]


def _cell(column: Column, cell: Any, row: int) -> Any:
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))  # as pandas has it
    if missing and not column.required:
        return None
    try:
        return _plain(cell, column.depth, column.kind)
    except TypeError:
        message = f"a cell of '{column.name}' must be {column.form}; this one is {_shown(cell)}."
        raise DataError(TABLE, row, message) from None


def _plain(cell: Any, depth: int, kind: Kind) -> Any:
    """A cell as nested lists of Python's own values; TypeError where it has another form."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    if depth:
        if not isinstance(cell, list | tuple):
            raise TypeError
        return [_plain(one, depth - 1, kind) for one in cell]
    if kind == "long" and isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, bool) or not isinstance(cell, TYPES[kind]):
        raise TypeError
    return TYPES[kind][0](cell)


def _matched(column: Column, rows: list[Any], like: list[Any] | None) -> list[Any]:
    """Rows whose lengths were compared with those of the column that they are like, missing ones
    filled in its form.
    """
    if like is None:
        return [[] if row is None else row for row in rows]
    filled = [
        _filled(other, column) if row is None else row
        for row, other in zip(rows, like, strict=True)
    ]
    for number, (row, other) in enumerate(zip(filled, like, strict=True), 1):
        _compare(column, row, other, number, column.depth)
    return filled


def _filled(other: Any, column: Column) -> Any:
    return [_filled(one, column) for one in other] if isinstance(other, list) else column.filler


def _compare(column: Column, cell: Any, other: Any, row: int, depth: int) -> None:
    if not depth or not isinstance(other, list):
        return
    if len(cell) != len(other):
        message = (
            f"'{column.name}' has {len(cell)} entries for {len(other)} of '{column.like}': there "
            "must be as many."
        )
        raise DataError(TABLE, row, message)
    for one, another in zip(cell, other, strict=True):
        _compare(column, one, another, row, depth - 1)


def _elements(cell: Any) -> Iterator[Any]:
    if not isinstance(cell, list):
        yield cell
        return
    for one in cell:
        yield from _elements(one)


def _shown(cell: Any) -> str:
    text = repr(cell.tolist() if hasattr(cell, "tolist") else cell)
    return text if len(text) <= 60 else text[:57] + "..."
