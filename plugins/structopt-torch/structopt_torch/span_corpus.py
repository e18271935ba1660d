"""What the network of span parsing reads of a corpus: its anchored rules, listed once, and the
words around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from structopt.plugin import Array, ConfigError, Structure
from structopt.plugin.kernels import FORESTS, forest_sentences
from structopt.plugin.provisional import EncodedConstituents
from structopt_torch.words import UNKNOWN, shape

NEIGHBOURS = (-2, -1, 0, 1)
"""The words around a place between two words, counted from the word behind it."""
ROLES = 3
"""Places of an anchor: its begin, its end, its split."""
SLOTS = ROLES * len(NEIGHBOURS)


class Grammar(NamedTuple):
    """The features phi of rows: rules, steps and symbols, numbered one kind after the other. R
    rules, U steps, N symbols.

    Attributes
    ----------
    symbols : int
        N.
    above : int32, shape (R + U,)
        The symbol above each rule and each step.
    """

    symbols: int
    above: Array

    @classmethod
    def of(cls, structure: Structure) -> Grammar:
        """Take those of forests; `ConfigError` for other structures."""
        if structure.kind.name != "forest":
            raise ConfigError(
                "features=torch_span scores rules at their places, which are no parts of this "
                "task's graph. Take "
                "task=constituency factor_graph=span."
            )
        record = FORESTS.open(structure.record)
        return cls(
            int(record.symbols), np.concatenate([record.parent, record.step_top]).astype(np.int32)
        )


class Anchors(NamedTuple):
    """The edges of all sentences of a corpus, those of the same anchor side by side: A anchors, E
    edges.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
        Where the anchors of each sentence begin.
    places : int32, shape (A, 3)
        Begin, end and split, as places between the words of the sentence; split -1: a step, or a
        tag.
    starts : int64, shape (A + 1,)
        Where the edges of each anchor begin.
    rows : int32, shape (E,)
        Number of the rule, or R + that of the step, or R + U + that of the tag's symbol.
    parts : int32, shape (E,)
        Numbers of the edges among the parts of the sentence.
    """

    offsets: Array
    places: Array
    starts: Array
    rows: Array
    parts: Array

    @classmethod
    def listed(cls, structure: Structure) -> Anchors:
        """List the edges of forests; 8 bytes an edge, and 20 an anchor."""
        record, edges = FORESTS.open(structure.record), int(structure.spans("edge")[1][-1])
        steps, symbols = len(record.parent), len(record.parent) + len(record.step_top)
        rows, parts, first = np.empty(edges, np.int32), np.empty(edges, np.int32), 0
        offsets, places, starts = [0], [np.zeros((0, 3), np.int32)], [np.zeros(1, np.int64)]
        for own, vertices in forest_sentences(structure):
            begin, end = (
                vertices.begin[own.head].astype(np.int64),
                vertices.end[own.head].astype(np.int64),
            )
            split = np.where(own.split > 0, own.split, -1)
            key = (begin << 42) + (end << 21) + split
            order = np.argsort(key, kind="stable")
            changes = np.flatnonzero(np.diff(key[order], prepend=-2))
            chosen, last = order[changes], first + len(order)
            places.append(np.stack([begin, end, split], axis=1)[chosen].astype(np.int32))
            starts.append(first + np.append(changes[1:], len(order))[: len(changes)])
            row = own.number + np.choose(np.sign(own.split) + 1, [symbols, steps, 0])
            rows[first:last], parts[first:last] = row[order], order
            offsets.append(offsets[-1] + len(chosen))
            first = last
        return cls(
            np.array(offsets, np.int64),
            np.concatenate(places),
            np.concatenate(starts).astype(np.int64),
            rows,
            parts,
        )


class Words(NamedTuple):
    """The words of a corpus by what the network knows of them: V kinds of words, which have all of
    it in common.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
        Where the words of each sentence begin.
    kinds : int64, shape (words,)
        The kind of each word.
    words : int64, shape (V,)
        Number of the kind's learnt vector.
    tags : int64, shape (V,)
        Number of its tag from 1; 0 where a word may have several.
    rows : int64, shape (V, columns)
        Rows of its dense tables; -1: zeros.
    """

    offsets: Array
    kinds: Array
    words: Array
    tags: Array
    rows: Array


class WordSizes(NamedTuple):
    """What is learnt of the words of a training corpus.

    Attributes
    ----------
    words, classes : sequence of str
        Words with a vector of their own, and classes of all others; none where the corpus has dense
        tables of words.
    tags : int
    dense : sequence of int
        Numbers of a word in each dense table.
    """

    words: Sequence[str]
    classes: Sequence[str]
    tags: int
    dense: Sequence[int]

    @classmethod
    def learn(cls, encoded: EncodedConstituents, min_count: int) -> WordSizes:
        """Take the words, and the classes of rarer words, that occur so often; or the sizes of the
        dense tables.
        """
        tables = encoded.dense.get("word", ())
        if tables:
            return cls((), (), len(encoded.labels), [table.size for table in tables])
        if not len(encoded.words):
            raise ConfigError(
                "features=torch_span needs words, as task=constituency has them, or their vectors."
            )
        counts = Counter(encoded.words)
        words = _frequent(counts, min_count)
        known, classes = set(words), Counter[str]()
        for word, count in counts.items():
            if word not in known:
                classes.update({name: count for name in classes_of(word)})
        return cls(words, _frequent(classes, min_count), len(encoded.labels), [])

    @property
    def vectors(self) -> int:
        """Learnt vectors of words and classes, and of what is neither."""
        return 1 + len(self.words) + len(self.classes)

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "words": list(self.words),
            "classes": list(self.classes),
            "tags": self.tags,
            "dense": list(self.dense),
        }

    @classmethod
    def of(cls, sizes: Mapping[str, Any]) -> WordSizes:
        """Undo `state`."""
        return cls(sizes["words"], sizes["classes"], sizes["tags"], sizes["dense"])

    def read(self, encoded: EncodedConstituents, tagged: bool) -> Words:
        """Find the kinds of the words of a corpus, by their tags too where asked for.

        Raises
        ------
        ConfigError
            Where it has other dense tables, or tags, than the training corpus.
        """
        tables = encoded.dense.get("word", ())
        if [table.size for table in tables] != list(self.dense):
            raise ConfigError(
                f"features=torch_span: there are weights for dense tables of {list(self.dense)} "
                "numbers, but this corpus has "
                f"{[table.size for table in tables]}. Take the features.vectors and "
                "features.dense of training."
            )
        if len(encoded.labels) != self.tags:
            raise ConfigError(
                f"features=torch_span: there are {self.tags} tags in training, but "
                f"{len(encoded.labels)} here."
            )
        columns = [np.zeros(int(encoded.offsets[-1]), np.int64) for _ in range(2)]
        if not self.dense:
            columns[0] = self._numbers(encoded.words)
        if tagged and encoded.allowed is not None:
            columns[1] = np.where(
                encoded.allowed.sum(axis=1) == 1, encoded.allowed.argmax(axis=1) + 1, 0
            )
        described = np.column_stack([*columns, *(table.rows for table in tables)]).astype(np.int64)
        distinct, kinds = np.unique(described, axis=0, return_inverse=True)
        return Words(
            encoded.offsets, kinds.ravel(), distinct[:, 0], distinct[:, 1], distinct[:, 2:]
        )

    def _numbers(self, words: Sequence[str]) -> Array:
        """The number of every word's vector: its own, or else that of its class."""
        own = {word: number for number, word in enumerate(self.words, 1)}
        of_class = {name: number for number, name in enumerate(self.classes, 1 + len(self.words))}
        for word in set(words) - own.keys():
            own[word] = next(
                (of_class[name] for name in classes_of(word) if name in of_class), UNKNOWN
            )
        return np.array([own[word] for word in words], np.int64)


def classes_of(word: str) -> tuple[str, str]:
    """The classes of a word that has no vector, the narrowest first: its shape with its last two
    letters, its shape alone.
    """
    return f"{shape(word)} {word[-2:].lower()}", shape(word)


def neighbours(lengths: Array) -> Array:
    """The words around the places of sentences, n + 1 in one of n words: numbers of words, int64,
    shape (places, 4); -1: none.
    """
    places = lengths + 1
    place = np.arange(int(places.sum())) - np.repeat(np.cumsum(places) - places, places)
    first, own = np.repeat(np.cumsum(lengths) - lengths, places), np.repeat(lengths, places)
    within = place[:, np.newaxis] + np.array(NEIGHBOURS)
    outside = (within < 0) | (within >= own[:, np.newaxis])
    return np.where(outside, -1, first[:, np.newaxis] + within).astype(np.int64)


def _frequent(counts: Counter[str], least: int) -> list[str]:
    """What is counted so often, the most frequent first, and equally frequent ones in the order of
    their characters.
    """
    return [
        name
        for _, name in sorted((-count, name) for name, count in counts.items() if count >= least)
    ]
