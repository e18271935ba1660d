"""Checks of trees in files: words are numbered in order, and the heads of every word lead to the
root.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.trees.dependency_trees import EMPTY, Trees

SHOWN = 12
"""The most words of a circle that a message lists."""
WHOLE = re.compile("0|[1-9][0-9]{0,8}")


def numbers_of(cells: Sequence[str]) -> NDArray[np.int64]:
    """Return cells as whole numbers from 0 on; -1 for a cell that is none."""
    values = {cell: int(cell) if WHOLE.fullmatch(cell) else -1 for cell in set(cells)}
    return np.fromiter(map(values.__getitem__, cells), np.int64, len(cells))


def positions(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of every word in its sentence, from 1; int64, shape (words,)."""
    return np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], np.diff(offsets))


def check_word_numbers(
    path: str | Path, lines: NDArray[np.int64], offsets: NDArray[np.int64], cells: Sequence[str]
) -> None:
    """Raise DataError unless the words of every sentence are numbered 1, 2, 3, ..."""
    lengths = np.diff(offsets).tolist()
    expected = [number for length in lengths for number in map(str, range(1, length + 1))]
    if list(cells) != expected:
        token = next(t for t, cell in enumerate(cells) if cell != expected[t])
        message = (
            f"the word is numbered {cells[token]!r} where {expected[token]} is due: number the "
            "words of a sentence"
        )
        raise DataError(
            path,
            int(lines[token]),
            f"{message} 1, 2, 3, ..., and leave a blank line after each sentence.",
        )


def checked_heads(
    path: str | Path,
    lines: NDArray[np.int64],
    offsets: NDArray[np.int64],
    cells: Sequence[str],
    partial: bool = False,
) -> NDArray[np.int32]:
    """Return heads as numbers, each sentence a tree; several words may have the root as head.
    O(words log length).

    With `partial`, a head may be missing (`_`): it is -1, and the others must be arcs of some tree.

    Raises
    ------
    DataError
        A head that is missing, not a number, beyond the sentence, or the word itself; a cycle.
    """
    heads = numbers_of(cells)
    words, lengths = positions(offsets), np.repeat(np.diff(offsets), np.diff(offsets))
    missing = (
        np.array([cell == EMPTY for cell in cells], bool) if partial else np.zeros(len(cells), bool)
    )
    wrong = np.flatnonzero(~missing & ((heads < 0) | (heads > lengths) | (heads == words)))
    if len(wrong):
        token = int(wrong[0])
        raise DataError(
            path,
            int(lines[token]),
            _wrong_head(cells[token], int(words[token]), int(lengths[token])),
        )
    begins = np.repeat(offsets[:-1], np.diff(offsets))
    _check_cycles(path, lines, np.where(missing, 0, heads), begins)
    return heads.astype(np.int32)


def with_heads(
    trees: Trees, heads: list[str], relations: list[str], partial: bool = False
) -> Trees:
    """Return a corpus with the heads and relations of all words, written as in files; the errors of
    `checked_heads`.
    """
    numbers = checked_heads(trees.path, trees.lines, trees.offsets, heads, partial)
    return replace(trees, cells=trees.cells | {"head": heads, "deprel": relations}, heads=numbers)


def _wrong_head(cell: str, word: int, length: int) -> str:
    if cell == EMPTY:
        return (
            f"the head of word {word} is missing (_): give labelled files for training and "
            "evaluation; predict needs no heads. "
            "For training data without some heads, set task.partial=true."
        )
    if not WHOLE.fullmatch(cell):
        return (
            f"the head {cell!r} of word {word} is not a number: write the number of the head "
            "word, or 0 for the root."
        )
    if int(cell) == word:
        return f"word {word} is its own head: write the number of another word, or 0 for the root."
    return (
        f"the head {cell} of word {word} is beyond the sentence, which has {length} words: write "
        f"0 to {length}."
    )


def _check_cycles(
    path: str | Path, lines: NDArray[np.int64], heads: NDArray[np.int64], begins: NDArray[np.int64]
) -> None:
    """Raise DataError for a cycle: follow all heads at once, doubling the stride, until all words
    have reached the root.
    """
    root = len(heads)
    above = np.append(np.where(heads == 0, root, begins + heads - 1), root)
    reached = above
    for _ in range(root.bit_length() + 1):  # after which the stride is longer than any path
        if (reached == root).all():
            return
        reached = reached[reached]
    # an endless walk is on the cycle by now
    token = int(reached[np.flatnonzero(reached != root)[0]])
    cycle = [token]
    while (following := int(above[cycle[-1]])) != token:
        cycle.append(following)
    turn = cycle.index(min(cycle))
    words = [str(word - begins[word] + 1) for word in [*cycle[turn:], *cycle[:turn], min(cycle)]]
    if len(words) > SHOWN:
        words[SHOWN - 2 : -1] = ["..."]
    message = (
        f"the heads go round in a circle, {' -> '.join(words)}: every word must lead to the root "
        "(head 0)."
    )
    raise DataError(path, int(lines[min(cycle)]), f"{message} Correct one of these heads.")
