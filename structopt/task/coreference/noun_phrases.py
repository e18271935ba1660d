"""Noun phrases and pronouns, as trees and dependencies tell: the mentions of documents whose files
name none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.coreference.documents import Documents

PHRASES = ("NP", "NML", "NX")
PRONOUN_TAGS = ("PRP", "PRP$", "WP", "WP$")
NOMINAL = ("NOUN", "PROPN", "PRON")
EDGES = (
    "case",
    "punct",
    "cc",
    "cop",
    "aux",
    "mark",
    "advmod",
    "discourse",
    "parataxis",
    "nsubj",
    "nsubj:pass",
    "conj",
    "expl",
)
"""Relations whose words are no part of the phrase of their head."""
_OPENED = re.compile(r"\(([^()*\s]+)")


def with_noun_phrases(documents: Documents) -> Documents:
    """Return the documents with all noun phrases and pronouns as mentions, in place of those they
    had.

    If they had entities, a phrase of the same words as a mention is of its entity, and any other
    phrase is an entity of its own; the entities of the file become the `key`.

    Raises
    ------
    DataError
        Where there is neither a column of trees nor one of dependencies.
    """
    if "parse" in documents.cells:
        spans = _of_trees(documents)
    elif documents.heads is not None and "upos" in documents.cells:
        spans = _of_dependencies(documents)
    else:
        message = (
            "names no mentions, and has neither trees (the sixth column of CoNLL-2012) nor "
            "dependencies (CoNLL-U), in which noun "
            "phrases could be found: mark the mentions in the last column, each by a number of "
            "its own, such as (1) or (1 ... 1)."
        )
        raise DataError(documents.path, None, message)
    document = np.searchsorted(documents.documents, [first for first, _ in spans], side="right") - 1
    order = sorted(range(len(spans)), key=lambda k: (spans[k][0], -spans[k][1]))
    mentions = np.array([spans[k] for k in order], np.int32).reshape(-1, 2)
    counts = (
        np.bincount(document, minlength=len(documents))
        if len(spans)
        else np.zeros(len(documents), np.int64)
    )
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if documents.clusters is None:
        return replace(documents, mentions=mentions, offsets=offsets)
    return replace(
        documents,
        mentions=mentions,
        offsets=offsets,
        clusters=_clusters(documents, mentions, offsets),
        key=tuple(documents.entities(i) for i in range(len(documents))),
    )


def shared_mentions(documents: Documents) -> tuple[int, int]:
    """Return how many mentions of the key are among the mentions, and how many the key has."""
    shared = total = 0
    for i, entities in enumerate(documents.key or ()):
        own = documents.mentions[slice(*documents.offsets[i : i + 2])] - documents.documents[i]
        spans = {span for entity in entities for span in entity}
        shared += len(spans & {(first, end) for first, end in own.tolist()})
        total += len(spans)
    return shared, total


def _clusters(
    documents: Documents, mentions: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The number of the entity of each phrase within its document, in the order of first ones."""
    known = dict(
        zip(
            map(tuple, documents.mentions.tolist()), documents.gold_clusters().tolist(), strict=True
        )
    )
    clusters: list[int] = []
    for a, b in pairwise(offsets.tolist()):
        numbers: dict[object, int] = {}
        own = (known.get(span, span) for span in map(tuple, mentions[a:b].tolist()))
        clusters.extend(numbers.setdefault(entity, len(numbers)) for entity in own)
    return np.array(clusters, np.int32)


def _of_trees(documents: Documents) -> list[tuple[int, int]]:
    """The phrases of a column such as ``(TOP(S(NP*``, and single pronouns."""
    tags, found = documents.cells.get("xpos", []), set[tuple[int, int]]()
    for begin, end in zip(
        documents.sentences[:-1].tolist(), documents.sentences[1:].tolist(), strict=True
    ):
        opened: list[tuple[str, int]] = []
        for place in range(begin, end):
            cell = documents.cells["parse"][place]
            opened += [(label, place) for label in _OPENED.findall(cell)]
            for _ in range(cell.count(")")):
                if opened:
                    label, first = opened.pop()
                    if label.partition("-")[0] in PHRASES:
                        found.add((first, place + 1))
            if tags and tags[place] in PRONOUN_TAGS:
                found.add((place, place + 1))
    return sorted(found)


def _of_dependencies(documents: Documents) -> list[tuple[int, int]]:
    """The words below each noun, name and pronoun, without what leads into its phrase."""
    assert documents.heads is not None
    tags, relations = (
        documents.cells["upos"],
        documents.cells.get("deprel", [""] * len(documents.cells["form"])),
    )
    found = set[tuple[int, int]]()
    for begin, end in zip(
        documents.sentences[:-1].tolist(), documents.sentences[1:].tolist(), strict=True
    ):
        below: dict[int, list[int]] = {}
        for place in range(begin, end):
            if documents.heads[place] > 0 and relations[place] not in EDGES:
                below.setdefault(begin + int(documents.heads[place]) - 1, []).append(place)
        for place in range(begin, end):
            if tags[place] in NOMINAL:
                reached, waiting = {place}, [place]
                while waiting:
                    for child in below.get(waiting.pop(), []):
                        if child not in reached:
                            reached.add(child)
                            waiting.append(child)
                found.add((min(reached), max(reached) + 1))
    return sorted(found)
