"""Columns of CoNLL-2012: one word a row, the brackets of mentions in the last column, ``#begin
document`` and ``#end document``.

The columns are document, part of the document, number and word; the tag, where there are six
columns; the parse bit, the lemma, the frame, the sense and the speaker, where there are twelve.
Then the number of columns may differ from sentence to sentence: the layout of CoNLL-2012 has one
for each predicate of a sentence.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError, line_name, place_of
from structopt.formats.conll_reader import ASCII_CELLS, UNICODE_SPACE
from structopt.formats.coreference.brackets import Bracket, BracketRow, bracket_cells, mentions_of
from structopt.formats.coreference.document_bounds import Heading, document_bounds, outside
from structopt.formats.coreference.documents import Documents, separate
from structopt.formats.trees.tree_rows import TAB, is_blank, plain_lines
from structopt.kernels.waist.record import Array

FORM = "#begin document (NAME); part 000"
MARK = re.compile(r"#[ \t]*(begin|end)\b")
BEGIN = re.compile(r"#begin\s+document\s+\((.*)\)\s*(?:;\s*(?:part\s+(\S+)\s*)?)?")
END = re.compile(r"#end\s+document\b.*")
BRACKET = re.compile(r"(\(?)([0-9]+)(\)?)")
NOTHING = ("-", "_", "")
"""Cells of words at which no mention begins or ends."""
MISSING = {*NOTHING, "*"}
"""A column that has only these is missing."""
SPACES = " \t\r\f\v"
WORD, LEAST, WIDE = 3, 5, 12
"""The column of words; the least columns; from how many on there are all columns of CoNLL-2012."""
TAGGED = {"xpos": 4}
ANNOTATED = {"xpos": 4, "parse": 5, "lemma": 6, "speaker": 9}


class RowLines(NamedTuple):
    """The rows of a file, their lines, where sentences begin in them, and the lines that begin and
    end documents.
    """

    rows: list[str]
    numbers: array[int]
    offsets: list[int]
    headings: list[Heading]
    ends: list[int]


def read(path: str | Path, text: str, limit: int | None = None, labelled: bool = True) -> Documents:
    """Read the documents of a text, or the first `limit` of them; O(characters).

    Raises
    ------
    DataError
        Lines that begin and end no document, rows outside of documents, rows of other columns,
        malformed cells and brackets.
    """
    rows, numbers, offsets, headings, ends = _row_lines(path, plain_lines(text), limit)
    if not rows:
        raise DataError(
            path,
            None,
            "the file has no sentences",
            remedy="check the path, or make the file again.",
        )
    lines, sentences = np.array(numbers, np.int64), np.array(offsets, np.int64)
    names, bounds = document_bounds(path, headings, lines[sentences[:-1]], FORM, limit)
    begins = set(bounds.tolist())
    for sentence in np.searchsorted(lines[sentences[:-1]], ends).tolist():
        if sentence < bounds[-1] and sentence not in begins:
            raise outside(path, int(lines[sentences[sentence]]), FORM)
    sentences = sentences[: bounds[-1] + 1]
    lines = lines[: sentences[-1]]
    cells = list(map(_splitter(rows[0], text), rows[: len(lines)]))
    _check_widths(path, lines, sentences, cells)
    documents = sentences[bounds]
    brackets = _bracket_rows(path, [row[-1] for row in cells], lines, documents)
    mentions = mentions_of(path, brackets, documents, sentences, lines)
    return Documents(
        str(path),
        names,
        documents,
        sentences,
        lines,
        _columns(cells),
        None,
        mentions.offsets,
        mentions.mentions,
        mentions.clusters if labelled else None,
        "conll",
        text,
        mentions.crossing,
    )


def fill(lines: list[str], corpus: Documents, clusters: Array) -> list[tuple[int, int]]:
    """Put the brackets of entities into the last column of a corpus' rows, and return the lines at
    which mentions begin that cross and were predicted to be of one entity.

    A row without brackets keeps its cell; one that loses them gets that of the first row without.
    """
    entities = clusters.tolist()
    separated = separate(corpus.mentions, entities)
    brackets = bracket_cells(corpus.mentions, list(map(str, entities)), "|")
    by_tabs = TAB in lines[int(corpus.lines[0]) - 1]
    rows = [_parted(lines[number - 1], by_tabs) for number in corpus.lines.tolist()]
    nothing = next((cell for _, cell, _ in rows if cell in NOTHING), NOTHING[0])
    for word, (number, (before, cell, after)) in enumerate(
        zip(corpus.lines.tolist(), rows, strict=True)
    ):
        written = brackets.get(word) or (cell if cell in NOTHING else nothing)
        lines[number - 1] = before + written + after
    begins = corpus.lines[corpus.mentions[:, 0]].tolist() if separated else []
    return [(begins[one], begins[other]) for one, other in separated]


def _parted(line: str, by_tabs: bool) -> tuple[str, str, str]:
    """A row as what stands before its last cell, the cell, and what stands after it."""
    end = len(line.removesuffix("\r")) if by_tabs else len(line.rstrip(SPACES))
    begin = 1 + (line.rfind(TAB) if by_tabs else max(line.rfind(space, 0, end) for space in SPACES))
    return line[:begin], line[begin:end], line[end:]


def _row_lines(path: str | Path, lines: Sequence[str], limit: int | None) -> RowLines:
    """The rows up to the document after the first `limit`."""
    rows: list[str] = []
    numbers, offsets, headings, ends = array("q"), [0], list[Heading](), list[int]()
    for number, line in enumerate(lines, 1):
        mark = MARK.match(line) if line[:1] == "#" else None
        if mark is None and not is_blank(line):
            rows.append(line)
            numbers.append(number)
            continue
        if len(rows) > offsets[-1]:
            offsets.append(len(rows))
        if mark and mark[1] == "begin":
            if len(headings) == limit:
                break
            unended = (
                headings[-1].line
                if headings and (not ends or ends[-1] < headings[-1].line)
                else None
            )
            headings.append(_heading(path, number, line, unended))
        elif mark:
            ends.append(
                _end(
                    path,
                    number,
                    line,
                    bool(headings) and (not ends or ends[-1] < headings[-1].line),
                )
            )
    if len(rows) > offsets[-1]:
        offsets.append(len(rows))
    return RowLines(rows, numbers, offsets, headings, ends)


def _heading(path: str | Path, number: int, line: str, unended: int | None) -> Heading:
    """Read a line that begins a document, after one that was begun at the line `unended`."""
    begin = BEGIN.fullmatch(line)
    if begin is None:
        raise DataError(
            path,
            number,
            f"{line!r} does not read as the beginning of a document",
            remedy=f"write {FORM}.",
        )
    if unended is not None and place_of(path, unended)[0] == place_of(path, number)[0]:
        message = (
            "a document begins here, but the one that begins in line "
            f"{line_name(path, unended, number)} has no end"
        )
        raise DataError(
            path,
            number,
            message,
            remedy="write #end document before this line.",
        )
    return Heading(number, f"{begin[1]}; part {begin[2]}" if begin[2] else begin[1])


def _end(path: str | Path, number: int, line: str, begun: bool) -> int:
    """Check a line that ends a document, and return its number."""
    if not END.fullmatch(line):
        raise DataError(
            path,
            number,
            f"{line!r} does not read as the end of a document",
            remedy="write #end document.",
        )
    if not begun:
        raise DataError(
            path,
            number,
            "a document ends here that was not begun",
            remedy=f"write {FORM} before its rows.",
        )
    return number


def _splitter(first: str, text: str) -> Callable[[str], list[str]]:
    """The function that splits a row into cells: by tabs if the first row has some, else by ASCII
    white space.
    """
    if TAB in first:
        return lambda row: row.split(TAB)
    return ASCII_CELLS.findall if UNICODE_SPACE.search(text) else str.split


def _check_widths(
    path: str | Path,
    lines: NDArray[np.int64],
    sentences: NDArray[np.int64],
    cells: Sequence[Sequence[str]],
) -> None:
    """Raise DataError for a row with too few columns, or other columns than the rows before it."""
    widths = np.fromiter(map(len, cells), np.int64, len(cells))
    if widths[0] < LEAST:
        message = (
            f"this row has {widths[0]} {'column' if widths[0] == 1 else 'columns'}, but "
            f"documents have at least {LEAST}"
        )
        raise DataError(
            path, int(lines[0]), f"{message}: document, part, number, word, ..., coreference."
        )
    varied = widths[0] >= WIDE
    first = (
        np.repeat(sentences[:-1], np.diff(sentences)) if varied else np.zeros(len(widths), np.int64)
    )
    first[widths[first] < WIDE] = 0
    wrong = np.flatnonzero(widths != widths[first])
    if len(wrong):
        row = int(wrong[0])
        line, other = int(lines[row]), int(first[row])
        of = "of its sentence " if other else ""
        message = (
            f"this row has {widths[row]} columns, but the first row {of}(line "
            f"{line_name(path, int(lines[other]), line)})"
        )
        advice = (
            "give all rows of a sentence the same columns"
            if other
            else "give all rows the same columns"
        )
        raise DataError(
            path,
            line,
            f"{message} has {widths[other]}",
            remedy=f"{advice}, separated by tabs or by spaces.",
        )


def _bracket_rows(
    path: str | Path, cells: Sequence[str], lines: NDArray[np.int64], documents: NDArray[np.int64]
) -> list[list[BracketRow]]:
    """The rows with brackets, of every document."""
    brackets = {cell: _brackets(cell) for cell in set(cells)}
    rows: list[list[BracketRow]] = [[] for _ in documents[1:]]
    words = [word for word, cell in enumerate(cells) if cell not in NOTHING]
    for word, document in zip(
        words, (np.searchsorted(documents, words, side="right") - 1).tolist(), strict=True
    ):
        line, cell = int(lines[word]), cells[word]
        if not brackets[cell]:
            advice = (
                "write brackets with the numbers of entities, separated by |, such as (3|(12) or "
                "3), or - for none"
            )
            raise DataError(
                path,
                line,
                f"{cell!r} in the last column does not read as coreference",
                remedy=f"{advice}.",
            )
        rows[document].append(BracketRow(line, word, word + 1, brackets[cell]))
    return rows


def _brackets(cell: str) -> list[Bracket]:
    """The brackets of a cell; none where it is malformed."""
    matches = list(map(BRACKET.fullmatch, cell.split("|")))
    brackets = [
        Bracket(bool(match[1]), match[2], bool(match[3]))
        for match in matches
        if match and (match[1] or match[3])
    ]
    return brackets if len(brackets) == len(matches) else []


def _columns(cells: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Columns by name, equal strings as one object."""
    width = len(cells[0])
    columns: dict[str, list[str]] = {}
    for name, number in {
        "form": WORD,
        **(ANNOTATED if width >= WIDE else TAGGED if width > LEAST else {}),
    }.items():
        share = dict[str, str]()
        column = [share.setdefault(row[number], row[number]) for row in cells]
        if name == "form" or not share.keys() <= MISSING:
            columns[name] = column
    return columns
