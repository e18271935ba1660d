"""Scores of constituent trees, by the rules of EVALB (Sekine and Collins) with the parameters that
the field uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from structopt.errors import DataError
from structopt.formats.trees.penn import EMPTY, Node, bare_label, words_of
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts

COLLINS = frozenset({",", ":", "``", "''", "."})
"""Tags whose words are left out by the parameter file of Collins (1997)."""
PUNCTUATION = COLLINS | {"?", "!"}
"""The same of the newer parameter file. The Penn Treebank tags ``?`` and ``!`` as ``.``, so that
its scores are the same.
"""
ROOTS = frozenset({"", "TOP", "S1", "ROOT"})
"""Labels that are not brackets, at any node. The parameter file of Collins deletes ``TOP`` only;
with it, EVALB counts roots ``S1`` and ``ROOT`` as brackets, which are right in every sentence.
"""
EQUAL = {"PRT": "ADVP"}
"""Labels that count as another one."""
SHORT = 40
"""Words of the longest sentence that the second half of the scores counts."""
COUNTS = (
    "sentences",
    "errors",
    "right",
    "predicted",
    "gold",
    "complete",
    "crossing",
    "without_crossing",
    "words",
    "tags",
)

TITLES = {
    "bracket_f1": "labelled brackets (F1)",
    "bracket_precision": "precision",
    "bracket_recall": "recall",
    "complete_match": "whole trees",
    "crossing": "crossing brackets a sentence",
    "no_crossing": "sentences without any",
    "tag_accuracy": "tags",
}
"""Scores of the table."""


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
    """A label as it is compared: without function tags, and the other one where two are equal."""
    label = bare_label(text)
    return EQUAL.get(label, label)


def brackets_of(tree: Node, kept: Sequence[bool]) -> Brackets:
    """The brackets over the words that are `kept`, a mark for each that is no empty element;
    constituents without any vanish.
    """
    brackets: Counter[tuple[str, int, int]] = Counter()
    tags: list[str] = []
    word = 0
    # a constituent, and where it begins once its words are counted
    stack: list[tuple[Node, int]] = [(tree, -1)]
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
    """How many predicted brackets share some words with a gold bracket, but neither contains the
    other.
    """
    spans = {(begin, end) for _, begin, end in gold}
    return sum(
        count
        for (_, b, e), count in predicted.items()
        if any(b < i < e < j or i < b < j < e for i, j in spans)
    )


def outcomes(
    gold: Sequence[Node],
    predicted: Sequence[Node],
    path: str = "",
    punctuation: Collection[str] = PUNCTUATION,
) -> InstanceCounts:
    """Return the counts of every sentence, in the order of `COUNTS`; then the same of sentences of
    up to `SHORT` words.

    A sentence whose trees have different numbers of words is an error: it counts as such and
    nowhere else. Words are counted with punctuation, and without empty elements.

    Parameters
    ----------
    gold, predicted : sequence of Node, of equal length
    path : str
        The file of the gold trees, for errors.
    punctuation : collection of str
        Words that have one of these tags in gold are left out of both trees, and constituents of
        nothing else with them.

    Raises
    ------
    DataError
        Different numbers of trees.
    """
    if len(gold) != len(predicted):
        message = f"{len(predicted)} predicted trees for {len(gold)} sentences: predict this file."
        raise DataError(path or "trees", None, message)
    counts = [_counts(*trees, punctuation) for trees in zip(gold, predicted, strict=True)]
    table = np.array(counts, np.int64).reshape(-1, len(COUNTS))
    short = np.array([len(words_of(tree)) <= SHORT for tree in gold], bool)
    return InstanceCounts.of_table(np.concatenate([table, table * short[:, None]], axis=1), _scores)


def _counts(gold: Node, predicted: Node, punctuation: Collection[str]) -> tuple[int, ...]:
    """The counts of a sentence."""
    words = words_of(gold)
    if len(words) != len(words_of(predicted)):
        return (1, 1, *[0] * (len(COUNTS) - 2))
    kept = [label_of(leaf.label) not in punctuation for leaf in words]
    right, guess = brackets_of(gold, kept), brackets_of(predicted, kept)
    matched = (right.brackets & guess.brackets).total()
    complete = matched == right.brackets.total() == guess.brackets.total()
    crossed = crossing(guess.brackets, right.brackets)
    tags = sum(map(str.__eq__, right.tags, guess.tags))
    return (
        1,
        0,
        matched,
        guess.brackets.total(),
        right.brackets.total(),
        complete,
        crossed,
        crossed == 0,
        len(right.tags),
        tags,
    )


def _halves(totals: Array) -> tuple[dict[str, float], dict[str, float]]:
    """The totals by name: of all sentences, and of those of up to `SHORT` words."""
    every, short = (dict(zip(COUNTS, half.tolist(), strict=True)) for half in np.split(totals, 2))
    return every, short


def _scores(totals: Array) -> dict[str, float]:
    every, short = _halves(totals)
    return _half(every) | {
        f"{name}_40": value for name, value in _half(short).items() if short["sentences"]
    }


def _half(n: dict[str, float]) -> dict[str, float]:
    """Scores of named totals."""
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


def _share(count: float, total: float) -> float:
    """The fraction count / total; 0 of none."""
    return count / total if total else 0.0


def table(counts: InstanceCounts) -> str:
    """Return the scores as text, in per cent: those of all sentences, and of sentences of up to
    `SHORT` words.
    """
    halves = _halves(counts.totals())
    columns = [_half(n) for n in halves]
    lines = [f"{'':28}  {'all':>8}  up to {SHORT} words"]
    for name, title in (("sentences", "sentences"), ("errors", "left out: other words")):
        lines.append(f"{title:<28}  {halves[0][name]:8.0f}  {halves[1][name]:14.0f}")
    for name, title in TITLES.items():
        times = 1 if name == "crossing" else 100
        lines.append(
            f"{title:<28}  {times * columns[0][name]:8.2f}  {times * columns[1][name]:14.2f}"
        )
    return "\n".join(lines) + "\n"
