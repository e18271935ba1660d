"""CoNLL-U with mentions: brackets in ``Entity=`` of MISC, whose fields ``# global.Entity`` names;
``# newdoc`` begins a document.

The form is that of CorefUD and GUM. Empty nodes are no words: a mention that has some is made of
its words, and left out where it has no words.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.coreference.brackets import Bracket, BracketRow, bracket_cells, mentions_of
from structopt.formats.coreference.document_bounds import Heading, document_bounds
from structopt.formats.coreference.documents import Documents
from structopt.formats.trees.conllu import LAYOUT, MISC, words
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.formats.trees.tree_checks import check_word_numbers, numbers_of
from structopt.formats.trees.tree_rows import TAB, Rows, plain_lines, scan
from structopt.kernels.waist.record import Array

FORM = "# newdoc id = NAME"
NEWDOC = re.compile(r"#\s*newdoc(?:\s+id\s*=(.*)|\s*)")
GLOBAL = re.compile(r"#\s*global\.Entity\s*=(.*)")
BRACKET = re.compile(r"(\(?)([^()]+)(\)?)")
PIECE = re.compile(r"\[[0-9]+/[0-9]+\]")
ENTITY_FIELDS = ("GRP", "eid")
"""Names of the field of a bracket that is the entity."""
ENTITY = "Entity="
DROPPED = (ENTITY, "Bridge=", "SplitAnte=")
"""Items of MISC that speak of entities by their names."""


def read(path: str | Path, text: str, limit: int | None = None, labelled: bool = True) -> Documents:
    """Read the documents of a text, or the first `limit` of them; O(characters).

    Raises
    ------
    DataError
        A row that breaks the format, rows outside of documents, a head beyond its sentence,
        malformed brackets, a discontinuous mention.
    """
    lines = plain_lines(text)
    comments = [(number, line) for number, line in enumerate(lines, 1) if line[:1] == "#"]
    headings = [
        Heading(number, (match[1] or "").strip())
        for number, line in comments
        if (match := NEWDOC.fullmatch(line))
    ]
    if limit is not None and len(headings) > limit:
        lines = lines[: headings[limit].line - 1]
        headings = headings[:limit]
    rows = scan(path, lines, LAYOUT)
    _check_headings(path, headings, rows)
    names, bounds = document_bounds(path, headings, rows.lines[rows.offsets[:-1]], FORM, limit)
    rows = _first(rows, int(bounds[-1]))
    kept = words(path, rows)
    check_word_numbers(path, kept.lines, kept.offsets, kept.columns[0])
    documents = kept.offsets[bounds]
    fields = [
        (number, _entity_field(match[1]))
        for number, line in comments
        if (match := GLOBAL.fullmatch(line))
    ]
    brackets = _bracket_rows(path, rows, rows.offsets[bounds], fields)
    mentions = mentions_of(path, brackets, documents, kept.offsets, kept.lines)
    return Documents(
        str(path),
        names,
        documents,
        kept.offsets,
        kept.lines,
        _columns(kept),
        _heads(path, kept),
        mentions.offsets,
        mentions.mentions,
        mentions.clusters if labelled else None,
        "conllu",
        text,
        mentions.crossing,
    )


def fill(lines: list[str], corpus: Documents, clusters: Array) -> None:
    """Put the brackets of entities into MISC of a corpus' rows, and drop what MISC said of
    entities.

    Entities are named ``e1``, ``e2``, ..., and brackets have no other field.
    """
    names = [f"e{cluster + 1}" for cluster in clusters.tolist()]
    numbers = corpus.lines.tolist()
    brackets = {numbers[word]: cell for word, cell in bracket_cells(corpus.mentions, names).items()}
    heading, declared, last = 0, False, int(corpus.lines[-1])
    for number, line in enumerate(lines, 1):
        end = "\r" if line.endswith("\r") else ""
        if line[:1] == "#":
            if NEWDOC.fullmatch(line):
                if number > last:
                    break
                heading = heading or number
            elif GLOBAL.fullmatch(line):
                lines[number - 1], declared = f"# global.Entity = eid{end}", True
        elif number in brackets or any(item in line for item in DROPPED):
            row, _, misc = line.removesuffix("\r").rpartition(TAB)
            lines[number - 1] = f"{row}{TAB}{with_entity(misc, brackets.get(number, ''))}{end}"
    if not declared:
        end = "\r\n" if lines[0].endswith("\r") else "\n"
        comment = f"# global.Entity = eid{end}"
        lines[heading] = comment + lines[heading]


def with_entity(misc: str, cell: str) -> str:
    """Write the brackets of a word into a cell of MISC, in place of those that it has, or in
    alphabetic order.
    """
    items = [item for item in misc.split("|") if item != EMPTY and not item.startswith(DROPPED[1:])]
    index = next((i for i, item in enumerate(items) if item.startswith(ENTITY)), None)
    if index is None:
        later = (i for i, item in enumerate(items) if item.partition("=")[0].lower() > "entity")
        index = next(later, len(items))
    else:
        del items[index]
    if cell:
        items.insert(index, ENTITY + cell)
    return "|".join(items) or EMPTY


def _check_headings(path: str | Path, headings: Sequence[Heading], rows: Rows) -> None:
    """Raise DataError for a document that begins within a sentence."""
    before = np.searchsorted(rows.lines, [line for line, _ in headings])
    within = np.flatnonzero(~np.isin(before, rows.offsets))
    if len(within):
        raise DataError(
            path,
            headings[int(within[0])].line,
            "a document begins within a sentence",
            remedy="leave a blank line before this one.",
        )


def _first(rows: Rows, sentences: int) -> Rows:
    """The rows of the first sentences."""
    end = int(rows.offsets[sentences])
    if end == len(rows.lines):
        return rows
    return Rows(
        rows.offsets[: sentences + 1], rows.lines[:end], [column[:end] for column in rows.columns]
    )


def _entity_field(names: str) -> int:
    """The number of the field that is the entity, given the names of all fields."""
    fields = names.strip().split("-")
    return next((fields.index(name) for name in ENTITY_FIELDS if name in fields), 0)


def _bracket_rows(
    path: str | Path, rows: Rows, documents: NDArray[np.int64], fields: Sequence[tuple[int, int]]
) -> list[list[BracketRow]]:
    """The rows with brackets, of every document; the documents begin at rows, and the fields are
    declared at lines.
    """
    ids, misc = rows.columns[0], rows.columns[MISC]
    is_word = np.array(["-" not in cell and "." not in cell for cell in ids])
    before = (np.cumsum(is_word) - is_word).tolist()
    declared, entity_fields = [line for line, _ in fields], [0, *(field for _, field in fields)]
    indices = [row for row, cell in enumerate(misc) if ENTITY in cell and _entity_items(cell)]
    bracket_rows: list[list[BracketRow]] = [[] for _ in documents[1:]]
    for row, document in zip(
        indices, (np.searchsorted(documents, indices, side="right") - 1).tolist(), strict=True
    ):
        line, items = int(rows.lines[row]), _entity_items(misc[row])
        if "-" in ids[row]:
            raise DataError(
                path,
                line,
                f"the multi-word token {ids[row]} has {ENTITY}, which is for words",
                remedy="write it at the words.",
            )
        if len(items) > 1:
            raise DataError(
                path,
                line,
                f"MISC has {ENTITY} more than once",
                remedy="write all brackets of the word as one, run together.",
            )
        brackets = _brackets(path, line, items[0], entity_fields[bisect(declared, line)])
        bracket_rows[document].append(
            BracketRow(line, before[row], before[row] + int(is_word[row]), brackets)
        )
    return bracket_rows


def _entity_items(misc: str) -> list[str]:
    return [item[len(ENTITY) :] for item in misc.split("|") if item.startswith(ENTITY)]


def _brackets(path: str | Path, line: int, cell: str, field: int) -> list[Bracket]:
    """The brackets of a word; the entity is the field of the number `field` of an opening one."""
    parts = BRACKET.findall(cell)
    brackets: list[Bracket] = []
    for opening, content, closing in parts:
        names = content.split("-") if opening else [content]
        entity = names[field if opening else 0] if field < len(names) or not opening else ""
        if PIECE.search(entity):
            advice = (
                "make one mention of it, from its first word to its last, or keep one of its "
                "pieces, without the [1/2]"
            )
            raise DataError(
                path,
                line,
                f"{entity} is a discontinuous mention; these are not supported",
                remedy=f"{advice}.",
            )
        if entity and (opening or closing):
            brackets.append(Bracket(bool(opening), entity, bool(closing)))
    if len(brackets) < len(parts) or sum(map(len, map("".join, parts))) < len(cell) or not parts:
        advice = "write brackets run together, such as (7-person(12-place) or 12)7)"
        which = f", each opening one with the entity as its field {field + 1}" if field else ""
        raise DataError(
            path,
            line,
            f"{ENTITY}{cell} does not read as brackets of mentions",
            remedy=f"{advice}{which}.",
        )
    return brackets


def _columns(rows: Rows) -> dict[str, list[str]]:
    """Columns by name, equal strings as one object; those with no value are left out."""
    columns: dict[str, list[str]] = {}
    for name, number in LAYOUT.numbers.items():
        share = dict[str, str]()
        column = list(map(share.setdefault, rows.columns[number], rows.columns[number]))
        if name == "form" or (name != "head" and share.keys() != {EMPTY}):
            columns[name] = column
    return columns


def _heads(path: str | Path, rows: Rows) -> NDArray[np.int32] | None:
    """The heads; None where some are missing."""
    cells = rows.columns[LAYOUT.numbers["head"]]
    if EMPTY in cells:
        return None
    heads, lengths = numbers_of(cells), np.repeat(np.diff(rows.offsets), np.diff(rows.offsets))
    wrong = np.flatnonzero((heads < 0) | (heads > lengths))
    if len(wrong):
        word = int(wrong[0])
        message = f"the head {cells[word]!r} is no word of its sentence, which has {lengths[word]}"
        raise DataError(
            path,
            int(rows.lines[word]),
            message,
            remedy=f"write 1 to {lengths[word]}, 0 for the root, or _ for none.",
        )
    return heads.astype(np.int32)
