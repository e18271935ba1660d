"""Encoded corpora, made by tasks, of which factor graphs and scorers are built; ragged data as
buffers and offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.places import Places
from structopt.core.storage.arrays import IN_MEMORY, Storage
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

ROOT = -1
"""The root, among tokens that are numbered by their positions in the sentence."""
NONE = -2
"""No token: before the first modifier of a head, and after the last."""


@dataclass(frozen=True)
class Encoded:
    """A corpus as arrays, made by the task: what the factor graph and the scorer are built from.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
        Where the variables (for sequences: the tokens) of each instance begin.
    tables : mapping of part group name to AttributeTable
        One row a position of that group: ``label`` has one position a variable; ``transition`` one
        a pair of neighbours.
    labels : tuple of str
        The label set.
    gold : int32, shape (variables,), or None
        Gold label numbers; -1 where the gold label was not seen in training; None for unlabelled
        input.
    allowed : bool, shape (variables, labels), or None
        Which labels each variable may take in any output (predictions that keep given labels).
    forbidden_starts, forbidden_ends, forbidden_transitions : label numbers, and pairs of them
        Hard constraints that the task asks for (valid BIO, say).
    gold_sets : bool, shape (variables, labels), or None
        Which labels the gold output may have, where training data say it in part only; `gold` is
        then one of them.
    dense : mapping of part group name to tuples of DenseTable
        Numbers that every position of a group has, beside its attributes; tables in the order in
        which they were asked for. Those of ``word`` belong to the words of trees, whatever the
        groups of parts are.
    words : sequence of str
        The word of every variable, where the task knows words; else empty.
    instance_weights : float64, shape (instances,), or None
        w_i, by which the loss of each instance counts in training; None: all are 1.
    storage : Storage
        Where arrays as long as the corpus belong that are made of it: beside its own.
    folder : Path or None
        Of the files that hold these very instances, of which other processes can open some; None
        where there are none.
    """

    offsets: Array
    tables: Mapping[str, AttributeTable]
    labels: tuple[str, ...]
    gold: Array | None = None
    allowed: Array | None = None
    forbidden_starts: tuple[int, ...] = ()
    forbidden_ends: tuple[int, ...] = ()
    forbidden_transitions: tuple[tuple[int, int], ...] = ()
    gold_sets: Array | None = None
    dense: Mapping[str, tuple[DenseTable, ...]] = field(default_factory=dict)
    words: Sequence[str] = ()
    instance_weights: Array | None = None
    storage: Storage = IN_MEMORY
    folder: Path | None = None

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> Self:
        """The instances first <= i < last, in arrays that are views where they can be, and
        `storage` in memory.

        A class with more data extends it.
        """
        return replace(self, **self._sliced(Encoded, first, last))

    def without_empty(self) -> tuple[Self, Places]:
        """Return the corpus without instances that have no variables, and the places of the others.

        Returns
        -------
        (Encoded, Places)
        """
        places = Places.of(self.offsets)
        if places.indices is None:
            return self, places
        return replace(self, **self._kept(places.indices), folder=None), places

    def of_label_parts(self, table: Array) -> Array:
        """Return the numbers of the label parts, given a table of shape (variables, labels)."""
        return table.ravel()

    def _kept(self, kept: Array) -> dict[str, Any]:
        """Return the fields with one element per instance, for the instances with variables.

        A class with such fields extends it. Fields with elements per variable do not change.
        """
        weights = self.instance_weights
        return {
            "offsets": _kept_offsets(self.offsets, kept),
            "instance_weights": None if weights is None else weights[kept],
        }

    def _sliced(self, known: type[Encoded], first: int, last: int) -> dict[str, Any]:
        """The fields of this class for the instances first <= i < last; `known` is the class whose
        fields the caller slices.

        Raises
        ------
        ConfigError
            Where there are further fields, or tables of which it is not known how many rows an
            instance has.
        """
        if len(fields(self)) > len(fields(known)):
            raise ConfigError(
                f"{type(self).__name__} has data beyond those of {known.__name__} and does "
                "not tell how to take some of the instances",
                remedy="give it a method subset(first, last).",
            )
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return {
            "offsets": self.offsets[first : last + 1] - begin,
            "storage": IN_MEMORY,
            "folder": None,
            "tables": {
                name: table.subset(*self._rows(name, first, last))
                for name, table in self.tables.items()
            },
            "dense": {
                name: tuple(table.subset(*self._rows(name, first, last)) for table in tables)
                for name, tables in self.dense.items()
            },
            "words": self.words[begin:end],
            "instance_weights": None
            if self.instance_weights is None
            else self.instance_weights[first:last],
            "gold": None if self.gold is None else self.gold[begin:end],
            "gold_sets": None if self.gold_sets is None else self.gold_sets[begin:end],
            "allowed": None if self.allowed is None else self.allowed[begin:end],
        }

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        """The rows of a table that belong to the instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if name in ("label", "word"):
            return begin, end
        if name == "transition":  # no instance is without a token
            return begin - first, end - last
        raise ConfigError(
            f"{type(self).__name__} does not tell which rows of its table {name} belong to which "
            "instance."
        )


def _kept_offsets(offsets: Array, kept: Array) -> Array:
    """Return the offsets of some ranges, given that all other ranges are empty."""
    return np.concatenate([offsets[:1], offsets[1:][kept]])


@dataclass(frozen=True, kw_only=True)
class EncodedTrees(Encoded):
    """A corpus of dependency trees as arrays: one variable a token, its head.

    `labels` are the relations and `gold` the gold relation of every token; `tables` is empty.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns of `codes`.
    codes : int32, shape (tokens, columns)
        Numbers of the columns' values; 0 where the value was not seen in training, 1 where the cell
        is empty.
    heads : int32, shape (tokens,), or None
        Position of the gold head within the sentence, from 0; a token's own position means the
        root.
    free_heads : bool, shape (tokens,), or None
        Tokens whose gold head is not known, so that it may be any; `heads` then has one of the
        possible ones.
    candidates : (int64 of shape (tokens + 1,), int32 of shape (arcs,)), or None
        Heads that a token may take, ascending, in the same numbering, and where those of each token
        begin; None when it may take all.
    """

    columns: tuple[str, ...]
    codes: Array
    heads: Array | None = None
    free_heads: Array | None = None
    candidates: tuple[Array, Array] | None = None

    def subset(self, first: int, last: int) -> Self:
        """The sentences first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        candidates = None
        if self.candidates is not None:
            starts, heads = self.candidates
            candidates = starts[begin : end + 1] - starts[begin], heads[starts[begin] : starts[end]]
        gold, free = (
            None if array is None else array[begin:end] for array in (self.heads, self.free_heads)
        )
        known = self._sliced(EncodedTrees, first, last)
        return replace(
            self,
            **known,
            codes=self.codes[begin:end],
            heads=gold,
            free_heads=free,
            candidates=candidates,
        )


@dataclass(frozen=True, kw_only=True)
class EncodedGraphs(Encoded):
    """A corpus of graphs as arrays: variables whose states are `labels`, and edges between them.

    The table ``label`` has one row a variable, whose weights all variables share; or, where the
    graphs are *wide*, one row an instance: all graphs then have the same variables and edges, each
    with weights of its own (with one row a variable, only the edges have). The table ``edge``,
    where there is one, has likewise one row an edge, or an instance; without it an edge has one
    weight for every pair of states.

    Attributes
    ----------
    edges : (int64 of shape (instances + 1,), int32 of shape (edges, 2))
        Where the edges of each instance begin, and the variables they join, numbered within the
        instance, the lower first; none, where the factor graph is to say.
    wide : bool
    states : bool, shape (variables, labels), or None
        Labels that are states of each variable, at least two; other labels have no parts. None:
        all.
    """

    edges: tuple[Array, Array]
    wide: bool = False
    states: Array | None = None

    def subset(self, first: int, last: int) -> Self:
        """The graphs first <= i < last."""
        return replace(self, **self._sliced(EncodedGraphs, first, last))

    def of_label_parts(self, table: Array) -> Array:
        """See `Encoded.of_label_parts`."""
        return super().of_label_parts(table) if self.states is None else table[self.states]

    def _sliced(self, known: type[Encoded], first: int, last: int) -> dict[str, Any]:
        starts, pairs = self.edges
        own = slice(int(self.offsets[first]), int(self.offsets[last]))
        return {
            **super()._sliced(known, first, last),
            "edges": (
                starts[first : last + 1] - starts[first],
                pairs[starts[first] : starts[last]],
            ),
            "states": None if self.states is None else self.states[own],
        }

    def _kept(self, kept: Array) -> dict[str, Any]:
        starts, pairs = self.edges
        return {**super()._kept(kept), "edges": (_kept_offsets(starts, kept), pairs)}

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        if name not in ("label", "edge"):
            return super()._rows(name, first, last)
        if self.wide and len(self.tables[name].offsets) == len(self) + 1:
            return first, last
        starts = self.offsets if name == "label" else self.edges[0]
        return int(starts[first]), int(starts[last])


@dataclass(frozen=True, kw_only=True)
class EncodedMentions(Encoded):
    """A corpus of documents with mentions as arrays: one variable a mention, its antecedent.

    `gold` is the number of each mention's entity within its document; `tables` is empty. An
    instance is a document, or a single mention (`of_mentions`): the arrays then have the mentions
    before it in its document, too.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns of `codes`.
    codes : int32, shape (mentions, columns)
        Numbers of the columns' values; 0 where the value was not seen in training, 1 where the cell
        is empty.
    compared_columns : tuple of str
        Names of the columns of `compared`.
    compared : int32, shape (mentions, compared columns)
        Numbers that are equal where values are, seen in training or not; -1 where the cell is
        empty, and equals none.
    sentences : int32, shape (mentions,)
        The number of each mention's sentence within its document, ascending.
    spans : int32, shape (mentions, 2)
        First word and the one after the last, within the document.
    documents : int64, shape (documents + 1,), or None
        Where each document begins in the mentions, if instances are mentions; None if they are
        documents.
    context : int
        How many mentions at the head of the arrays, `gold` included, are not in any instance, but
        may be antecedents.
    """

    columns: tuple[str, ...]
    codes: Array
    compared_columns: tuple[str, ...]
    compared: Array
    sentences: Array
    spans: Array
    documents: Array | None = None
    context: int = 0

    @property
    def bounds(self) -> Array:
        """The first mention of each document, and their number: int64, shape (documents + 1,)."""
        return self.offsets if self.documents is None else self.documents

    def of_mentions(self) -> EncodedMentions:
        """The same documents with every mention as an instance, of its document's weight."""
        weights, counts = self.instance_weights, np.diff(self.offsets)
        return replace(
            self,
            offsets=np.arange(int(self.offsets[-1]) + 1, dtype=np.int64),
            documents=self.offsets,
            instance_weights=None if weights is None else np.repeat(weights, counts),
            folder=None,
        )

    def subset(self, first: int, last: int) -> Self:
        """The instances first <= i < last; if these are mentions, with those before them."""
        own = slice(int(self.offsets[first]), int(self.offsets[last]))
        known = self._sliced(EncodedMentions, first, last)
        if self.documents is not None:
            begin, end = self.context + own.start, self.context + own.stop
            begins = self.documents[:-1]
            head = int(begins[begins <= begin].max(initial=0))
            own = slice(head, end)
            inside = begins[(begins >= head) & (begins < end)]
            known |= {
                "gold": None if self.gold is None else self.gold[own],
                "documents": np.append(inside, end) - head,
                "context": begin - head,
            }
        return replace(
            self,
            **known,
            codes=self.codes[own],
            compared=self.compared[own],
            sentences=self.sentences[own],
            spans=self.spans[own],
        )


@dataclass(frozen=True, kw_only=True)
class EncodedTexts(Encoded):
    """A corpus of texts to summarize as arrays: one variable a sentence, which is out of the
    summary (0) or in (1).

    `gold` says which sentences the best summary has. The tables ``sentence`` and ``bigram`` have a
    row a sentence and a row a bigram.

    Attributes
    ----------
    lengths : int32, shape (sentences,)
        What each sentence takes of the budget.
    budgets : int32, shape (documents,)
        What a summary may take.
    bigrams : int64, shape (documents + 1,)
        Where the bigrams of each document begin: each once, however many sentences have it.
    holders : (int64 of shape (bigrams + 1,), int32 of shape (entries,))
        The sentences that have each bigram, by their numbers within the document, ascending; and
        where those of each begin.
    worth : float64, shape (bigrams,), or None
        The share of the references' bigrams that each bigram covers. None without references.
    """

    lengths: Array
    budgets: Array
    bigrams: Array
    holders: tuple[Array, Array]
    worth: Array | None = None

    def subset(self, first: int, last: int) -> Self:
        """The documents first <= i < last."""
        known = self._sliced(EncodedTexts, first, last)
        a, b = int(self.bigrams[first]), int(self.bigrams[last])
        starts, sentences = self.holders
        return replace(
            self,
            **known,
            lengths=self.lengths[int(self.offsets[first]) : int(self.offsets[last])],
            budgets=self.budgets[first:last],
            bigrams=self.bigrams[first : last + 1] - a,
            holders=(starts[a : b + 1] - starts[a], sentences[starts[a] : starts[b]]),
            worth=None if self.worth is None else self.worth[a:b],
        )

    def _kept(self, kept: Array) -> dict[str, Any]:
        bigrams = _kept_offsets(self.bigrams, kept)
        return {**super()._kept(kept), "budgets": self.budgets[kept], "bigrams": bigrams}

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        """Sentences, or bigrams."""
        starts = self.bigrams if name == "bigram" else self.offsets
        return int(starts[first]), int(starts[last])


@dataclass(frozen=True)
class Candidates:
    """The symbols that the spans of sentences may have, below and above the unary step of a span.

    Attributes
    ----------
    symbols : tuple of str
    spans : int64, shape (instances + 1,)
        Where the spans of each sentence begin: n (n + 1) / 2 of n words, in the order of their
        first words, then of their ends.
    offsets : int64, shape (spans + 1,)
        Where the symbols of each span begin in `numbers`.
    bottoms : int32, shape (spans,)
        How many of them stand below; the others stand above.
    numbers : int32, shape (entries,)
        Their numbers in `symbols`, ascending below, then ascending above.
    """

    symbols: tuple[str, ...]
    spans: Array
    offsets: Array
    bottoms: Array
    numbers: Array

    def subset(self, first: int, last: int) -> Candidates:
        """Those of the sentences first <= i < last."""
        begin, end = int(self.spans[first]), int(self.spans[last])
        a, b = int(self.offsets[begin]), int(self.offsets[end])
        return Candidates(
            self.symbols,
            self.spans[first : last + 1] - begin,
            self.offsets[begin : end + 1] - a,
            self.bottoms[begin:end],
            self.numbers[a:b],
        )


@dataclass(frozen=True, kw_only=True)
class EncodedConstituents(Encoded):
    """A corpus of constituent trees as arrays: one variable a word, its tag.

    `labels` are the tags, `gold` the gold tag of every word, and `allowed` the tags that a word may
    have: one, where tags are given. The table ``label`` has one row a word. Trees are written with
    the `words`.

    Attributes
    ----------
    categories : tuple of str
        The labels of constituents; the first is that of the root.
    constituents : (int64 of shape (instances + 1,), int32 of shape (constituents, 3)), or None
        Where the gold constituents of each sentence begin; of each the number of its label (-1
        where training did not show it) and its first word and the one after its last, counted
        within the sentence. Parents stand before their children, and children from left to right.
        Words are no constituents. None for unlabelled input.
    candidates : Candidates or None
        What a pruner left of the symbols of each span; None: all.
    columns : tuple of str
        Names of the columns of `codes`.
    codes : int32, shape (words, columns), or None
        Numbers of the columns' values; 0 where the value was not seen in training, 1 where the cell
        is empty.
    """

    categories: tuple[str, ...]
    constituents: tuple[Array, Array] | None = None
    candidates: Candidates | None = None
    columns: tuple[str, ...] = ()
    codes: Array | None = None

    def subset(self, first: int, last: int) -> Self:
        """The sentences first <= i < last."""
        constituents = None
        if self.constituents is not None:
            starts, gold = self.constituents
            constituents = (
                starts[first : last + 1] - starts[first],
                gold[starts[first] : starts[last]],
            )
        candidates = None if self.candidates is None else self.candidates.subset(first, last)
        own = slice(int(self.offsets[first]), int(self.offsets[last]))
        known, codes = (
            self._sliced(EncodedConstituents, first, last),
            None if self.codes is None else self.codes[own],
        )
        return replace(self, **known, constituents=constituents, candidates=candidates, codes=codes)

    def _kept(self, kept: Array) -> dict[str, Any]:
        constituents, candidates = self.constituents, self.candidates
        if constituents is not None:
            constituents = _kept_offsets(constituents[0], kept), constituents[1]
        if candidates is not None:
            candidates = replace(candidates, spans=_kept_offsets(candidates.spans, kept))
        return {**super()._kept(kept), "constituents": constituents, "candidates": candidates}
