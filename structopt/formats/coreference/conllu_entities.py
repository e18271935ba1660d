"""CoNLL-U with mentions: brackets in ``Entity=`` of MISC, whose fields ``# global.Entity`` names;
``# newdoc`` begins a document.

The form is that of CorefUD and GUM. Empty nodes are not words: a mention consists of its words, and
mentions without words of their own are not predicted. They are copied, as are the further fields of
brackets, and with other names ``Bridge=`` and ``SplitAnte=`` of MISC.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.coreference.brackets import (
    PIECE,
    Bracket,
    BracketRow,
    bracket_cells,
    mentions_of,
)
from structopt.formats.coreference.document_bounds import Heading, document_bounds
from structopt.formats.coreference.documents import Documents, Mark, Markup, separate
from structopt.formats.trees.conllu import LAYOUT, MISC, SEPARATOR, words
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.formats.trees.tree_checks import check_word_numbers, numbers_of
from structopt.formats.trees.tree_rows import TAB, Rows, plain_lines, scan
from structopt.kernels.waist.record import Array

FORM = "# newdoc id = NAME"
NEWDOC = re.compile(r"#\s*newdoc(?:\s+id\s*=(.*)|\s*)")
GLOBAL = re.compile(r"#\s*global\.Entity\s*=(.*)")
BRACKET = re.compile(r"(\(?)([^()]+)(\)?)")
ENTITY_FIELDS = ("GRP", "eid")
"""Names of the field of a bracket that is the entity."""
ENTITY = "Entity="
REFERRING = ("Bridge=", "SplitAnte=")
"""Items of MISC that refer to entities by their names, such as ``Bridge=e2<e3:part,e2<e4``."""
REFERRED = re.compile(r"(?<![^,<])[^,<:]+")
Discontinuous = Literal["refuse", "hull"]


def read(
    path: str | Path,
    text: str,
    limit: int | None = None,
    labelled: bool = True,
    discontinuous: Discontinuous = "refuse",
) -> Documents:
    """Read the documents of a text, or the first `limit` of them; O(characters).

    Raises
    ------
    DataError
        A row that breaks the format, rows outside of documents, a head beyond its sentence,
        malformed brackets, a discontinuous mention unless `discontinuous` is ``hull``.
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
    firsts = np.append(rows.lines, rows.lines[-1] + 1)  # a last document may have no rows
    begins = firsts[rows.offsets[bounds[:-1]]].tolist()
    brackets = _bracket_rows(path, rows, rows.offsets[bounds], fields, discontinuous)
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
        tuple(
            replace(markup, begin=begin, field=_field_at(fields, begin))
            for markup, begin in zip(mentions.markup, begins, strict=True)
        ),
    )


@dataclass(frozen=True)
class Copied:
    """Counts of the markup that `fill` copies from the input, since it is not predicted.

    Attributes
    ----------
    mentions : int
        Mentions without words of their own.
    items : mapping of str to int
        Items of MISC that refer to entities, by key.
    fields : tuple of str
        Names of the further fields of brackets, and `with_fields`: how many mentions have some.
    with_fields : int
    separated : list of pairs of int
        The lines at which mentions begin that cross and were predicted to be of one entity.
    """

    mentions: int = 0
    items: Mapping[str, int] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    with_fields: int = 0
    separated: list[tuple[int, int]] = field(default_factory=list)


def fill(lines: list[str], corpus: Documents, clusters: Array) -> Copied:
    """Put the brackets of entities into MISC of a corpus' rows, and count the markup that is copied
    from the input.

    Entities are named ``e1``, ``e2``, ... in each document. A mention without words of its own, and
    an item that refers to an entity of the input, get the name of that entity's first mention.
    """
    cells: dict[int, str] = {}
    names, separated, with_fields = [], list[tuple[int, int]](), 0
    for number, markup in enumerate(corpus.markup):
        mentions = slice(*corpus.offsets[number : number + 2].tolist())
        own = _Names(int(clusters[mentions].max(initial=-1)) + 1)
        marks = _marks(corpus, mentions, markup)
        entities = clusters[mentions].tolist()
        for mark, entity in zip(marks, entities, strict=True):
            own.numbers.setdefault(mark.entity, entity)
        marks += markup.kept
        entities += [own.number(mark.entity) for mark in markup.kept]
        order = sorted(range(len(marks)), key=lambda k: (marks[k].first, -marks[k].last))
        marks, entities = [marks[k] for k in order], [entities[k] for k in order]
        rows = np.array([(mark.first, mark.last + 1) for mark in marks], np.int32).reshape(-1, 2)
        separated += [(marks[i].first, marks[j].first) for i, j in separate(rows, entities)]
        openings = [_opening(mark, entity) for mark, entity in zip(marks, entities, strict=True)]
        cells |= bracket_cells(rows, list(map(_name, entities)), "", openings)
        with_fields += sum(len(mark.fields) > 1 for mark in marks)
        own.last = max([own.last, *(entity + 1 for entity in entities)])
        names.append(own)
    begins, counts = [markup.begin for markup in corpus.markup], Counter[str]()
    heading, declared, fields, last = 0, False, dict[str, None](), int(corpus.lines[-1])
    for number, line in enumerate(lines, 1):
        if line[:1] == "#":
            if NEWDOC.fullmatch(line):
                if number > last:
                    break
                heading = heading or number
            elif match := GLOBAL.fullmatch(line.removesuffix("\r")):
                own_field, every = _entity_field(match[1]), match[1].strip().split("-")
                fields |= dict.fromkeys(every[:own_field] + every[own_field + 1 :])
                declared = True
        elif number in cells or any(key in line for key in (ENTITY, *REFERRING)):
            end = "\r" if line.endswith("\r") else ""
            row, _, misc = line.removesuffix("\r").rpartition(TAB)
            misc = with_entity(misc, cells.get(number, ""))
            misc = _renamed(misc, names[max(bisect(begins, number) - 1, 0)], counts)
            lines[number - 1] = f"{row}{TAB}{misc}{end}"
    if not (declared or with_fields):
        end = "\r\n" if lines[0].endswith("\r") else "\n"
        lines[heading] = f"# global.Entity = eid{end}{lines[heading]}"
    kept = sum(len(markup.kept) for markup in corpus.markup)
    return Copied(kept, counts, tuple(fields), with_fields, separated)


class _Names:
    """The numbers of a document's entities by their names in the input.

    Parameters
    ----------
    last : int
        How many entities are predicted; others are numbered from there on.
    """

    def __init__(self, last: int) -> None:
        self.numbers, self.last = dict[str, int](), last

    def number(self, entity: str) -> int:
        """Return the number of an entity of the input."""
        if entity not in self.numbers:
            self.numbers[entity], self.last = self.last, self.last + 1
        return self.numbers[entity]


def _name(entity: int) -> str:
    return f"e{entity + 1}"


def _opening(mark: Mark, entity: int) -> str:
    """The content of an opening bracket: its fields, with another entity."""
    fields = list(mark.fields) or [""] * (mark.field + 1)
    fields[mark.field] = _name(entity)
    return "-".join(fields)


def _marks(corpus: Documents, mentions: slice, markup: Markup) -> list[Mark]:
    """The brackets of the mentions of a document; of mentions that the file lacks, new ones."""
    marks = []
    for first, end in corpus.mentions[mentions].tolist():
        place = int(corpus.lines[first]), int(corpus.lines[end - 1])
        marks.append(markup.marks.get(place) or Mark(*place, "", (), markup.field))
    return marks


def _renamed(misc: str, names: _Names, counts: Counter[str]) -> str:
    """A cell of MISC whose items that refer to entities have the names of the output."""
    items = misc.split(SEPARATOR)
    for place, item in enumerate(items):
        key, _, value = item.partition("=")
        if f"{key}=" in REFERRING:
            counts[f"{key}="] += 1
            renamed = REFERRED.sub(lambda match: _name(names.number(match[0])), value)
            items[place] = f"{key}={renamed}"
    return SEPARATOR.join(items)


def with_entity(misc: str, cell: str) -> str:
    """Write the brackets of a word into a cell of MISC, in place of those that it has, or in
    alphabetic order.
    """
    items = [item for item in misc.split(SEPARATOR) if item != EMPTY]
    index = next((i for i, item in enumerate(items) if item.startswith(ENTITY)), None)
    if index is None:
        later = (i for i, item in enumerate(items) if item.partition("=")[0].lower() > "entity")
        index = next(later, len(items))
    else:
        del items[index]
    if cell:
        items.insert(index, ENTITY + cell)
    return SEPARATOR.join(items) or EMPTY


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
    path: str | Path,
    rows: Rows,
    documents: NDArray[np.int64],
    fields: Sequence[tuple[int, int]],
    discontinuous: Discontinuous,
) -> list[list[BracketRow]]:
    """The rows with brackets, of every document; the documents begin at rows, and the fields are
    declared at lines.
    """
    ids, misc = rows.columns[0], rows.columns[MISC]
    is_word = np.array(["-" not in cell and "." not in cell for cell in ids])
    before = (np.cumsum(is_word) - is_word).tolist()
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
        brackets = _brackets(path, line, items[0], _field_at(fields, line), discontinuous)
        bracket_rows[document].append(
            BracketRow(line, before[row], before[row] + int(is_word[row]), brackets)
        )
    return bracket_rows


def _entity_items(misc: str) -> list[str]:
    return [item[len(ENTITY) :] for item in misc.split(SEPARATOR) if item.startswith(ENTITY)]


def _field_at(fields: Sequence[tuple[int, int]], line: int) -> int:
    """The number of the field that is the entity at a line, given the lines of declarations."""
    before = bisect(fields, line, key=lambda one: one[0])
    return fields[before - 1][1] if before else 0


def _brackets(
    path: str | Path, line: int, cell: str, field: int, discontinuous: Discontinuous
) -> list[Bracket]:
    """The brackets of a word; the entity is the field of the number `field` of an opening one."""
    parts = BRACKET.findall(cell)
    brackets: list[Bracket] = []
    for opening, content, closing in parts:
        names = content.split("-") if opening else [content]
        entity = names[field if opening else 0] if field < len(names) or not opening else ""
        if discontinuous == "refuse" and PIECE.fullmatch(entity):
            raise DataError(
                path,
                line,
                f"{entity} is a piece of a discontinuous mention",
                remedy="set task.discontinuous=hull to read such mentions from their first word "
                "to their last, or keep one of the pieces, without the [1/2].",
            )
        if entity and (opening or closing):
            brackets.append(
                Bracket(
                    bool(opening),
                    entity,
                    bool(closing),
                    tuple(names) if opening else (),
                    field if opening else 0,
                )
            )
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
