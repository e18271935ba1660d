"""Noun phrases and pronouns, as trees and dependencies tell: the mentions of documents whose files
name none.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

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
    return replace(documents, mentions=mentions, offsets=offsets, clusters=None)


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
