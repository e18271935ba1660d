"""Derivations: trees of a grammar as tables with a row per span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.parts.ragged import ends_of
from structopt.factor_graph.grammar import forests, readings
from structopt.factor_graph.grammar.constituents import Uses
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.kinds import FOREST
from structopt.kernels.waist.record import Array

COLUMNS = ("begin", "end", "split", "rule", "step")
"""Columns of a derivation: the words begin <= t < end; the first word of the right half, of single
words 0; the rule, of single words the tag; and the step.
"""


@dataclass(frozen=True, kw_only=True)
class EncodedDerivations(EncodedConstituents):
    """A corpus whose gold trees are derivations.

    Attributes
    ----------
    uses : Uses or None
        None for unlabeled input.
    """

    uses: Uses | None = None

    def subset(self, first: int, last: int) -> Self:
        """Return the sentences first <= i < last."""
        part = super().subset(first, last)
        if self.uses is None:
            return part
        own = slice(int(self.uses.offsets[first]), int(self.uses.offsets[last]))
        offsets = self.uses.offsets[first : last + 1] - own.start
        return replace(part, uses=Uses(offsets, *(column[own] for column in self.uses[1:])))

    def _kept(self, kept: Array) -> dict[str, Any]:
        uses = self.uses
        if uses is not None:
            counts = np.diff(uses.offsets)[kept]
            uses = uses._replace(offsets=ends_of(counts))  # dropped sentences have no spans
        return {**super()._kept(kept), "uses": uses}


def rows_of(lengths: Array) -> Array:
    """Return the number of spans of trees over so many words, int64."""
    return np.asarray(np.maximum(2 * lengths - 1, 0))


def derivations(
    trees: EncodedConstituents, rules: Rules, structure: Structure, outputs: SparseVectors
) -> Array:
    """Return the derivations of outputs, int64, shape (rows, 5); parents before their children.

    The columns are `COLUMNS`. The rows of sentences without an output are -1.
    """
    if structure.kind == FOREST:
        columns = _of_forests(rules, structure, outputs)
    else:
        columns = readings.spans_of_outputs(trees, rules, structure, outputs)
    sentence, begin, end, bottom, top, step = columns
    lengths = np.diff(trees.offsets)
    starts = ends_of(rows_of(lengths))
    table = np.full((int(starts[-1]), len(COLUMNS)), -1, np.int64)
    found = np.bincount(sentence, minlength=len(trees))
    rows = np.repeat(starts[:-1], found) + np.arange(len(sentence))
    rows -= np.repeat(ends_of(found)[:-1], found)
    word = end - begin == 1
    # the row below a longer span is its left half; the right half is found by its words
    left = np.flatnonzero(~word) + 1
    split = np.zeros(len(word), np.int64)
    split[~word] = end[left]
    most = int(lengths.max(initial=0)) + 1
    keys = (sentence * most + begin) * most + most - end  # ascending
    wanted = (sentence * most + split) * most + most - end
    right = np.searchsorted(keys, wanted[~word])
    number = bottom - rules.first_tag
    number[~word] = _numbers(rules, top[left], top[right], bottom[~word])
    table[rows] = np.stack([begin, end, split, number, step], axis=1)
    return table


def _numbers(rules: Rules, left: Array, right: Array, above: Array) -> Array:
    """Return the rules with some symbols."""
    N, binary = len(rules.symbols), rules.binary.astype(np.int64)
    keys = (binary[:, 0] * N + binary[:, 1]) * N + binary[:, 2]  # ascending
    return np.searchsorted(keys, (left * N + right) * N + above)


def _of_forests(rules: Rules, structure: Structure, outputs: SparseVectors) -> tuple[Array, ...]:
    """Return what `readings.spans_of_outputs` does, of packed forests."""
    columns = [np.zeros((6, 0), np.int64)]
    for i, (edges, vertices) in enumerate(forests.sentences(structure)):
        chosen = outputs.parts[outputs.offsets[i] : outputs.offsets[i + 1]]
        chosen = chosen[chosen < len(edges.head)]
        step = chosen[edges.split[chosen] == forests.STEP]
        number, head = edges.number[step].astype(np.int64), edges.head[step]
        words = vertices.begin[head], vertices.end[head]
        ends = rules.bottoms[number], rules.tops[number]
        columns.append(np.stack([np.full(len(step), i), *words, *ends, number]))
    sentence, begin, end, *others = np.concatenate(columns, axis=1)
    order = np.lexsort((-end, begin, sentence))
    return tuple(one[order] for one in (sentence, begin, end, *others))


def faults(rules: Rules, lengths: Array, uses: Uses, tags: Array) -> dict[str, Array]:
    """Mark the wrong rows of each kind of fault, bool; a derivation has none.

    Parameters
    ----------
    rules : Rules
    lengths : int64, shape (sentences,)
    uses : Uses
        2 n - 1 rows of each sentence, with rules and steps of the grammar.
    tags : int64, shape (rows,)
        Tags of single words.
    """
    sentence, begin, end, split = uses.sentence, uses.begin, uses.end, uses.split
    n, most = lengths[sentence], int(lengths.max(initial=0)) + 1
    outside = (begin < 0) | (begin >= end) | (end > n)
    word = end - begin == 1
    unsplit = ~outside & np.where(word, split != 0, (split <= begin) | (split >= end))
    if outside.any() or unsplit.any():
        return {"no span of the sentence.": outside, "no first word of a right half.": unsplit}
    keys = (sentence * most + begin) * most + end
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    twice = np.zeros(len(keys), bool)
    twice[order[1:]] = ascending[1:] == ascending[:-1]
    top = rules.tops[uses.step]
    bottom = np.where(word, rules.first_tag + tags, 0)
    bottom[~word] = rules.binary[uses.rule[~word], 2]
    lacking, other = np.zeros(len(keys), bool), np.zeros(len(keys), bool)
    for column, first, last in ((0, begin, split), (1, split, end)):
        wanted = ((sentence * most + first) * most + last)[~word]
        at = np.minimum(np.searchsorted(ascending, wanted), len(keys) - 1)
        lacking[~word] |= ascending[at] != wanted
        other[~word] |= top[order[at]] != rules.binary[uses.rule[~word], column]
    whole = (begin == 0) & (end == n)
    return {
        "a span that is there twice.": twice,
        "a half that is missing among the spans.": lacking,
        "a rule whose halves have other symbols.": other & ~lacking,
        "a step from another symbol.": rules.bottoms[uses.step] != bottom,
        "a step to the root, or none over the whole sentence.": (top == 0) != whole,
    }
