"""Entities of documents in files of their own: CoNLL columns, named as the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from structopt.errors import DataError, did_you_mean
from structopt.formats.coreference.brackets import Bracket, BracketRow, Mentions, mentions_of
from structopt.formats.coreference.documents import Documents
from structopt.formats.text_files import AUTO, read_each
from structopt.formats.trees.tree_rows import is_blank

BEGIN = re.compile(r"#\s*begin\s+document\b\s*(?:\((.*)\).*)?")
BRACKET = re.compile(r"(\(?)([0-9]+)(\)?)")
NOTHING = ("-", "_", "")
ENDINGS = (".gz", ".conll", ".tsv", ".txt")
"""What follows the name of a document in the name of its file, once or several times."""
NARROW = 3
"""Columns of a row that are its number, its word and its coreference only."""


class _Rows(NamedTuple):
    """The rows of a document: file, line and cells of each."""

    file: str
    lines: list[int]
    cells: list[list[str]]


def with_entities(documents: Documents, path: str, encoding: str = AUTO) -> tuple[Documents, int]:
    """Return documents with the mentions and entities of other files, and how many mentions were
    left out because their words were a mention before.

    A file has one document, of its name, or several that begin at ``#begin document (NAME)``. Its
    rows are the words of the document: number, word and coreference; or the columns of CoNLL-2012.
    Brackets may be separated by ``|`` or by nothing. Words must equal the words of the
    documents; an empty cell fits any word.

    Parameters
    ----------
    documents : Documents
    path : str
        A file or several (see `structopt.core.data.file_sets`).
    encoding : str
        ``auto``: utf8 or cp1252, whichever each file is.

    Raises
    ------
    DataError
        A document that has no rows there, or other words; malformed brackets; a mention that
        reaches beyond its sentence.
    """
    rows = {
        name: own
        for file, text in read_each(path, encoding)
        for name, own in _documents(file, text)
    }
    found: list[Mentions] = []
    repeated = 0
    for i, name in enumerate(documents.names):
        if name not in rows:
            message = f"{path} has no entities of the document '{name}'."
            raise DataError(documents.path, None, message + did_you_mean(name, list(rows)))
        one, opened = _mentions(documents, i, rows[name])
        repeated += opened - len(one.mentions)
        found.append(one)
    shifted = [
        one.mentions + np.int32(begin)
        for one, begin in zip(found, documents.documents, strict=False)
    ]
    counts = [len(one.mentions) for one in found]
    return replace(
        documents,
        offsets=np.cumsum([0, *counts], dtype=np.int64),
        mentions=np.concatenate([np.zeros((0, 2), np.int32), *shifted]),
        clusters=np.concatenate([np.zeros(0, np.int32), *(one.clusters for one in found)]),
        crossing=(),
    ), repeated


def _documents(file: str, text: str) -> Iterator[tuple[str, _Rows]]:
    """The documents of a file by their names."""
    name, rows = _name_of(file), _Rows(file, [], [])
    for number, line in enumerate(text.split("\n"), 1):
        if begin := BEGIN.match(line):
            if rows.lines:
                yield name, rows
            name, rows = begin[1] or _name_of(file), _Rows(file, [], [])
        elif not line.startswith("#") and not is_blank(line):
            rows.lines.append(number)
            rows.cells.append(line.rstrip("\r").split("\t") if "\t" in line else line.split())
    if rows.lines:
        yield name, rows


def _name_of(file: str) -> str:
    name = PurePosixPath(file.replace(":", "/")).name
    while ending := next((one for one in ENDINGS if name.endswith(one)), None):
        name = name.removesuffix(ending)
    return name


def _mentions(documents: Documents, i: int, rows: _Rows) -> tuple[Mentions, int]:
    """The mentions of a document, and how many its brackets are."""
    begin, end = documents.documents[i : i + 2].tolist()
    words = documents.cells["form"][begin:end]
    bracket_rows: list[BracketRow] = []
    for at, (line, cells) in enumerate(zip(rows.lines, rows.cells, strict=True)):
        if len(cells) < NARROW:
            raise DataError(
                rows.file,
                line,
                f"this row has {len(cells)} columns",
                remedy="give its number, its word and its coreference, separated by tabs.",
            )
        word = cells[1 if len(cells) == NARROW else 3]
        if at >= len(words) or word not in ("", words[at]):
            there = f"'{words[at]}'" if at < len(words) else "no further word"
            raise DataError(
                rows.file,
                line,
                f"the word '{word}' is here, but {there} in the document "
                f"'{documents.names[i]}' of {documents.path}",
                remedy="give files of the same words.",
            )
        if cells[-1] not in NOTHING:
            bracket_rows.append(BracketRow(line, at, at + 1, _brackets(rows.file, line, cells[-1])))
    if len(rows.lines) < len(words):
        raise DataError(
            rows.file,
            rows.lines[-1],
            f"the document '{documents.names[i]}' ends here, but has {len(words)} words in "
            f"{documents.path}, and {len(rows.lines)} here",
            remedy="give files of the same words.",
        )
    sentences = documents.sentences
    inside = sentences[(sentences >= begin) & (sentences <= end)] - begin
    bounds, lines = np.array([0, len(words)]), np.array(rows.lines, np.int64)
    found = mentions_of(rows.file, [bracket_rows], bounds, inside, lines, repeated=True)
    return found, sum(bracket.opens for row in bracket_rows for bracket in row.brackets)


def _brackets(file: str | Path, line: int, cell: str) -> Sequence[Bracket]:
    """The brackets of a cell."""
    matches = list(BRACKET.finditer(cell))
    whole = "".join(match[0] for match in matches) == cell.replace("|", "")
    if not whole or not all(match[1] or match[3] for match in matches):
        raise DataError(
            file,
            line,
            f"{cell!r} in the last column does not read as coreference",
            remedy="write brackets with the numbers of entities, such as (3(12) or 3), or _ for "
            "none.",
        )
    return [Bracket(bool(match[1]), match[2], bool(match[3])) for match in matches]
