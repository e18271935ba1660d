"""Texts in memory: lists of sentences, or mappings with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structopt.formats.in_memory.instances import MEMORY, Form
from structopt.formats.summaries.texts import Texts, texts

KEY = "sentences"
FORM = Form(
    "document",
    "Give a list of documents, each a list of sentences: [['It rained.', 'Then the sun came "
    "out.']].",
)


def in_memory(documents: Iterable[Any]) -> Texts:
    """Make an unlabelled corpus of documents: lists of sentences, or mappings with ``sentences``;
    their names are their numbers.

    Raises
    ------
    DataError
        Another form than a list of documents, each a list of strings; its
        ``line`` is the document's number.
    """
    found = []
    for number, document in enumerate(FORM.listed(documents), 1):
        own = document
        if isinstance(document, Mapping):
            if set(document) != {KEY}:
                raise FORM.refused(
                    number,
                    f"a document has the keys {sorted(map(str, document))}, and its key is "
                    "'sentences'",
                )
            own = document[KEY]
        sentences = FORM.strings(number, KEY, FORM.elements(number, own))
        found.append([" ".join(sentence.split()) for sentence in sentences if sentence.strip()])
    numbers = range(1, len(found) + 1)
    places = [(MEMORY, number) for number in numbers]
    return texts(MEMORY, list(map(str, numbers)), places, found, allow_empty=True)
