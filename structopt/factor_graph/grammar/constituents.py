"""Constituents as arrays, trees, and the uses of rules and steps of their binary trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structopt.core.data.constituents import nested
from structopt.core.data.encoded import Encoded, EncodedConstituents
from structopt.errors import ConfigError
from structopt.factor_graph.grammar.binarization import (
    BETWEEN,
    CHILDREN,
    PARENT,
    Binarization,
    Chain,
    Tree,
)
from structopt.kernels.waist.record import Array

TAG = "/"
"""Begins the symbols of tags, so that none is that of a constituent."""
Pair = tuple[str, str, str]
"""A binary rule: the symbol above, and those of the left and of the right span."""


class Uses(NamedTuple):
    """The spans of binary trees, sentence by sentence, parents first: which step, and which rule, a
    tree uses at each.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    begin, end : int64, shape (spans,)
        Its words.
    split : int64, shape (spans,)
        Where its right half begins; 0 for single words.
    step, rule : int64, shape (spans,)
        Numbers; -1 where there is none of this kind. Single words have no rule: -1.
    """

    offsets: Array
    begin: Array
    end: Array
    split: Array
    step: Array
    rule: Array

    @property
    def sentence(self) -> Array:
        """The number of each span's sentence."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def known(self) -> Array:
        """Of each sentence, whether all its steps and rules have numbers."""
        missing = (self.step < 0) | ((self.split > 0) & (self.rule < 0))
        known: Array = np.bincount(self.sentence[missing], minlength=len(self.offsets) - 1) == 0
        return known


def by_span(uses: Uses) -> Array:
    """The order of the spans by their numbers: by the first word, then by the last."""
    return np.lexsort((uses.end, uses.begin, uses.sentence))


@dataclass(frozen=True)
class Numbering:
    """From chains of steps, and from rules, to their numbers.

    Parameters
    ----------
    steps, rules : dict
    grows : bool
        Whether unknown ones get the next number; otherwise, their number is -1.
    """

    steps: dict[Chain, int]
    rules: dict[Pair, int]
    grows: bool = False

    def step(self, chain: Chain) -> int:
        """The number of a chain of steps."""
        numbers = self.steps
        return numbers.setdefault(chain, len(numbers)) if self.grows else numbers.get(chain, -1)

    def rule(self, rule: Pair) -> int:
        """The number of a binary rule."""
        numbers = self.rules
        return numbers.setdefault(rule, len(numbers)) if self.grows else numbers.get(rule, -1)


def constituents_of(encoded: Encoded) -> EncodedConstituents:
    """Return the corpus, if it is one of constituent trees."""
    if not isinstance(encoded, EncodedConstituents):
        raise ConfigError(
            "This factor graph needs constituency trees.",
            remedy="Use Constituency(), or the factor graph of your task.",
        )
    return encoded


def uses_of(encoded: EncodedConstituents, binarization: Binarization, numbering: Numbering) -> Uses:
    """The uses of steps and rules in the gold trees; O(words)."""
    offsets, rows = [0], []
    for tree in trees_of(encoded):
        for span in binarization.binary(tree).spans():
            step = numbering.step(span.chain)
            if span.left is None or span.right is None:
                rows.append((span.begin, span.end, 0, step, -1))
            else:
                rule = numbering.rule((span.bottom, span.left.top, span.right.top))
                rows.append((span.begin, span.end, span.left.end, step, rule))
        offsets.append(len(rows))
    table = np.array(rows, np.int64).reshape(-1, 5).T
    return Uses(np.array(offsets, np.int64), *np.ascontiguousarray(table))


def trees_of(encoded: EncodedConstituents) -> Iterator[Tree]:
    """The gold trees, whose words are labelled by their tags."""
    assert encoded.constituents is not None and encoded.gold is not None
    # -1: unseen in training
    categories, tags = [*encoded.categories, ""], [*(TAG + tag for tag in encoded.labels), TAG]
    starts, constituents = encoded.constituents[0].tolist(), encoded.constituents[1].tolist()
    words, gold = encoded.offsets.tolist(), encoded.gold.tolist()
    for i in range(len(encoded)):
        leaves = [
            Tree(tags[tag], (), t, t + 1) for t, tag in enumerate(gold[words[i] : words[i + 1]])
        ]
        rows = [(categories[c], b, e) for c, b, e in constituents[starts[i] : starts[i + 1]]]
        yield nested(rows, leaves, Tree)


def check_categories(encoded: EncodedConstituents) -> None:
    """Refuse labels that symbols could not be told apart from.

    Raises
    ------
    ConfigError
    """
    for name in encoded.categories:
        if name.startswith((BETWEEN, TAG)) or PARENT in name or CHILDREN in name:
            raise ConfigError(
                f"The treebank has constituents {name!r}, and "
                f"symbols of the grammar are marked by {BETWEEN!r} and {TAG!r} at the "
                f"beginning, {PARENT!r} and {CHILDREN!r} within.",
                remedy="Rename them.",
            )
