"""Scores of constituent trees, by the rules of EVALB (Sekine and Collins) with the parameters that the field uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.errors import DataError
from structopt.formats.trees.penn import EMPTY, Node
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts

PUNCTUATION = frozenset({",", ":", "``", "''", ".", "?", "!"})
"""Tags whose words are left out, on both sides where gold has them."""
ROOTS = frozenset({"", "TOP", "S1", "ROOT"})
"""Labels that are no brackets."""
EQUAL = {"PRT": "ADVP"}
"""Labels that count as another one."""
SHORT = 40
"""Words of the longest sentence that the second half of the scores counts."""
COUNTS = ("sentences", "errors", "right", "predicted", "gold", "complete", "crossing", "without_crossing", "words", "tags")


class Brackets(NamedTuple):
    """What is scored of a tree.

    Attributes
    ----------
    brackets : Counter of (label, begin, end)
        A multiset; begin and end count the words that are no punctuation.
    tags : list of str
        Of those words.
    """

    brackets: Counter[tuple[str, int, int]]
    tags: list[str]


def label_of(text: str) -> str:
    """A label without function tags and indices: cut at the first ``-`` or ``=`` that does not begin it."""
    cuts = [cut for cut in (text.find("-", 1), text.find("=", 1)) if cut > 0]
    label = text[: min(cuts)] if cuts else text
    return EQUAL.get(label, label)


def words_of(tree: Node) -> list[Node]:
    """The words of a tree with their tags, without empty elements."""
    return [leaf for leaf in tree.leaves() if leaf.label != EMPTY]


def brackets_of(tree: Node, kept: Sequence[bool]) -> Brackets:
    """The brackets over the words that are `kept`, a mark for each that is no empty element; constituents without any vanish."""
    brackets: Counter[tuple[str, int, int]] = Counter()
    tags: list[str] = []
    word = 0
    stack: list[tuple[Node, int]] = [(tree, -1)]  # a constituent, and where it begins once its words are counted
    while stack:
        node, begin = stack.pop()
        if begin >= 0:
            if len(tags) > begin and label_of(node.label) not in ROOTS:
                brackets[label_of(node.label), begin, len(tags)] += 1
        elif node.children:
            stack.append((node, len(tags)))
            stack.extend((child, -1) for child in reversed(node.children))
        elif node.label != EMPTY:
            if kept[word]:
                tags.append(label_of(node.label))
            word += 1
    return Brackets(brackets, tags)


def crossing(predicted: Counter[tuple[str, int, int]], gold: Counter[tuple[str, int, int]]) -> int:
    """How many predicted brackets share some words with a gold bracket, but neither contains the other."""
    spans = {(begin, end) for _, begin, end in gold}
    return sum(
        count for (_, b, e), count in predicted.items() if any(b < i < e < j or i < b < j < e for i, j in spans)
    )


def outcomes(gold: Sequence[Node], predicted: Sequence[Node], path: str = "") -> InstanceCounts:
    """Return the counts of every sentence, in the order of `COUNTS`; then the same of sentences of up to `SHORT` words.

    A sentence whose trees have different numbers of words is an error: it counts as such and nowhere else.

    Raises
    ------
    DataError
        Different numbers of trees.
    """
    if len(gold) != len(predicted):
        message = f"{len(predicted)} predicted trees for {len(gold)} sentences: predict this file."
        raise DataError(path or "trees", None, message)
    table = np.array([_counts(*trees) for trees in zip(gold, predicted, strict=True)], np.int64).reshape(-1, len(COUNTS))
    short = np.array([len(words_of(tree)) <= SHORT for tree in gold], bool)
    return InstanceCounts.of_table(np.concatenate([table, table * short[:, None]], axis=1), _scores)


def _counts(gold: Node, predicted: Node) -> tuple[int, ...]:
    words = words_of(gold)
    if len(words) != len(words_of(predicted)):
        return (1, 1, *[0] * (len(COUNTS) - 2))
    kept = [label_of(leaf.label) not in PUNCTUATION for leaf in words]
    right, guess = brackets_of(gold, kept), brackets_of(predicted, kept)
    matched = (right.brackets & guess.brackets).total()
    complete = matched == right.brackets.total() == guess.brackets.total()
    crossed = crossing(guess.brackets, right.brackets)
    tags = sum(map(str.__eq__, right.tags, guess.tags))
    return (1, 0, matched, guess.brackets.total(), right.brackets.total(), complete, crossed, crossed == 0, len(right.tags), tags)


def _scores(totals: Array) -> dict[str, float]:
    every, short = (dict(zip(COUNTS, half.tolist(), strict=True)) for half in np.split(totals, 2))
    scores = {name: value for name, value in _half(every).items()}
    return scores | {f"{name}_40": value for name, value in _half(short).items() if short["sentences"]}


def _half(n: dict[str, float]) -> dict[str, float]:
    valid = n["sentences"] - n["errors"]
    return {
        "bracket_f1": _share(2 * n["right"], n["predicted"] + n["gold"]),
        "bracket_precision": _share(n["right"], n["predicted"]),
        "bracket_recall": _share(n["right"], n["gold"]),
        "complete_match": _share(n["complete"], valid),
        "crossing": _share(n["crossing"], valid),
        "no_crossing": _share(n["without_crossing"], valid),
        "tag_accuracy": _share(n["tags"], n["words"]),
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
