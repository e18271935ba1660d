"""Names of the features of rules at their places: values and weights of templates at given edges,
as the kernels have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from structopt.core.data.encoded import EncodedConstituents
from structopt.core.weights.coordinates import Names, Occurring
from structopt.features.anchored_layout import Layout
from structopt.features.template_layout import distance_bins
from structopt.features.template_names import (
    Features,
    bin_names,
    finished,
    partial_sums,
    value_name,
)
from structopt.kernels.waist.record import Array
from structopt.templates.anchored_templates import ANCHORED, SPAN
from structopt.templates.part_templates import Atom, Template

PLACES = {
    "first": ("begin", 0),
    "last": ("end", -1),
    "before": ("begin", -1),
    "after": ("end", 0),
    "left": ("split", -1),
    "right": ("split", 0),
    "w": ("begin", 0),
}
"""The words of roles, counted from the ends of the span or from the split."""
WORD = (1 << 64) - 1
LENGTHS = {
    "length": ("begin", "end"),
    "left_length": ("begin", "split"),
    "right_length": ("split", "end"),
}


class Edges(NamedTuple):
    """Rules, steps and tags of sentences: int64 each.

    Attributes
    ----------
    sentence, begin, end, split : where an edge stands; the split is 0 of a step, -1 of a tag
    number : of the rule or the step
    symbol : of the vertex above
    """

    sentence: Array
    begin: Array
    end: Array
    split: Array
    number: Array
    symbol: Array

    def chosen(self, mask: Array) -> Edges:
        """Some of them."""
        return Edges(*(column[mask] for column in self))


class AnchoredNames:
    """The features of the edges of forests.

    Parameters
    ----------
    layout : Layout
    seen : bool, shape (2^hash_bits,)
        The places of gold features.
    others : int
        Bins for all other features.
    names : Names
    occurring : Occurring
        Parts of a corpus of forests.
    """

    def __init__(
        self, layout: Layout, seen: Array, others: int, names: Names, occurring: Occurring
    ) -> None:
        from structopt.kernels.forest.record import FORESTS

        assert isinstance(occurring.encoded, EncodedConstituents)
        self.layout, self.names, self.occurring, self.trees = (
            layout,
            names,
            occurring,
            occurring.encoded,
        )
        self.seen, self.ranks, self.others = seen, np.cumsum(seen) - 1, others
        self.forest = FORESTS.open(occurring.structure.record)
        self.known = {column: names.values(column) for column in layout.columns}

    def features(self) -> Iterator[Features]:
        """Those of every template at the edges, joined with the rule and with the label above."""
        edges, number = self._edges(), 0
        of = {"spans": edges.split >= 0, "splits": edges.split > 0, "words": edges.split < 0}
        for which in ANCHORED.roles:
            chosen = edges.chosen(of[which])
            for template in ANCHORED.parse(self.layout.texts[which], which):
                number += 1
                yield from self._features(number, template, which, chosen)

    def _features(
        self, number: int, template: Template, which: str, edges: Edges
    ) -> Iterator[Features]:
        """Those of one template."""
        values, atoms = [], []
        for atom in template.atoms:
            value, known = self._values(atom, edges)
            values.append(value)
            atoms.append((str(atom), known))
        total = partial_sums(number, values, len(edges.begin))
        rows = {"rule": self._rules, "parent": self._symbols}
        none = np.zeros((1, len(edges.begin)), np.int64)
        for name in ("parent",) if which == "words" else self.layout.joined:
            bits, texts = rows[name](edges)
            with np.errstate(over="ignore"):
                hashes = finished(total + bits.view(np.uint64))
            yield Features(
                "edge",
                atoms,
                values,
                texts,
                self._weights(hashes)[np.newaxis],
                none,
                lambda _variant: "",
            )

    def _edges(self) -> Edges:
        """The edges among the parts."""
        from structopt.kernels.forest.edges import write_edges, write_vertices

        structure, outputs, columns = (
            self.occurring.structure,
            self.occurring.outputs,
            list[Array](),
        )
        sizes, vertices = np.diff(structure.spans("edge")[1]).tolist(), structure.spans("node")[1]
        for i, size in enumerate(sizes):
            parts = outputs.parts[outputs.offsets[i] : outputs.offsets[i + 1]]
            parts = parts[parts < size]
            head, number, split = (np.empty(size, np.int32) for _ in range(3))
            write_edges(structure.record, i, head, number, split)
            count = int(vertices[i + 1] - vertices[i])
            begin, end = (np.empty(count, np.int32) for _ in range(2))
            write_vertices(structure.record, i, begin, end, np.empty(count, bool))
            above = head[parts]
            symbol = self.forest.symbol[vertices[i] + above]
            columns.append(
                np.stack(
                    [
                        np.full(len(parts), i),
                        begin[above],
                        end[above],
                        split[parts],
                        number[parts],
                        symbol,
                    ]
                )
            )
        return Edges(
            *np.concatenate([np.zeros((6, 0), np.int64), *columns], axis=1).astype(np.int64)
        )

    def _values(self, atom: Atom, edges: Edges) -> tuple[Array, dict[int, str]]:
        """The values of an atom at edges, and what these are called."""
        if atom.role in LENGTHS:
            low, high = (getattr(edges, name) for name in LENGTHS[atom.role])
            bins = np.array(distance_bins(self.layout.lengths))
            return bins[np.minimum(high - low, len(bins) - 1)], bin_names(1, self.layout.lengths)
        column = self.layout.columns.index(atom.column)
        if atom.role == SPAN:
            return self._sequences(column, atom.column, edges)
        name, shift = PLACES[atom.role]
        return self._words(
            column, edges.sentence, getattr(edges, name) + shift + atom.offset
        ), dict(self.known[atom.column])

    def _words(self, column: int, sentence: Array, at: Array) -> Array:
        """Codes of a column at words of sentences."""
        from structopt.kernels.features.hashing import END, START

        inside = (at >= 0) & (at < np.diff(self.trees.offsets)[sentence])
        values = np.where(at < 0, START, END)
        values[inside] = self._codes(column)[(self.trees.offsets[sentence] + at)[inside]]
        return values

    def _codes(self, column: int) -> Array:
        assert self.trees.codes is not None
        return self.trees.codes[:, self.trees.columns.index(self.layout.columns[column])]

    def _sequences(self, column: int, name: str, edges: Edges) -> tuple[Array, dict[int, str]]:
        """The values of all words of spans, and these words."""
        starts, codes, known = (
            self.trees.offsets[edges.sentence],
            self._codes(column).tolist(),
            self.known[name],
        )
        spans = list(
            zip((starts + edges.begin).tolist(), (starts + edges.end).tolist(), strict=True)
        )
        values = {span: value_of_words(codes[slice(*span)]) for span in dict.fromkeys(spans)}
        texts = {
            values[a, b]: " ".join(value_name(known, code) for code in codes[a:b])
            for a, b in values
        }
        return np.array([values[span] for span in spans], np.int64), texts

    def _rules(self, edges: Edges) -> tuple[Array, Sequence[str]]:
        """Numbers that tell the names of rules and steps apart, and the names."""
        rule = edges.split > 0
        rules = self.names.configurations("rule", len(self.forest.rule_names))
        steps = self.names.configurations("step", len(self.forest.step_names))
        bits = np.where(
            rule,
            _at(self.forest.rule_names, edges.number, rule),
            _at(self.forest.step_names, edges.number, ~rule),
        )
        return bits, [
            (rules if own else steps)[k]
            for own, k in zip(rule.tolist(), edges.number.tolist(), strict=True)
        ]

    def _symbols(self, edges: Edges) -> tuple[Array, Sequence[str]]:
        """The same of the symbols above."""
        symbols = self.names.configurations("symbol", self.forest.symbols)
        return self.forest.symbol_names[edges.symbol], [symbols[k] for k in edges.symbol.tolist()]

    def _weights(self, hashes: Array) -> Array:
        """The weights of features, as `structopt.kernels.features.anchored.hashes.fill_weights`."""
        place = (hashes >> np.uint64(64 - self.layout.hash_bits)).astype(np.int64)
        bins = ((hashes & np.uint64(0xFFFFFFFF)) * np.uint64(self.others)) >> np.uint64(32)
        gold = int(self.ranks[-1]) + 1
        return np.where(
            self.seen[place], self.ranks[place], gold + bins.astype(np.int64) if self.others else -1
        )


def _at(array: Array, indices: Array, where: Array) -> Array:
    """Entries at indices, and 0 where they do not count."""
    return array[np.where(where, indices, 0)] if len(array) else np.zeros(len(indices), np.int64)


def value_of_words(codes: Sequence[int]) -> int:
    """As `structopt.kernels.features.anchored.hashes.value_of_words`, of all words of a span."""
    from structopt.kernels.features.anchored.hashes import FIRST_PART, LAST_PART

    value, last, repeated = 0, -1, False
    for q, code in enumerate(codes):
        left_out = q >= FIRST_PART and len(codes) - q > LAST_PART
        if left_out and q == FIRST_PART:
            value, last, repeated = _mixed(value + 1), -1, False
        if left_out:
            continue
        if code != last:
            value, last, repeated = _mixed(value + code + 3), code, False
        elif not repeated:
            value, repeated = _mixed(value + 2), True
    return value >> 1


def _mixed(z: int) -> int:
    """As `structopt.kernels.waist.bits.mix`, of a Python integer."""
    from structopt.kernels.waist.bits import FIRST, SECOND

    z &= WORD
    z = (z ^ (z >> 30)) * int(FIRST) & WORD
    z = (z ^ (z >> 27)) * int(SECOND) & WORD
    return z ^ (z >> 31)
