"""Attributes of bigrams and of sentences: properties of a text, in bins that are joined to
features, or as numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.errors import ConfigError, did_you_mean
from structopt.task.summarization.bigrams import Bigrams, is_stopword

FREQUENCY = "frequency"
"""The attribute whose value is a number: in how many sentences a bigram is, divided by `UNIT`; 0 if
it is in one only.

With a positive weight on it alone, the best summary is that of the program that learns nothing
(Gillick and Favre, 2009).
"""
UNIT = 25.0
"""So large that values are of the size of those of the other attributes, which are 0 or 1: else
learners follow it alone.
"""
COUNTS = (1, 2, 3, 4, 5, 7, 10, 15, 25)
PLACES = (0, 1, 2, 3, 5, 10, 20, 40)
LENGTHS = (1, 3, 6, 10, 15, 20, 30, 50)
"""Where bins begin; the last has no end."""


class Document(NamedTuple):
    """What attributes are read from: the bigrams of a document, and what each of its sentences
    takes of the budget.
    """

    bigrams: Bigrams
    lengths: list[int]


def bin_of(value: int, begins: Sequence[int]) -> str:
    """The bin of a number, by its first and last number: ``5-6``, ``25+``."""
    at = bisect_right(begins, value) - 1
    if at < 0:
        return f"<{begins[0]}"
    if at == len(begins) - 1:
        return f"{begins[at]}+"
    last = begins[at + 1] - 1
    return str(last) if last == begins[at] else f"{begins[at]}-{last}"


def _stopwords(document: Document, number: int) -> str:
    """Which of both words are stopwords: ``s`` where one is, ``c`` for content."""
    return "".join("s" if is_stopword(word) else "c" for word in document.bigrams.names[number])


OF_BIGRAMS: dict[str, Callable[[Document, int], str]] = {
    "bias": lambda _document, _number: "",
    "count": lambda document, number: bin_of(len(document.bigrams.holders[number]), COUNTS),
    "first": lambda document, number: bin_of(document.bigrams.holders[number][0], PLACES),
    "stopwords": _stopwords,
}
"""Of a bigram: in how many sentences it is, the first of them, and which of its words carry
content.
"""
OF_SENTENCES: dict[str, Callable[[Document, int], str]] = {
    "bias": lambda _document, _number: "",
    "position": lambda _document, number: bin_of(number, PLACES),
    "length": lambda document, number: bin_of(document.lengths[number], LENGTHS),
}
"""Of a sentence: its place in the document, and what it takes of the budget."""


NUMBERS_OF_BIGRAMS: dict[str, Callable[[Document, int], float]] = {
    FREQUENCY: lambda document, number: _repeated(len(document.bigrams.holders[number])) / UNIT,
    "share": lambda document, number: len(document.bigrams.holders[number]) / len(document.lengths),
    "earliness": lambda document, number: 1.0 / (1 + document.bigrams.holders[number][0]),
}
"""The sentences that have a bigram, if several; their share of the sentences; the inverse of the
first one's place.
"""
NUMBERS_OF_SENTENCES: dict[str, Callable[[Document, int], float]] = {
    "earliness": lambda _document, number: 1.0 / (1 + number),
    "size": lambda document, number: document.lengths[number] / max(document.lengths),
}
"""The inverse of a sentence's place, and its length relative to the longest."""


def _repeated(count: int) -> int:
    return count if count > 1 else 0


class Templates:
    """Attributes by their templates: columns joined by ``&``.

    Parameters
    ----------
    key : str
        Where the templates are typed, for messages.
    templates : sequence of str
        For example ``["bias", "count & stopwords"]``; numbers, such as ``share``, are not joined.
    columns, numbers : mapping of name to function

    Raises
    ------
    ConfigError
        For a column that there is not, and for a number that is joined to others.
    """

    def __init__(
        self,
        key: str,
        templates: Sequence[str],
        columns: dict[str, Callable[[Document, int], str]],
        numbers: dict[str, Callable[[Document, int], float]],
    ) -> None:
        self.key, self.texts, self.columns, self.numbers = key, tuple(templates), columns, numbers
        known = [*columns, *numbers]
        self.parts = [tuple(part.strip() for part in template.split("&")) for template in templates]
        for template, parts in zip(templates, self.parts, strict=True):
            for part in parts:
                if part not in known:
                    hint = did_you_mean(part, known)
                    raise ConfigError(
                        f"{key}: '{template}' has no column '{part}'.{hint} Columns: "
                        f"{', '.join(known)}."
                    )
            number = next((part for part in parts if part in numbers), None)
            if number is not None and len(parts) > 1:
                raise ConfigError(
                    f"{key}: '{template}' joins {number}, which is a number, to others",
                    remedy="give it alone.",
                )

    def entries(self, document: Document, number: int) -> Iterable[tuple[str, float]]:
        """The attributes of a bigram or a sentence, and their values."""
        for parts in self.parts:
            if parts[0] in self.numbers:
                if value := self.numbers[parts[0]](document, number):
                    yield parts[0], value
            else:
                yield " & ".join(self._named(part, document, number) for part in parts), 1.0

    def names(self, documents: Iterable[tuple[Document, int]]) -> list[str]:
        """All attributes of documents with so many bigrams or sentences each, in the order in which
        they are first met.
        """
        first = [parts[0] for parts in self.parts if parts[0] in self.numbers]
        listed = (
            name
            for document, size in documents
            for number in range(size)
            for name, _ in self.entries(document, number)
        )
        return list(dict.fromkeys(chain(first, listed)))

    def table(
        self, documents: Iterable[tuple[Document, int]], numbers: dict[str, int]
    ) -> AttributeTable:
        """The attributes that have a number, of the bigrams or sentences of all documents."""
        ids, values, counts = list[int](), list[float](), list[int]()
        for document, size in documents:
            for number in range(size):
                before = len(ids)
                for name, value in self.entries(document, number):
                    if name in numbers:
                        ids.append(numbers[name])
                        values.append(value)
                counts.append(len(ids) - before)
        ends = np.cumsum([0, *counts], dtype=np.int64)
        return AttributeTable(
            ends, np.array(ids, np.int32), np.array(values, np.float64), len(numbers)
        )

    def _named(self, part: str, document: Document, number: int) -> str:
        value = self.columns[part](document, number)
        return f"{part}={value}" if value else part
