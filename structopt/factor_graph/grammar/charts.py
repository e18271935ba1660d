"""Which symbols the spans of sentences may have, and the numbers of these nodes among the parts of
a sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from structopt.core.data.encoded import Candidates, EncodedConstituents
from structopt.core.parts.ragged import ends_of
from structopt.factor_graph.grammar.rules import Rules
from structopt.kernels.waist.record import Array

FEW = 8
"""Sentences of a corpus whose cells are remembered."""


class Cells(NamedTuple):
    """The symbols that spans may have: lists, which spans may share.

    Attributes
    ----------
    starts : int64, shape (lists + 1,)
        Where the symbols of each list begin.
    bottoms : int64, shape (lists,)
        How many of them stand below the span's step.
    symbols : int32
        Ascending below, then ascending above.
    spans : int64, shape (sentences + 1,)
        Where the spans of each sentence begin.
    lists : int64, shape (spans,)
        The list of each span.
    """

    starts: Array
    bottoms: Array
    symbols: Array
    spans: Array
    lists: Array

    @property
    def sizes(self) -> Array:
        """Nodes of each span."""
        return np.diff(self.starts)[self.lists]

    @property
    def nodes(self) -> Array:
        """Offsets of the sentences in a vector over the nodes, shape (sentences + 1,)."""
        return np.asarray(ends_of(self.sizes)[self.spans])

    @property
    def first_nodes(self) -> Array:
        """Number, within its sentence, of the first node of each span."""
        ends = ends_of(self.sizes)
        return np.asarray(ends[:-1] - np.repeat(ends[self.spans[:-1]], np.diff(self.spans)))

    def node(self, sentence: Array, span: Array, symbol: Array, above: Array) -> Array:
        """Numbers, within their sentences, of the nodes of symbols at spans, `above` their steps or
        below; -1 for none.
        """
        cell = self.spans[sentence] + span
        number = self.lists[cell]
        most = int(self.symbols.max(initial=0)) + 1
        layer = np.arange(len(self.symbols)) - np.repeat(
            self.starts[:-1], np.diff(self.starts)
        ) >= np.repeat(self.bottoms, np.diff(self.starts))
        keys = (
            np.repeat(np.arange(len(self.bottoms)), np.diff(self.starts)) * 2 + layer
        ) * most + self.symbols
        wanted = (number * 2 + above) * most + symbol
        at = np.searchsorted(keys, wanted)
        found = at < len(keys)
        found[found] = keys[at[found]] == wanted[found]
        known = found & (symbol >= 0) & (symbol < most)
        return np.asarray(np.where(known, self.first_nodes[cell] + at - self.starts[number], -1))


def span_number(n: Array, begin: Array, end: Array) -> Array:
    """Number of spans among those of sentences of n words."""
    return np.asarray(begin * n - begin * (begin - 1) // 2 + end - begin - 1)


def spans_of(offsets: Array) -> Array:
    """Where the spans of each sentence begin: n (n + 1) / 2 of n words."""
    lengths = np.diff(offsets)
    return ends_of(lengths * (lengths + 1) // 2)


def ends_of_spans(offsets: Array) -> tuple[Array, Array]:
    """First word of every span of every sentence, and the one after its last, counted within the
    sentence.
    """
    lengths = np.diff(offsets).astype(np.int64)
    n = np.repeat(lengths, lengths)
    begin = np.arange(len(n)) - np.repeat(ends_of(lengths)[:-1], lengths)
    wide = n - begin  # spans that begin at each word
    first = np.repeat(begin, wide)
    width = np.arange(len(first)) - np.repeat(ends_of(wide)[:-1], wide)
    return first, first + width + 1


def cells_of(encoded: EncodedConstituents, rules: Rules) -> Cells:
    """The symbols that spans may have: those that a pruner kept, or all."""
    if len(encoded) > FEW:
        return _cells_of(encoded, rules)
    if _latest.encoded() is not encoded or _latest.rules() is not rules:
        _latest.cells = _cells_of(encoded, rules)
        _latest.encoded, _latest.rules = ref(encoded), ref(rules)
    return _latest.cells


class _Latest(threading.local):
    """The cells of the last small corpus: a graph and its views compute the same cells."""

    encoded: Callable[[], Any] = staticmethod(lambda: None)
    rules: Callable[[], Any] = staticmethod(lambda: None)
    cells: Cells


_latest = _Latest()


def _cells_of(encoded: EncodedConstituents, rules: Rules) -> Cells:
    if encoded.candidates is None:
        return all_symbols(encoded, rules)
    return kept_symbols(rules, encoded.candidates)


def all_symbols(encoded: EncodedConstituents, rules: Rules) -> Cells:
    """Every symbol at every span, given the tags of the words: O(words^2) of them.

    Spans of several words have the symbols of all constituents and between them, also the few that
    no rule makes: they are the columns of the kernels' matrices.
    """
    phrases = np.arange(1, rules.first_tag)
    longer = [(phrases, phrases), (phrases, np.zeros(1, np.int64))]
    assert encoded.allowed is not None
    rows = [row.tobytes() for row in encoded.allowed]
    numbered = {row: number for number, row in enumerate(sorted(set(rows)))}
    kind = np.array([numbered[row] for row in rows], np.int64)
    lists = longer
    for row in numbered:
        tags = rules.first_tag + np.flatnonzero(np.frombuffer(row, bool))
        lists = [*lists, (tags, rules.reachable_tops(tags)), (tags, np.zeros(1, np.int64))]
    begin, end = ends_of_spans(encoded.offsets)
    spans = spans_of(encoded.offsets)
    sentence = np.repeat(np.arange(len(encoded)), np.diff(spans))
    whole = end - begin == np.diff(encoded.offsets)[sentence]
    word = encoded.offsets[sentence] + begin
    single = 2 + 2 * kind[word]
    numbers = np.where(end - begin == 1, single, 0) + whole
    starts = ends_of(np.array([len(a) + len(b) for a, b in lists]))
    symbols = np.concatenate([one for pair in lists for one in pair]).astype(np.int32)
    return Cells(
        starts,
        np.array([len(a) for a, _ in lists], np.int64),
        symbols,
        spans,
        numbers.astype(np.int64),
    )


def kept_symbols(rules: Rules, candidates: Candidates) -> Cells:
    """The symbols that a pruner kept: all that are one of these without what they remember."""
    sizes, flat = rules.expanded(candidates.symbols)
    counts = sizes[candidates.numbers]
    first = ends_of(sizes)[:-1][candidates.numbers]
    index = np.repeat(first - ends_of(counts)[:-1], counts) + np.arange(int(counts.sum()))
    span = np.repeat(np.arange(len(candidates.bottoms)), np.diff(candidates.offsets))
    within = np.arange(len(span)) - candidates.offsets[:-1][span]
    above = within >= candidates.bottoms[span]
    symbols, span, above = flat[index], np.repeat(span, counts), np.repeat(above, counts)
    order = np.lexsort((symbols, above, span))
    starts = ends_of(np.bincount(span, minlength=len(candidates.bottoms)))
    bottoms = np.bincount(span[~above], minlength=len(candidates.bottoms))
    spans = candidates.spans
    return Cells(
        starts,
        bottoms.astype(np.int64),
        symbols[order].astype(np.int32),
        spans,
        np.arange(int(spans[-1])),
    )
