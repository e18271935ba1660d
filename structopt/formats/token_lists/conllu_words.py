"""CoNLL-U as sentences of tokens: labels are in a column, such as UPOS, or in a key of MISC, such
as ``NER=B-PER``.

A word without the key of labels has the label ``O``, and without another key ``_``. Columns that
are ``_`` throughout are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from structopt.errors import DataError
from structopt.formats.conll_layouts import TAG
from structopt.formats.text_files import BYTE_ORDER_MARK, read_verbatim, write_text
from structopt.formats.token_lists.fields import Fields, own_name
from structopt.formats.token_lists.predicted_lists import PredictedLists
from structopt.formats.token_lists.token_lists import TokenLists
from structopt.formats.trees.conllu import LAYOUT, MISC, SEPARATOR, with_items
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.formats.trees.tree_files import word_rows
from structopt.formats.trees.tree_rows import TAB, Rows, plain_lines

FORM = "FORM"
KEYS = {FORM: "tokens", "UPOS": "pos_tags", "NER": "ner_tags", "Chunk": "chunk_tags"}
"""Columns and keys of MISC, and the names under which files of other formats have the same."""
COLUMNS = {name: number for number, name in enumerate(LAYOUT.names[1:MISC], 1)}
OUTSIDE = "O"


def read(path: str, fields: Fields, limit: int | None, encoding: str) -> TokenLists:
    """Read the sentences of a file, or the first `limit` of them.

    Raises
    ------
    DataError
        With file and line: rows that break the format, a word that has a key of MISC twice.
    """
    rows = word_rows(path, plain_lines(read_verbatim(path, encoding)), "conllu", limit)
    names = [
        name
        for name, number in COLUMNS.items()
        if name == FORM or set(rows.columns[number]) != {EMPTY}
    ]
    names += dict.fromkeys(
        key for cell in dict.fromkeys(rows.columns[MISC]) for key, _ in _items(cell)
    )
    known = {name: name for name in names}
    known = {**known, **{KEYS[name]: name for name in KEYS if name in known}}
    chosen = {
        column: known[name] for column, name in fields.of(path, int(rows.lines[0]), known).items()
    }
    cells = {
        column: rows.columns[COLUMNS[name]]
        if name in COLUMNS
        else _values(path, rows, name, OUTSIDE if column == TAG else EMPTY)
        for column, name in chosen.items()
    }
    return TokenLists(path, chosen, cells, rows.offsets, rows.lines)


def write(
    path: str, target: str, _fields: Fields, predicted: PredictedLists, encoding: str
) -> None:
    """Write a file again with labels in a column that is ``_`` throughout, or in MISC; all else is
    copied to the byte.

    Raises
    ------
    DataError
        A label with a character that separates columns or items of MISC.
    """
    text = read_verbatim(path, encoding)
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    lines = text.removeprefix(mark).split("\n")
    rows = word_rows(path, plain_lines(text), "conllu")
    upper = {name.casefold(): name for name in COLUMNS}
    names = [own_name(key, KEYS) for key in predicted.keys]
    names = [upper.get(name.casefold(), name) for name in names]
    numbers = iter(rows.lines.tolist())
    lengths = (rows.offsets[1:] - rows.offsets[:-1]).tolist()
    for added in predicted.rows(path, lengths):
        for cells in zip(*added.values(), strict=True):
            number = next(numbers)
            lines[number - 1] = _filled(path, number, lines[number - 1], names, cells)
    write_text(target, mark + "\n".join(lines), encoding, source=path)


def _filled(path: str, number: int, line: str, names: Sequence[str], cells: Sequence[str]) -> str:
    """A row with cells in its columns, or in MISC."""
    end = "\r" if line.endswith("\r") else ""
    row, items = line.removesuffix("\r").split(TAB), dict[str, str]()
    for name, cell in zip(names, cells, strict=True):
        if TAB in cell or (name not in COLUMNS and SEPARATOR in cell):
            raise DataError(
                path,
                number,
                f"the predicted label {cell!r} has a character that separates "
                f"{'columns' if TAB in cell else 'items of MISC'}",
                remedy="predict a file of another format, such as JSON lines.",
            )
        if name in COLUMNS:
            row[COLUMNS[name]] = cell
        else:
            items[name] = cell
    if items:
        row[MISC] = with_items(row[MISC], items)
    return TAB.join(row) + end


def _items(misc: str) -> Iterator[tuple[str, str]]:
    """The keys of MISC and their values."""
    for item in misc.split(SEPARATOR):
        key, equals, value = item.partition("=")
        if equals and key:
            yield key, value


def _values(path: str, rows: Rows, key: str, missing: str) -> list[str]:
    """The value that each word has for a key of MISC."""
    found: Mapping[str, list[str]] = {
        cell: [value for name, value in _items(cell) if name == key]
        for cell in set(rows.columns[MISC])
    }
    twice = next((row for row, cell in enumerate(rows.columns[MISC]) if len(found[cell]) > 1), None)
    if twice is not None:
        raise DataError(
            path,
            int(rows.lines[twice]),
            f"MISC has {key}= more than once",
            remedy="keep one of the values.",
        )
    return [found[cell][0] if found[cell] else missing for cell in rows.columns[MISC]]
