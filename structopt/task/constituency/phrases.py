"""Trees of brackets as arrays of constituents, and back: what of a treebank is learnt, and how
trees are written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.constituents import Bracketings, nested
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.errors import DataError
from structopt.formats.trees.penn import EMPTY, Node, bare_label
from structopt.kernels.waist.record import Array
from structopt.metrics.brackets import ROOTS

ROOT = "ROOT"
"""The category of the root, whatever the files call it."""
DEEPEST = 200
"""Constituents within each other that a tree may have."""


class Parsed(NamedTuple):
    """What is learnt of a tree: its constituents, parents first, as (label, first word, word after
    the last); and the tags.
    """

    constituents: list[tuple[str, int, int]]
    tags: list[str]


def phrases_of(tree: Node, path: str) -> Parsed:
    """The constituents of a tree.

    Without empty elements, constituents without words, function tags, and constituents over nothing
    but one of their label. The outermost is the root, which is added to trees without one.

    Raises
    ------
    DataError
        A tree without words, or nested too deeply.
    """
    constituents: list[tuple[str, int, int]] = []
    tags: list[str] = []
    # a node, its depth, and its index once it is listed
    stack: list[tuple[Node, int, int]] = [(tree, 0, -1)]
    while stack:
        node, depth, index = stack.pop()
        if index >= 0:
            label, begin, _ = constituents[index]
            constituents[index] = label, begin, len(tags)
        elif node.children:
            if depth > DEEPEST:
                raise DataError(
                    path,
                    tree.line,
                    f"constituents are nested more than {DEEPEST} deep here.",
                    remedy="Leave the tree out.",
                )
            label = ROOT if depth == 0 and node.label in ROOTS else bare_label(node.label)
            constituents.append((label, len(tags), -1))
            stack.append((node, depth, len(constituents) - 1))
            stack.extend((child, depth + 1, -1) for child in reversed(node.children))
        elif node.label != EMPTY:
            tags.append(bare_label(node.label))
    if not tags:
        raise DataError(
            path,
            tree.line,
            "this tree has no words.",
            remedy="Leave it out.",
        )
    kept = [one for one in constituents if one[1] < one[2]]
    kept = [one for one, before in zip(kept, [None, *kept], strict=False) if one != before]
    if not kept or kept[0][0] != ROOT:
        kept.insert(0, (ROOT, 0, len(tags)))
    return Parsed(kept, tags)


class Phrases:
    """The labels of constituents.

    Attributes
    ----------
    categories : tuple of str
        The root's first, then the others, sorted.
    root : str or None
        What the training files call the root; None where most trees have none.
    fallback : str
        The label of sentences, the most frequent one below the root.
    """

    def __init__(
        self, categories: tuple[str, ...] = (), root: str | None = None, fallback: str = ""
    ) -> None:
        self.categories, self.root, self.fallback = categories, root, fallback

    def fit(
        self, parsed: Sequence[Parsed], trees: Sequence[Node], earlier: Phrases | None = None
    ) -> None:
        """Learn from the training trees."""
        labels = {label for one in parsed for label, _, _ in one.constituents} | {
            *(earlier.categories if earlier else ())
        }
        roots = Counter(
            tree.label if tree.label in ROOTS and tree.children else None for tree in trees
        )
        below = Counter(one.constituents[1][0] for one in parsed if len(one.constituents) > 1)
        self.categories = (ROOT, *sorted(labels - {ROOT}))
        self.root = roots.most_common(1)[0][0]
        self.fallback = below.most_common(1)[0][0] if below else ROOT

    def encode(self, parsed: Sequence[Parsed]) -> tuple[Array, Array]:
        """Offsets of the constituents of each sentence, and their categories and words, as
        `EncodedConstituents` has them.
        """
        number = {label: c for c, label in enumerate(self.categories)}
        rows = [
            (number.get(label, -1), begin, end)
            for one in parsed
            for label, begin, end in one.constituents
        ]
        offsets = np.cumsum([0, *(len(one.constituents) for one in parsed)]).astype(np.int64)
        return offsets, np.array(rows, np.int32).reshape(-1, 3)

    def written(self, category: str) -> str:
        """A category as the files write it."""
        return (self.root or "") if category == ROOT else category

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {"categories": list(self.categories), "root": self.root, "fallback": self.fallback}

    @classmethod
    def restore(cls, state: SavedState) -> Phrases:
        """Undo `state`."""
        categories = tuple(state.strings("categories", least=1))
        root = None if state.values.get("root") is None else state.string("root")
        return cls(categories, root, state.string("fallback", categories))


def trees_with(
    phrases: Phrases, tags: tuple[str, ...], encoded: EncodedConstituents, view: Bracketings
) -> list[Node]:
    """The trees of bracketings, with the words of a corpus.

    Where there are no constituents, a tree that branches to the right, whose words have the first
    tag that they may have.
    """
    assert encoded.allowed is not None
    chosen = np.where(view.tags >= 0, view.tags, encoded.allowed.argmax(axis=1)).tolist()
    names = [phrases.written(category) for category in phrases.categories]
    trees, words = [], encoded.words
    for (a, b), (first, last) in zip(
        pairwise(encoded.offsets.tolist()), pairwise(view.offsets.tolist()), strict=True
    ):
        leaves = [
            Node(tags[tag], (), word) for tag, word in zip(chosen[a:b], words[a:b], strict=True)
        ]
        rows = view.constituents[first:last].tolist() or _to_the_right(b - a, phrases)
        tree = nested(
            [(names[c], begin, end) for c, begin, end in rows],
            leaves,
            lambda name, children, *_: Node(name, children),
        )
        rootless = phrases.root is None and len(tree.children) == 1 and tree.children[0].children
        trees.append(tree.children[0] if rootless else tree)
    return trees


def _to_the_right(n: int, phrases: Phrases) -> list[tuple[int, int, int]]:
    """The constituents of a tree over n words in which every word is followed by the rest of the
    sentence; only the root if training trees have no other label.
    """
    if phrases.fallback == ROOT:
        return [(0, 0, n)]
    label = phrases.categories.index(phrases.fallback)
    return [(0, 0, n), *((label, begin, n) for begin in range(max(n - 1, 1)))]
