"""The lexicon of a treebank: its tags, its words, classes of rare ones, and which tags each has
been seen with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.task.constituency.word_classes import word_class

Sentences = Sequence[Sequence[str]]


class Lexicon:
    """Tags, words, and classes of words, which all are numbered after the words.

    Parameters
    ----------
    min_count : int
        Words that are rarer in the training data count as their class.

    Attributes
    ----------
    tags : tuple of str
    names : list of str
        Words, then classes.
    seen : bool, shape (names, tags)
        Which tags words and classes have been seen with.
    """

    def __init__(self, min_count: int = 1) -> None:
        if min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=min_count,
            )
        self.min_count = min_count
        self.tags: tuple[str, ...] = ()
        self.names: list[str] = []
        self.seen: Array = np.zeros((0, 0), bool)
        self._number: dict[str, int] = {}

    def fit(self, words: Sentences, tags: Sentences, earlier: Lexicon | None = None) -> None:
        """Learn from tagged sentences, and keep what an `earlier` lexicon knows."""
        counts = Counter(word for sentence in words for word in sentence)
        kept = {*earlier.names} if earlier else set()
        common = sorted(
            {word for word, count in counts.items() if count >= self.min_count}
            | {w for w in kept if w[:1] != "<"}
        )
        places = ((word, t) for sentence in words for t, word in enumerate(sentence))
        classes = {word_class(word, t == 0) for word, t in places if counts[word] < self.min_count}
        self.tags = tuple(
            sorted(
                {tag for sentence in tags for tag in sentence}
                | {*(earlier.tags if earlier else ())}
            )
        )
        for remembered in ("_tag_number", "_allowed"):
            vars(self).pop(remembered, None)
        self._name([*common, *sorted((classes | {w for w in kept if w[:1] == "<"}) - {*common})])
        self.seen = np.zeros((len(self.names), len(self.tags)), bool)
        if earlier:
            rows, columns = self._numbers(earlier.names), self.tag_numbers(earlier.tags)
            self.seen[np.ix_(rows, columns)] = earlier.seen
        flat = [tag for sentence in tags for tag in sentence]
        self.seen[self._attributes(words), self.tag_numbers(flat)] = True

    def encode(self, words: Sentences, tags: Sentences) -> tuple[AttributeTable, Array]:
        """The word or class of every word as its only attribute; and the tags that it may have,
        shape (words, tags).

        One, where a tag is given that the lexicon knows. Else those that the word, or the class,
        has been seen with; where that was not seen either, those of all classes, or all tags.
        """
        names = self._attributes(words)
        allowed = self._allowed[names]
        given = self.tag_numbers([tag for sentence in tags for tag in sentence])
        known = given >= 0
        allowed[known] = np.arange(len(self.tags)) == given[known, None]
        attributes = names >= 0
        offsets = np.concatenate([[0], np.cumsum(attributes)]).astype(np.int64)
        return AttributeTable(
            offsets, names[attributes].astype(np.int32), None, len(self.names)
        ), allowed

    def tag_numbers(self, tags: Sequence[str]) -> Array:
        """Numbers of tags, int32; -1 for those that are not known, or empty."""
        numbers = self._tag_number
        return np.array([numbers.get(tag, -1) for tag in tags], np.int32)

    @cached_property
    def _tag_number(self) -> dict[str, int]:
        return {tag: t for t, tag in enumerate(self.tags)}

    @cached_property
    def _allowed(self) -> Array:
        """The tags that each name may have; in the last row, tags of unknown words."""
        rare = [row for name, row in zip(self.names, self.seen, strict=True) if name[:1] == "<"]
        of_unknown = np.any(rare, axis=0) if rare else np.ones(len(self.tags), bool)
        return np.vstack([self.seen, of_unknown])

    def example(self, count: int) -> tuple[list[str], list[str]]:
        """Some words, and a tag that each has been seen with."""
        words = [name for name in self.names if name[:1] != "<"][:count] or ["word"]
        rows = [self._number.get(word, -1) for word in words]
        return words, [
            self.tags[int(self.seen[row].argmax())] if row >= 0 else self.tags[0] for row in rows
        ]

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """As JSON values and arrays."""
        values = {"tags": list(self.tags), "words": self.names, "min_count": self.min_count}
        return values, {"seen": np.packbits(self.seen, axis=1)}

    @classmethod
    def restore(cls, state: SavedState) -> Lexicon:
        """Undo `state`."""
        lexicon = cls(state.whole("min_count", 1))
        lexicon.tags = tuple(state.strings("tags", least=1))
        lexicon._name(state.strings("words"))
        bits = state.array("seen", np.uint8, (len(lexicon.names), -(-len(lexicon.tags) // 8)))
        lexicon.seen = np.unpackbits(bits, axis=1, count=len(lexicon.tags)).astype(bool)
        return lexicon

    def _name(self, names: list[str]) -> None:
        self.names, self._number = names, {name: k for k, name in enumerate(names)}

    def _numbers(self, names: Sequence[str]) -> Array:
        return np.array([self._number[name] for name in names], np.int64)

    def _attributes(self, words: Sentences) -> Array:
        """The number of each word, or of its class; -1 where neither is known."""
        number = self._number
        return np.array(
            [
                number.get(word, -1) if word in number else number.get(word_class(word, t == 0), -1)
                for sentence in words
                for t, word in enumerate(sentence)
            ],
            np.int64,
        )
