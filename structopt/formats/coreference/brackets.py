"""Brackets of mentions: matched within a document, checked, and sorted into mentions with the
numbers of their entities.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError, line_name
from structopt.formats.coreference.documents import Mark, Markup, crossing_pairs
from structopt.kernels.waist.record import Array

PIECE = re.compile(r"(.+)\[([0-9]{1,9})/([0-9]{1,9})\]", re.DOTALL)
"""The entity of a piece of a discontinuous mention."""


class Bracket(NamedTuple):
    """An opening or a closing bracket of a mention, or both around one word: ``(7``, ``7)``,
    ``(7)``; of an opening one also the fields, and the number of the one that is the entity.
    """

    opens: bool
    entity: str
    closes: bool
    fields: tuple[str, ...] = ()
    field: int = 0


class BracketRow(NamedTuple):
    """A row with brackets.

    Attributes
    ----------
    line : int
        From 1.
    first, end : int
        The first word of mentions that open here, and the one after the last of those that close
        here. They are equal in a row that is no word.
    brackets : sequence of Bracket
    """

    line: int
    first: int
    end: int
    brackets: Sequence[Bracket]


class Mentions(NamedTuple):
    """The mentions of a file, with the attributes of
    `structopt.formats.coreference.documents.Documents`.
    """

    offsets: NDArray[np.int64]
    mentions: NDArray[np.int32]
    clusters: NDArray[np.int32]
    crossing: tuple[tuple[int, int], ...]
    markup: tuple[Markup, ...]


class _Found(NamedTuple):
    """A mention of a document: its first word and the one after the last, and its brackets."""

    first: int
    end: int
    mark: Mark
    is_hull: bool = False


def mentions_of(
    path: str | Path,
    rows: Sequence[Sequence[BracketRow]],
    documents: NDArray[np.int64],
    sentences: NDArray[np.int64],
    lines: NDArray[np.int64],
    repeated: bool = False,
) -> Mentions:
    """Return the mentions that brackets make; those without words of their own are only in the
    markup. O(brackets log brackets).

    A closing bracket closes the mention of its entity that was opened last. The pieces of a
    discontinuous mention, whose entities end in ``[1/2]``, become its hull.

    Parameters
    ----------
    path : str or Path
    rows : sequence over documents, over rows with brackets
    documents, sentences, lines : int64 arrays
        As in `structopt.formats.coreference.documents.Documents`.
    repeated : bool
        Whether the same words may be a mention twice; the one that closes first counts.

    Raises
    ------
    DataError
        A bracket without its other one, a piece without the others, a mention that reaches beyond
        its sentence, the same words twice.
    """
    spans: list[tuple[int, int]] = []
    entities: list[str] = []
    markup: list[Markup] = []
    at = lines.tolist()
    for document in rows:
        found = _joined(path, _matched(path, document))
        own: dict[tuple[int, int], _Found] = {}
        kept = [one.mark for one in found if one.first >= one.end]
        for one in sorted(found, key=lambda one: (one.first, -one.end)):
            if one.first >= one.end:
                continue
            other = own.setdefault((one.first, one.end), one)
            if other is one:
                spans.append((one.first, one.end))
                entities.append(one.mark.entity)
            elif one.mark[:2] != other.mark[:2]:
                kept.append(one.mark)
            elif not (repeated or one.is_hull or other.is_hull):
                raise _twice(path, one.first, one.end, [other.mark.entity, one.mark.entity], lines)
        marks = {(at[first], at[end - 1]): one.mark for (first, end), one in own.items()}
        hulls = sum(one.is_hull for one in found)
        markup.append(Markup(marks=marks, kept=tuple(kept), hulls=hulls))
    mentions = np.array(spans, np.int32).reshape(-1, 2)
    _check_sentences(path, mentions, entities, sentences, lines)
    offsets = np.searchsorted(mentions[:, 0], documents).astype(np.int64)
    firsts = lines[mentions[:, 0]].tolist() if len(mentions) else []
    crossing = tuple((firsts[i], firsts[j]) for i, j in crossing_pairs(mentions))
    return Mentions(offsets, mentions, _numbered(entities, offsets), crossing, tuple(markup))


def sorted_order(mentions: Array) -> Array:
    """Return the order of mentions by first word, the longer before the shorter."""
    return np.lexsort((-mentions[:, 1], mentions[:, 0]))


def _matched(path: str | Path, rows: Sequence[BracketRow]) -> list[_Found]:
    """The mentions of a document, in the order in which they close."""
    mentions: list[_Found] = []
    unclosed: dict[str, list[_Found]] = {}
    for line, first, end, brackets in rows:
        for opens, entity, closes, fields, number in brackets:
            if opens:
                opened = _Found(first, end, Mark(line, line, entity, fields, number))
                (mentions if closes else unclosed.setdefault(entity, [])).append(opened)
            elif unclosed.get(entity):
                opened = unclosed[entity].pop()
                mentions.append(opened._replace(end=end, mark=opened.mark._replace(last=line)))
            else:
                message = (
                    f"{entity}) closes a mention of the entity {entity}, of which none is open "
                    "in this document: add the"
                )
                raise DataError(
                    path,
                    line,
                    f"{message} opening bracket ({entity} at its first word, or remove this one.",
                )
    missing = min(
        ((one.mark.first, entity) for entity, opened in unclosed.items() for one in opened),
        default=None,
    )
    if missing:
        line, entity = missing
        message = (
            f"the mention of the entity {entity} that begins here is not closed by the end of "
            "its document"
        )
        raise DataError(
            path,
            line,
            message,
            remedy=f"add {entity}) at its last word.",
        )
    return mentions


def _joined(path: str | Path, found: Sequence[_Found]) -> list[_Found]:
    """The mentions of a document with the hulls of discontinuous ones in place of their pieces."""
    joined: list[_Found] = []
    unfinished: dict[tuple[str, int], list[_Found]] = {}
    for one in sorted(found, key=lambda one: one.mark.first):
        piece = PIECE.fullmatch(one.mark.entity)
        if piece is None:
            joined.append(one)
            continue
        entity, number, total = piece[1], int(piece[2]), int(piece[3])
        pieces = unfinished.setdefault((entity, total), [])
        if number != len(pieces) + 1 or number > total:
            raise DataError(
                path,
                one.mark.first,
                f"{one.mark.entity} begins here, where piece {len(pieces) + 1} of a discontinuous "
                f"mention of the entity {entity} is due",
                remedy="number the pieces of a mention [1/2], [2/2] in their order.",
            )
        pieces.append(one)
        if number == total:
            mark = pieces[0].mark._replace(last=max(one.mark.last for one in pieces), entity=entity)
            end = max(one.end for one in pieces)
            joined.append(_Found(pieces[0].first, end, mark, True))
            del unfinished[entity, total]
    if unfinished:
        (entity, total), pieces = next(iter(unfinished.items()))
        raise DataError(
            path,
            pieces[0].mark.first,
            f"the discontinuous mention of the entity {entity} that begins here has "
            f"{len(pieces)} of {total} pieces",
            remedy="add the others, or remove this one.",
        )
    return joined


def _check_sentences(
    path: str | Path,
    mentions: Array,
    entities: Sequence[str],
    sentences: NDArray[np.int64],
    lines: NDArray[np.int64],
) -> None:
    """Raise DataError for a mention that reaches beyond its sentence."""
    sentence = np.searchsorted(sentences, mentions[:, 0], side="right")
    beyond = np.flatnonzero(mentions[:, 1] > sentences[sentence])
    if len(beyond):
        index = int(beyond[0])
        line, last = (int(lines[word]) for word in (mentions[index, 0], mentions[index, 1] - 1))
        message = (
            f"the mention of the entity {entities[index]} that begins here ends in another "
            "sentence, in line"
        )
        raise DataError(
            path,
            line,
            f"{message} {line_name(path, last, line)}",
            remedy="close it within its sentence.",
        )


def _twice(
    path: str | Path, first: int, end: int, entities: Sequence[str], lines: NDArray[np.int64]
) -> DataError:
    """The error for two mentions of the same words."""
    line, last = int(lines[first]), int(lines[end - 1])
    where = f"word of line {line_name(path, line, line)} is"
    if line != last:
        where = f"words of lines {line_name(path, line, line)} to {line_name(path, last, line)} are"
    of = f"of the entity {entities[0]}"
    if entities[0] != entities[1]:
        of = f"of the entities {entities[0]} and {entities[1]}"
    return DataError(
        path,
        line,
        f"the {where} a mention twice, {of}",
        remedy="remove one of the two.",
    )


def _numbered(entities: Sequence[str], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Numbers of the entities within their documents, from 0 in the order of first mentions."""
    clusters: list[int] = []
    bounds = offsets.tolist()
    for begin, end in zip(bounds, bounds[1:], strict=False):
        numbers: dict[str, int] = {}
        clusters.extend(numbers.setdefault(entity, len(numbers)) for entity in entities[begin:end])
    return np.array(clusters, np.int32)


def bracket_cells(
    mentions: Array,
    names: Sequence[str],
    between: str = "",
    openings: Sequence[str] | None = None,
) -> dict[int, str]:
    """Return the brackets of every word that has some: longer mentions open first, and the
    innermost closes first.

    Closing brackets follow opening ones. Where nothing separates them and they would read as one
    mention of one word, as in ``(e2e1)``, they stand before: ``e1)(e2``.

    Parameters
    ----------
    mentions : int32, shape (mentions, 2)
        Sorted as in `structopt.formats.coreference.documents.Documents`.
    names : sequence over mentions, of str
        The name of each one's entity.
    between : str
        What separates the brackets of a word.
    openings : sequence over mentions, of str, or None
        The contents of the opening brackets; by default the names.
    """
    opened: dict[int, list[str]] = {}
    closed: dict[int, list[str]] = {}
    spans = mentions.tolist()
    for (first, end), name in zip(spans, openings or names, strict=True):
        opened.setdefault(first, []).append(f"({name})" if end - first == 1 else f"({name}")
    for (first, end), name in zip(reversed(spans), reversed(names), strict=True):
        if end - first > 1:
            closed.setdefault(end - 1, []).append(f"{name})")
    cells = {word: between.join(brackets) for word, brackets in opened.items()}
    for word, brackets in closed.items():
        cell, ends = cells.get(word), between.join(brackets)
        if cell is None:
            cells[word] = ends
        else:
            cells[word] = (
                ends + cell if not between and not cell.endswith(")") else cell + between + ends
            )
    return cells
