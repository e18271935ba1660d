r"""Reading ARFF, dense and sparse: a header of ``@attribute`` lines, ``@data``, and a row a line.

    % a comment
    @relation 'any name'
    @attribute weight numeric
    @attribute 'two words' {0,1}
    @attribute colour {red, 'dark blue'}
    @data
    0.5, 1, red
    {0 0.5, 2 'dark blue'}

Keywords are read in any case. Names and values may be quoted, with ``\`` before quotes in them. A
sparse row ``{column value, ...}`` counts columns from 0; a column that it leaves out is 0, or the
first value of a nominal attribute. ``?`` is a missing value. Attributes are numeric (real, integer)
or nominal; strings, dates and relations are refused.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

import numpy as np

from structopt.core.data import ranges
from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError
from structopt.formats.text_files import check_limit, read_text
from structopt.formats.vectors.arff_header import (
    QUOTED,
    Attribute,
    LabelCount,
    header,
    is_row,
    split,
    unquoted,
    without_comment,
)
from structopt.kernels.waist.record import Array

CELL = re.compile(rf"(\S+)\s+({QUOTED}|\S+)")
PLAIN = re.compile(r"[-+0-9.eE, \t]*")
BINARY = ("0", "1")
MISSING = "?"


@dataclass(frozen=True)
class Arff:
    """The rows of a file, without their zeros.

    Attributes
    ----------
    path : str
    attributes : list of Attribute
    offsets : int64, shape (rows + 1,)
        Where the entries of each row begin.
    columns : int32, shape (entries,)
    values : float64, shape (entries,)
        Numbers; of nominal attributes the number of the value, from 0; nan where the value is
        missing.
    lines : int64, shape (rows,)
        The line of each row.
    labels : LabelCount or None
        How many columns are labels, as MEKA writes it in the name of the relation.
    """

    path: str
    attributes: list[Attribute]
    offsets: Array
    columns: Array
    values: Array
    lines: Array
    labels: LabelCount | None = None

    def line_of(self, entry: int) -> int:
        """Return the number of the line of an entry."""
        return int(self.lines[np.searchsorted(self.offsets, entry, side="right") - 1])


def read(path: str | Path, limit: int | None = None, encoding: str = "utf8") -> Arff:
    """Read a file, plain or gzip, or its first `limit` rows; O(characters).

    Raises
    ------
    DataError
        A file that cannot be read, has no ``@data`` or no rows; a declaration that cannot be read,
        or of an attribute that is neither numeric nor nominal, or that is declared twice; a row
        with too many or too few cells, an unknown column or one that occurs twice, or a cell that
        is no finite number and no value of its attribute.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit, "instances")
    check_one_file(path, "ARFF")
    lines = read_text(path, encoding).split("\n")
    attributes, data, labels = header(path, lines)
    reader = _Rows(path, attributes)
    reader.read(lines, data, limit)
    if not reader.lines:
        raise DataError(
            path,
            None,
            "there are no rows after @data",
            remedy="check the path, or make the file again.",
        )
    return replace(reader.result(), labels=labels)


class _Rows:
    """Collects the rows of a file: those of plain numbers at the speed of `float`, others cell by
    cell.

    Methods that take a row or a cell raise ValueError where it is malformed; `read` adds the file
    and line.
    """

    def __init__(self, path: str | Path, attributes: list[Attribute]) -> None:
        self.path, self.attributes = path, attributes
        self.binary = np.array([attribute.values == BINARY for attribute in attributes])
        self.plain = all(attribute.values in (None, BINARY) for attribute in attributes)
        self.columns, self.values = array("i"), array("d")
        self.ends, self.lines = array("q", [0]), array("q")

    def read(self, lines: Sequence[str], data: int, limit: int | None) -> None:
        """Read the rows after line `data`, or the first `limit` of them; DataError at a row that is
        malformed.
        """
        for line, text in enumerate(lines[data:], data + 1):
            if not is_row(text):
                continue
            row = without_comment(text)
            try:
                (self.sparse if row.startswith("{") else self.dense)(row)
            except ValueError as error:
                raise DataError(self.path, line, str(error)) from None
            self.lines.append(line)
            self.ends.append(len(self.columns))
            if len(self.lines) == limit:
                break

    def dense(self, row: str) -> None:
        """Add a row of cells, ``0.5, 1, red``."""
        fields = split(row)
        if len(fields) != len(self.attributes):
            raise ValueError(
                f"the row has {len(fields)} cells for {len(self.attributes)} attributes: write "
                "one for each."
            )
        values = self.numbers(fields) if self.plain and PLAIN.fullmatch(row) else None
        if values is None:
            values = np.array(
                [
                    _number(attribute, cell)
                    for attribute, cell in zip(self.attributes, fields, strict=True)
                ]
            )
        columns = np.flatnonzero(values)
        self.columns.frombytes(columns.astype(np.int32).tobytes())
        self.values.frombytes(values[columns].tobytes())

    def numbers(
        self, fields: Sequence[str], columns: Sequence[int] | slice = slice(None)
    ) -> Array | None:
        """Return the numbers of plain cells; None where a cell is malformed or not plain."""
        try:
            values = np.array(list(map(float, fields)))
        except ValueError:
            return None
        switches = values[self.binary[columns]]
        sound = ranges.first_fault(values) < 0 and ((switches == 0.0) | (switches == 1.0)).all()
        return values if sound else None

    def sparse(self, row: str) -> None:
        """Add a row of pairs, ``{0 0.5, 2 red}``."""
        if not row.endswith("}"):
            raise ValueError(
                "the row begins with { and does not end with }: write {column value, column "
                "value, ...}."
            )
        body = row[1:-1].strip()
        cells = split(body) if body else []
        if self.plain and PLAIN.fullmatch(body) and self.sparse_numbers(cells):
            return
        entries: dict[int, float] = {}
        for cell in cells:
            column, value = self.pair(cell)
            if column in entries:
                raise ValueError(f"the column {column} stands twice in this row: keep one of them.")
            entries[column] = value
        nonzero = {column: value for column, value in entries.items() if value != 0.0}
        self.columns.extend(nonzero)
        self.values.extend(nonzero.values())

    def sparse_numbers(self, cells: Sequence[str]) -> bool:
        """Add the cells of a row of plain numbers; False, and nothing is added, where a cell is
        malformed or not plain.
        """
        try:
            pairs = dict([cell.split() for cell in cells])
            columns = list(map(int, pairs))
        except ValueError:
            return False
        if (
            len(set(columns)) < len(cells)
            or columns
            and not 0 <= min(columns) <= max(columns) < len(self.attributes)
        ):
            return False
        values = self.numbers(list(pairs.values()), columns)
        if values is None or not values.all():
            return False
        self.columns.extend(columns)
        self.values.frombytes(values.tobytes())
        return True

    def pair(self, cell: str) -> tuple[int, float]:
        """Return the column of a cell of a sparse row, and its value as a number."""
        match = CELL.fullmatch(cell)
        if match is None:
            raise ValueError(
                f"{cell!r} is not a column and its value: write {{column value, column value, "
                f"...}}."
            )
        last = len(self.attributes) - 1
        if not re.fullmatch("[0-9]{1,18}", match[1]) or int(match[1]) > last:
            raise ValueError(
                f"there is no column {match[1]!r}: columns are counted from 0, and the last one "
                f"is {last}."
            )
        column = int(match[1])
        return column, _number(self.attributes[column], match[2])

    def result(self) -> Arff:
        """Return the rows that were read, as arrays."""
        return Arff(
            str(self.path),
            self.attributes,
            np.array(self.ends, np.int64),
            np.array(self.columns, np.int32),
            np.array(self.values),
            np.array(self.lines, np.int64),
        )


def _number(attribute: Attribute, text: str) -> float:
    """The number of a cell: its value, the index of a nominal value, or nan where it is missing."""
    text = text.strip()
    if text == MISSING:
        return nan
    if attribute.values is not None:
        value = unquoted(text)
        if value not in attribute.values:
            known = ", ".join(attribute.values[:10])
            raise ValueError(
                f"{value!r} is not a value of {attribute.name!r}: line {attribute.line} declares "
                f"{known}."
            )
        return float(attribute.values.index(value))
    number = ranges.number(text)
    if fault := ranges.fault(number):
        raise ValueError(f"{text!r} {fault}, which {attribute.name!r} needs: write a number.")
    return number
