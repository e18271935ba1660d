"""Bracketings: the constituents of sentences as factor graphs read them off outputs, and tasks
decode them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from structopt.kernels.waist.record import Array


class Bracketings(NamedTuple):
    """A tree a sentence, as arrays.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
        Where the constituents of each sentence begin; it has none where no tree was found.
    constituents : int32, shape (constituents, 3)
        Category, first word, and the word after its last, as in
        `structopt.core.data.encoded.EncodedConstituents`.
    tags : int32, shape (words,)
        The number of each word's tag; -1 where no tree was found.
    """

    offsets: Array
    constituents: Array
    tags: Array


Node = TypeVar("Node")


def nested(
    constituents: Sequence[tuple[str, int, int]],
    leaves: Sequence[Node],
    node: Callable[[str, tuple[Node, ...], int, int], Node],
) -> Node:
    """The tree of constituents (label, first word, the word after its last) over words; it does not
    recurse; O(both).

    Parameters
    ----------
    constituents : sequence
        Parents before their children, children from left to right; the first has all words.
    leaves : sequence
        The words.
    node : callable
        Makes a node of a label, its children, its first word, and the word after its last.
    """
    roots: list[Node] = []
    open_ones: list[tuple[str, int, int, list[Node]]] = []
    word = 0

    def close() -> None:
        nonlocal word
        label, begin, end, children = open_ones.pop()
        children += leaves[word:end]
        word = max(word, end)
        (open_ones[-1][3] if open_ones else roots).append(node(label, tuple(children), begin, end))

    for label, begin, end in constituents:
        while open_ones and open_ones[-1][2] <= begin:
            close()
        if open_ones:
            open_ones[-1][3].extend(leaves[word:begin])
        word = max(word, begin)
        open_ones.append((label, begin, end, []))
    while open_ones:
        close()
    return roots[0]
