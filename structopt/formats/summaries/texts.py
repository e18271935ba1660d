"""Texts to summarize: documents of sentences, with their reference summaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError

Summary = list[str]
"""A summary: its sentences."""


@dataclass(frozen=True)
class Texts:
    """The documents of a corpus.

    Attributes
    ----------
    path : str
        The file, or the files.
    names : list of str
        The documents' names.
    places : list of tuple of str and int
        The file of every document and the line where it begins; in memory, the number of the
        document.
    offsets : int64, shape (documents + 1,)
        Where each document begins in the sentences.
    sentences : list of str
        The sentences, without white space around them; none is empty.
    references : list of list of Summary, or None
        The reference summaries of every document, at least one each. None for texts without.
    found : dict
        What was found of the documents, by whoever found it, and is kept because it took time.
    """

    path: str
    names: list[str]
    places: list[tuple[str, int]]
    offsets: NDArray[np.int64]
    sentences: list[str]
    references: list[list[Summary]] | None = None
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.names)

    def subset(self, first: int, last: int) -> Texts:
        """Return the documents first <= i < last; what was found of the others is not kept."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        references = None if self.references is None else self.references[first:last]
        return Texts(
            self.path,
            self.names[first:last],
            self.places[first:last],
            self.offsets[first : last + 1] - begin,
            self.sentences[begin:end],
            references,
        )

    def documents(self) -> list[list[str]]:
        """Return the sentences of every document."""
        return [self.sentences[a:b] for a, b in pairwise(self.offsets.tolist())]

    def error(self, document: int, message: str) -> DataError:
        """Return the error of a document."""
        path, line = self.places[document]
        return DataError(path, line, f"document {self.names[document]}: {message}")


def texts(
    path: str,
    names: list[str],
    places: list[tuple[str, int]],
    documents: list[list[str]],
    references: list[list[Summary]] | None = None,
    allow_empty: bool = False,
) -> Texts:
    """Make a corpus of documents; those without a sentence are refused unless `allow_empty`.

    Raises
    ------
    DataError
        A document without a sentence, two documents of the same name, no documents.
    """
    if not documents:
        raise DataError(
            path,
            None,
            "there is no document",
            remedy="check the path, or make the file again.",
        )
    corpus = Texts(
        path,
        names,
        places,
        np.cumsum([0, *map(len, documents)]),
        [sentence for one in documents for sentence in one],
        references,
    )
    seen: dict[str, int] = {}
    for number, (name, sentences) in enumerate(zip(names, documents, strict=True)):
        if not sentences and not allow_empty:
            raise corpus.error(
                number,
                "it has no sentence, so that there is nothing to summarize: remove it, or give "
                "its text.",
            )
        if name in seen:
            first, line = places[seen[name]]
            raise corpus.error(
                number, f"{first}:{line} has a document of this name already: rename one of them."
            )
        seen[name] = number
    return corpus
