"""Sentences as CSV: a token a row, with a field that says of which sentence; or a sentence a row,
with lists in its cells.

    Sentence #,Word,POS,Tag                        tokens,ner_tags
    Sentence: 1,Ann,NNP,B-PER                      "[""Ann"", ""slept""]","[""B-PER"", ""O""]"
    ,slept,VBD,O                                   Oslo slept,B-LOC O

A row begins a sentence where its field of sentences has something else than the row before, and is
not empty; an empty line ends one. Lists are JSON, or Python's (as pandas writes them), or their
entries with spaces between. An empty cell of labels is a missing label, or a sentence without any.
"""

from __future__ import annotations

import ast
import csv
import io
import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError
from structopt.formats.conll_layouts import TAG
from structopt.formats.in_memory.instances import shown
from structopt.formats.text_files import plain, read_text, read_verbatim, write_text
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import Gathering, TokenLists

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 1 << 24
"""Characters."""


@dataclass(frozen=True)
class Table:
    """A file of rows. Their cells are one flat list: a list a row costs the collector of garbage
    much more time than reading.

    Attributes
    ----------
    separator : str
    header : list of str
    cells : list of str
        Row after row, as many each as the header has.
    lines : array of int
        The line in which every row ends.
    breaks : list of int
        For every empty line, the number of rows before it.
    """

    separator: str
    header: list[str]
    cells: list[str]
    lines: array[int]
    breaks: list[int]

    def column(self, field: str) -> list[str]:
        """The cells of a field."""
        return self.cells[self.header.index(field) :: len(self.header)]

    def row(self, index: int) -> list[str]:
        """The cells of a row."""
        return self.cells[index * len(self.header) : (index + 1) * len(self.header)]


def read(
    path: str, fields: Fields, limit: int | None, encoding: str, separator: str | None = None
) -> TokenLists:
    """Read the sentences of a file, or the first `limit` of them.

    Parameters
    ----------
    separator : str or None
        None: the one of comma, tab and semicolon that is most frequent in the header.

    Raises
    ------
    DataError
        With file and line: no header, a row with another number of cells, quotes that do not match,
        lists of different lengths.
    """
    table = _table(path, read_text(path, encoding), separator)
    chosen, number = _fields(path, table, fields)
    if number is None:
        return _of_lists(path, table, chosen, limit)
    offsets = _offsets(table, number, limit)
    cells: dict[str, list[Any]] = {
        column: table.column(field)[: offsets[-1]] for column, field in chosen.items()
    }
    return TokenLists(
        path,
        chosen,
        cells,
        np.array(offsets, np.int64),
        np.array(table.lines[: offsets[-1]], np.int64),
    )


def write(
    path: str,
    target: str,
    fields: Fields,
    predicted: PredictedLists,
    encoding: str,
    separator: str | None = None,
) -> None:
    """Write a file again, value for value, with fields behind those that it has."""
    verbatim = read_verbatim(path, encoding)
    table = _table(path, plain(verbatim), separator)
    chosen, number = _fields(path, table, fields)
    added = list(_added(path, table, number, chosen[fields.word], predicted))
    written = io.StringIO()
    writer = csv.writer(
        written, delimiter=table.separator, lineterminator="\r\n" if "\r\n" in verbatim else "\n"
    )
    kept = [place for place, name in enumerate(table.header) if name not in predicted.keys]
    writer.writerow([*(table.header[place] for place in kept), *predicted.keys])
    begin = 0
    for end in (*table.breaks, len(added)):
        for index in range(begin, end):
            row = table.row(index)
            writer.writerow([*(row[place] for place in kept), *added[index]])
        if end < len(added):
            writer.writerow([])
        begin = end
    write_text(target, written.getvalue(), encoding)


def _table(path: str, text: str, separator: str | None) -> Table:
    """The header and the rows of a text."""
    check_one_file(path, "CSV")
    first = text.partition("\n")[0]
    separator = separator or max(SEPARATORS, key=first.count)
    if len(separator) != 1:
        raise DataError(
            path,
            None,
            f"the separator {separator!r} of a CSV file must be one character",
            remedy="set task.separator.",
        )
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        table = Table(separator, [name.strip() for name in next(reader, [])], [], array("q"), [])
        _add_rows(path, table, reader)
    except csv.Error as error:
        message = f"this is no CSV with {separator!r} between cells ({error})"
        raise DataError(
            path,
            reader.line_num,
            message,
            remedy="check its quotes, or set task.separator.",
        ) from None
    if len(set(table.header)) < len(table.header):
        twice = next(name for name in table.header if table.header.count(name) > 1)
        raise DataError(
            path,
            1,
            f"two fields have the name {twice!r}",
            remedy="give each a name of its own.",
        )
    return table


def _add_rows(path: str, table: Table, reader: Any) -> None:
    """Add the rows below the header."""
    cells, lines, width = table.cells, table.lines, len(table.header)
    for row in reader:
        if not row:
            table.breaks.append(len(lines))
            continue
        if len(row) != width:
            message = (
                f"this row has {len(row)} cells, but the header has {width}: give every row as "
                "many, and quote cells with"
            )
            raise DataError(path, reader.line_num, f"{message} {table.separator!r}.")
        cells.extend(row)
        lines.append(reader.line_num)


def _fields(path: str, table: Table, fields: Fields) -> tuple[dict[str, str], str | None]:
    """The field of every column, and that of sentences: None where a row is a sentence."""
    chosen = fields.of(path, 1, table.header)
    number, first = (
        fields.of_sentences(table.header, chosen),
        dict(zip(table.header, table.row(0), strict=False)),
    )
    return chosen, None if any(
        _is_list(first.get(field, "")) for field in chosen.values()
    ) else number


def _offsets(table: Table, number: str, limit: int | None) -> list[int]:
    """Where sentences begin and end in the rows, of the first `limit` sentences."""
    offsets, current, breaks = [0], "", set(table.breaks)
    for index, own in enumerate(table.column(number)):
        begins = index in breaks
        if own and own != current:
            begins, current = True, own
        if begins and index:
            offsets.append(index)
            if len(offsets) - 1 == limit:
                return offsets
    return [*offsets, len(table.lines)] if len(table.lines) else offsets


def _of_lists(path: str, table: Table, chosen: dict[str, str], limit: int | None) -> TokenLists:
    """The sentences of a table with one a row."""
    sentences = Gathering(path, chosen)
    columns = {column: table.column(field) for column, field in chosen.items()}
    for index, line in enumerate(table.lines):
        sentences.add(
            line,
            {
                column: None
                if column == TAG and not cells[index].strip()
                else _list(path, line, cells[index])
                for column, cells in columns.items()
            },
        )
        if len(sentences) == limit:
            break
    return sentences.result()


def _is_list(cell: str) -> bool:
    return cell.startswith("[") and cell.endswith("]") and len(cell) > 1


def _list(path: str, line: int, cell: str) -> list[object]:
    """The entries of a cell."""
    if not _is_list(cell):
        return list(cell.split())
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if isinstance(value, list):
            return value
    message = f"the list {shown(cell)} is neither JSON nor Python's"
    raise DataError(
        path,
        line,
        message,
        remedy='write ["Ann", "slept"], or Ann slept.',
    )


def _added(
    path: str, table: Table, number: str | None, word: str, predicted: PredictedLists
) -> Iterator[Sequence[str]]:
    """The cells that are added to every row."""
    if number is None:
        words = table.column(word)
        lengths = [
            len(_list(path, line, cell)) for line, cell in zip(table.lines, words, strict=True)
        ]
        for cell, lists in zip(words, predicted.rows(path, lengths), strict=True):
            yield [
                json.dumps(one, ensure_ascii=False) if _is_list(cell) else " ".join(one)
                for one in lists.values()
            ]
        return
    for lists in predicted.rows(path, np.diff(_offsets(table, number, None)).tolist()):
        yield from zip(*lists.values(), strict=True)
