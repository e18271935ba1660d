"""Sentences as CSV: a token a row, with a field that says of which sentence; or a sentence a row, with lists in its cells.

    Sentence #,Word,POS,Tag                        tokens,ner_tags
    Sentence: 1,Ann,NNP,B-PER                      "[""Ann"", ""slept""]","[""B-PER"", ""O""]"
    ,slept,VBD,O                                   Oslo slept,B-LOC O

A row begins a sentence where its field of sentences has something else than the row before, and is not empty; an empty line ends
one. Lists are JSON, or Python's (as pandas writes them), or their entries with spaces between.
"""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError
from structopt.formats.instances_in_memory import shown
from structopt.formats.text_files import read_text, read_verbatim, write_text
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import Gathering, TokenLists

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 1 << 24
"""Characters."""

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


@dataclass(frozen=True)
class Table:
    """A file of rows.

    Attributes
    ----------
    separator : str
    header : list of str
    rows : list of (line, cells)
        An empty line has no cells.
    """

    separator: str
    header: list[str]
    rows: list[Row]


def read(path: str, fields: Fields, limit: int | None, encoding: str, separator: str | None = None) -> TokenLists:
    """Read the sentences of a file, or the first `limit` of them.

    Parameters
    ----------
    separator : str or None
        None: the one of comma, tab and semicolon that is most frequent in the header.

    Raises
    ------
    DataError
        With file and line: no header, a row with another number of cells, quotes that do not match, lists of different lengths.
    """
    table = _table(path, read_text(path, encoding), separator)
    sentences, chosen, number = _fields(path, table, fields)
    places = {column: table.header.index(field) for column, field in chosen.items()}
    if number is None:
        for line, row in table.rows:
            if row:
                sentences.add(line, {column: _list(path, line, row[place]) for column, place in places.items()})
            if len(sentences) == limit:
                break
        return sentences.result()
    for begins, line, row in _tokens(table, number):
        if begins:
            sentences.end_sentence()
            if len(sentences) == limit:
                return sentences.result()
        sentences.add_token(line, {column: row[place] for column, place in places.items()})
    sentences.end_sentence()
    return sentences.result()


def write(
    path: str, target: str, fields: Fields, predicted: PredictedLists, encoding: str, separator: str | None = None
) -> None:
    """Write a file again, value for value, with fields behind those that it has."""
    verbatim = read_verbatim(path, encoding)
    table = _table(path, verbatim.removeprefix("\ufeff").replace("\r\n", "\n"), separator)
    _, chosen, number = _fields(path, table, fields)
    written = io.StringIO()
    writer = csv.writer(written, delimiter=table.separator, lineterminator="\r\n" if "\r\n" in verbatim else "\n")
    writer.writerow([*table.header, *predicted.keys])
    for row, added in _extended(path, table, number, table.header.index(chosen[fields.word]), predicted):
        writer.writerow([*row, *added])
    write_text(target, written.getvalue(), encoding)


def _table(path: str, text: str, separator: str | None) -> Table:
    """The header and the rows of a text."""
    check_one_file(path, "CSV")
    first = text.partition("\n")[0]
    separator = separator or max(SEPARATORS, key=first.count)
    if len(separator) != 1:
        raise DataError(path, None, f"the separator {separator!r} of a CSV file must be one character: set task.separator.")
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[Row] = []
    try:
        for row in reader:
            rows.append((reader.line_num, row))
            if row and len(row) != len(rows[0][1]):
                message = f"this row has {len(row)} cells, but the header has {len(rows[0][1])}"
                raise DataError(path, reader.line_num, f"{message}: give every row as many, and quote cells with {separator!r}.")
    except csv.Error as error:
        message = f"this is no CSV with {separator!r} between cells ({error})"
        raise DataError(path, reader.line_num, f"{message}: check its quotes, or set task.separator.") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(path, 1, f"two fields have the name {twice!r}: give each a name of its own.")
    return Table(separator, header, rows[1:])


def _fields(path: str, table: Table, fields: Fields) -> tuple[Gathering, dict[str, str], int | None]:
    """Where sentences are gathered, the field of every column, and the place of that of sentences: None with one a row."""
    chosen = fields.of(path, 1, table.header)
    number = fields.of_sentences(table.header, chosen)
    first = next((row for _, row in table.rows if row), [])
    listed = any(_is_list(first[table.header.index(field)]) for field in chosen.values()) if first else False
    return Gathering(path, chosen), chosen, None if number is None or listed else table.header.index(number)


def _tokens(table: Table, number: int) -> Iterator[tuple[bool, int, list[str]]]:
    """Every token with whether it begins a sentence, its line, and the cells of its row."""
    begins, current = True, ""
    for line, row in table.rows:
        if not row:
            begins = True
            continue
        if row[number] and row[number] != current:
            begins, current = True, row[number]
        yield begins, line, row
        begins = False


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
    raise DataError(path, line, f'{message}: write ["Ann", "slept"], or Ann slept.')


def _extended(
    path: str, table: Table, number: int | None, word: int, predicted: PredictedLists
) -> Iterator[tuple[list[str], Sequence[str]]]:
    """Every row, and the cells that are added to it."""
    if number is not None:
        cells = iter([token for sentence in predicted.cells for token in sentence])
        count = sum(map(len, predicted.cells))
        if sum(bool(row) for _, row in table.rows) != count:
            raise DataError(path, None, "the file has other sentences than were predicted: it has changed since it was read.")
        for _, row in table.rows:
            yield row, next(cells) if row else ()
        return
    rows = [(line, row) for line, row in table.rows if row]
    lists = [_list(path, line, row[word]) for line, row in rows]
    for (_, row), added in zip(rows, predicted.rows(path, list(map(len, lists))), strict=True):
        as_json = _is_list(row[word])
        yield row, [json.dumps(one, ensure_ascii=False) if as_json else " ".join(one) for one in added.values()]
