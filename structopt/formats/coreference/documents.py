"""Documents with mentions: their words and sentences, which words are a mention, and which mentions
are of one entity.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError


class Mark(NamedTuple):
    """The brackets of a mention in a file.

    Attributes
    ----------
    first, last : int
        The lines of the rows with its opening and its closing bracket.
    entity : str
        The name of its entity.
    fields : tuple of str
        The fields of its opening bracket.
    field : int
        The number of the field that is the entity.
    """

    first: int
    last: int
    entity: str
    fields: tuple[str, ...] = ()
    field: int = 0


@dataclass(frozen=True)
class Markup:
    """The brackets of a document's mentions.

    Attributes
    ----------
    begin : int
        The line of the first row.
    field : int
        The number of the field that is the entity in brackets of this document.
    marks : mapping of pairs of int to Mark
        By the lines of the first and the last word of a mention.
    kept : tuple of Mark
        Mentions that are not predicted: they consist of empty nodes only, or of empty nodes and the
        words of another mention.
    hulls : int
        How many discontinuous mentions were read as their hulls.
    """

    begin: int = 0
    field: int = 0
    marks: Mapping[tuple[int, int], Mark] = dataclasses.field(default_factory=dict)
    kept: tuple[Mark, ...] = ()
    hulls: int = 0


@dataclass(frozen=True)
class Documents:
    """The words and the mentions of a file.

    Attributes
    ----------
    path : str
        The file.
    names : list of str
        The documents' names: ``NAME; part 000`` in CoNLL columns, the id in CoNLL-U; the file's
        name where a document has none.
    documents : int64, shape (documents + 1,)
        Where each document begins in the words.
    sentences : int64, shape (sentences + 1,)
        Where each sentence begins in the words.
    lines : int64, shape (words,)
        The line of each word, from 1; in memory, the number of its document.
    cells : dict of str to list of str, each of length words
        The columns by name: ``form``, and those of ``lemma``, ``upos``, ``xpos``, ``feats``,
        ``deprel``, ``parse`` and ``speaker`` that the file has. Equal strings are one object.
    heads : int32, shape (words,), or None
        Number of the head within the sentence, from 1, or 0 for the root; not checked to be trees.
        None where the file has none.
    offsets : int64, shape (documents + 1,)
        Where the mentions of each document begin.
    mentions : int32, shape (mentions, 2)
        The first word, and the one after the last, over all words of the file. Within a document
        they are sorted by first word, the longer before the shorter; none has the same words as
        another, and none reaches beyond its sentence.
    clusters : int32, shape (mentions,), or None
        The number of each mention's entity within its document, from 0 in the order of first
        mentions. None for unlabelled input, whose entities are not kept.
    format : str
        What the file is written in: ``conll`` or ``conllu``; empty in memory.
    text : str
        The whole text of the file, from which it is written again.
    crossing : tuple of pairs of int
        Pairs of mentions that cross: each begins before the other ends, and neither lies in the
        other. The lines at which the two begin.
    markup : tuple of Markup
        The brackets of each document of a file in CoNLL-U; empty for other formats.
    key : tuple of lists, one per document, or None
        The mentions of each entity in the file, with which predictions are compared, if `mentions`
        are others. None if `mentions` are from the file.
    """

    path: str
    names: list[str]
    documents: NDArray[np.int64]
    sentences: NDArray[np.int64]
    lines: NDArray[np.int64]
    cells: dict[str, list[str]]
    heads: NDArray[np.int32] | None
    offsets: NDArray[np.int64]
    mentions: NDArray[np.int32]
    clusters: NDArray[np.int32] | None = None
    format: str = ""
    text: str = ""
    crossing: tuple[tuple[int, int], ...] = ()
    markup: tuple[Markup, ...] = ()
    key: tuple[list[list[tuple[int, int]]], ...] | None = None

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.documents) - 1

    def subset(self, first: int, last: int) -> Documents:
        """Return the documents first <= i < last; the text remains that of the whole file."""
        begin, end = int(self.documents[first]), int(self.documents[last])
        spans = slice(int(self.offsets[first]), int(self.offsets[last]))
        bounds = self.sentences[(self.sentences >= begin) & (self.sentences <= end)] - begin
        lines = set(self.lines[begin:end].tolist())
        return replace(
            self,
            names=self.names[first:last],
            documents=self.documents[first : last + 1] - begin,
            sentences=bounds,
            lines=self.lines[begin:end],
            cells={name: column[begin:end] for name, column in self.cells.items()},
            heads=None if self.heads is None else self.heads[begin:end],
            offsets=self.offsets[first : last + 1] - spans.start,
            mentions=self.mentions[spans] - np.int32(begin),
            clusters=None if self.clusters is None else self.clusters[spans],
            crossing=tuple(pair for pair in self.crossing if lines.issuperset(pair)),
            markup=self.markup[first:last],
            key=None if self.key is None else self.key[first:last],
        )

    def gold_clusters(self) -> NDArray[np.int32]:
        """Return the numbers of the entities, or raise DataError where the corpus has none."""
        if self.clusters is None:
            raise DataError(
                self.path,
                None,
                "has no entities to compare with.",
                remedy="Give a file with the entity of every mention.",
            )
        return self.clusters

    def entities(self, i: int) -> list[list[tuple[int, int]]]:
        """Return the mentions of each entity of a document in its file, as first word and the one
        after the last within the document.

        Raises
        ------
        DataError
            Unlabelled input, whose entities are not kept.
        """
        if self.key is not None:
            return self.key[i]
        begin, end = self.offsets[i : i + 2].tolist()
        clusters = self.gold_clusters()[begin:end].tolist()
        spans = (self.mentions[begin:end] - self.documents[i]).tolist()
        entities: list[list[tuple[int, int]]] = [[] for _ in range(max(clusters, default=-1) + 1)]
        for cluster, (first, last) in zip(clusters, spans, strict=True):
            entities[cluster].append((first, last))
        return entities


def separate(mentions: NDArray[np.int32], entities: list[int]) -> list[tuple[int, int]]:
    """Give the second of two mentions that cross within an entity an entity of its own: brackets
    cannot express which of the two ends first.

    Parameters
    ----------
    mentions : int32, shape (mentions, 2)
        Sorted by first word, the longer before the shorter.
    entities : list of int, length mentions
        Changed in place; new numbers are above all others.

    Returns
    -------
    list of pairs of int
        The mentions that were separated, as indices.
    """
    separated = []
    for one, other in crossing_pairs(mentions):
        if entities[one] == entities[other]:
            entities[other] = max(entities) + 1
            separated.append((one, other))
    return separated


def crossing_pairs(mentions: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return the pairs of mentions that cross, as indices; O(mentions times how deep they overlap).

    The mentions are sorted by first word, the longer before the shorter; those of different
    documents never cross.
    """
    pairs: list[tuple[int, int]] = []
    around: list[tuple[int, int]] = []
    for index, (first, end) in enumerate(mentions.tolist()):
        around = [(other_end, other) for other_end, other in around if other_end > first]
        pairs.extend((other, index) for other_end, other in around if other_end < end)
        around.append((end, index))
    return pairs
