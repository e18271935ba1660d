"""Brackets of mentions: matched within a document, checked, and sorted into mentions with the
numbers of their entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError, line_name
from structopt.formats.coreference.documents import crossing_pairs
from structopt.kernels.waist.record import Array


class Bracket(NamedTuple):
    """An opening or a closing bracket of a mention, or both around one word: ``(7``, ``7)``,
    ``(7)``.
    """

    opens: bool
    entity: str
    closes: bool


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


def mentions_of(
    path: str | Path,
    rows: Sequence[Sequence[BracketRow]],
    documents: NDArray[np.int64],
    sentences: NDArray[np.int64],
    lines: NDArray[np.int64],
) -> Mentions:
    """Return the mentions that brackets make; those of no words are left out. O(brackets log
    brackets).

    A closing bracket closes the mention of its entity that was opened last.

    Parameters
    ----------
    path : str or Path
    rows : sequence over documents, over rows with brackets
    documents, sentences, lines : int64 arrays
        As in `structopt.formats.coreference.documents.Documents`.

    Raises
    ------
    DataError
        A bracket without its other one, a mention that reaches beyond its sentence, the same words
        twice.
    """
    spans: list[tuple[int, int]] = []
    entities: list[str] = []
    for document in rows:
        for first, end, entity in _matched(path, document):
            if first < end:
                spans.append((first, end))
                entities.append(entity)
    mentions = np.array(spans, np.int32).reshape(-1, 2)
    order = sorted_order(mentions)
    mentions, entities = mentions[order], [entities[index] for index in order.tolist()]
    _check_sentences(path, mentions, entities, sentences, lines)
    _check_twice(path, mentions, entities, lines)
    offsets = np.searchsorted(mentions[:, 0], documents).astype(np.int64)
    firsts = lines[mentions[:, 0]].tolist() if len(mentions) else []
    crossing = tuple((firsts[i], firsts[j]) for i, j in crossing_pairs(mentions))
    return Mentions(offsets, mentions, _numbered(entities, offsets), crossing)


def sorted_order(mentions: Array) -> Array:
    """Return the order of mentions by first word, the longer before the shorter."""
    return np.lexsort((-mentions[:, 1], mentions[:, 0]))


def _matched(path: str | Path, rows: Sequence[BracketRow]) -> list[tuple[int, int, str]]:
    """First words, ends and entities of the mentions of a document."""
    mentions: list[tuple[int, int, str]] = []
    unclosed: dict[str, list[tuple[int, int]]] = {}
    for line, first, end, brackets in rows:
        for opens, entity, closes in brackets:
            if opens and closes:
                mentions.append((first, end, entity))
            elif opens:
                unclosed.setdefault(entity, []).append((first, line))
            elif unclosed.get(entity):
                mentions.append((unclosed[entity].pop()[0], end, entity))
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
        ((line, entity) for entity, opened in unclosed.items() for _, line in opened), default=None
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


def _check_twice(
    path: str | Path, mentions: Array, entities: Sequence[str], lines: NDArray[np.int64]
) -> None:
    """Raise DataError for two mentions of the same words."""
    twice = np.flatnonzero((mentions[1:] == mentions[:-1]).all(axis=1))
    if len(twice):
        index = int(twice[0])
        first, end = mentions[index].tolist()
        line, last = int(lines[first]), int(lines[end - 1])
        where = f"word of line {line_name(path, line, line)} is"
        if line != last:
            where = (
                f"words of lines {line_name(path, line, line)} to {line_name(path, last, line)} are"
            )
        of = f"of the entity {entities[index]}"
        if entities[index + 1] != entities[index]:
            of = f"of the entities {entities[index]} and {entities[index + 1]}"
        raise DataError(
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


def bracket_cells(mentions: Array, names: Sequence[str], between: str = "") -> dict[int, str]:
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
    """
    opened: dict[int, list[str]] = {}
    closed: dict[int, list[str]] = {}
    spans = mentions.tolist()
    for (first, end), name in zip(spans, names, strict=True):
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
