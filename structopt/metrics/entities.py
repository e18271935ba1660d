"""Entity precision, recall and F1 as the CoNLL shared tasks' script conlleval defines them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from structopt.formats.tag_schemes import as_tag
from structopt.kernels.waist.record import Array
from structopt.metrics.f1 import ClassCounts, class_counts, class_table
from structopt.metrics.instance_counts import GOLD, PREDICTED, RIGHT, InstanceCounts
from structopt.metrics.tag_numbers import TagNumbers


def score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return ``precision``, ``recall``, ``f1`` over entities, ``accuracy`` over tokens, and the
    first three as ``f1_PER`` etc.

    Fractions in [0, 1]; 0/0 is 0. `gold` and `predicted` must be in one scheme for the accuracy to
    mean something; the entity scores do not depend on it.

    Raises
    ------
    ValueError
        Different numbers of sentences, or of tags in a sentence.
    """
    return outcomes(gold, predicted).scores()


def outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> InstanceCounts:
    """Return the counts of every sentence: tokens, right ones, and right, predicted and gold
    entities of each type.
    """
    return _Compared(gold, predicted).entities()[1]


def label_outcomes(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> InstanceCounts:
    """Return the counts of `outcomes`; a plain label other than O counts as an entity of one token.

    They need no scheme, so that results on several parts of the data can be compared. The F1 of
    tags is that of `outcomes`; the F1 of plain labels without O is the accuracy.
    """
    return outcomes(
        [list(map(as_tag, sentence)) for sentence in gold],
        [list(map(as_tag, sentence)) for sentence in predicted],
    )


def token_outcomes(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> InstanceCounts:
    """Return the counts of every sentence for the accuracy of labels that are no tags: tokens, and
    right ones.
    """
    return InstanceCounts.of_table(
        _Compared(gold, predicted).tokens(), lambda totals: {"accuracy": _accuracy(totals)}
    )


def report(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> str:
    """Return conlleval's table as text, in per cent: precision, recall, F1 and counts, over all and
    of each type.
    """
    kinds, outcomes = _Compared(gold, predicted).entities()
    totals = outcomes.totals()
    counts = _counts(kinds, totals)
    total, tokens = _total(counts.values()), int(totals[0])
    width = max([len("accuracy"), *map(len, counts)])
    lines = [
        f"processed {tokens} tokens with {total.gold} phrases; found: {total.predicted} phrases; "
        f"correct: {total.right}.",
        f"{'accuracy':>{width}}: {100 * _accuracy(totals):6.2f}%; {_percentages(total)}",
    ]
    lines += [
        f"{kind:>{width}}: {_percentages(c)}  {c.predicted} found, {c.gold} gold"
        for kind, c in counts.items()
    ]
    return "\n".join(lines) + "\n"


def _check_lengths(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold sentences, but {len(predicted)} predicted ones")
    for number, (first, second) in enumerate(zip(gold, predicted, strict=True)):
        if len(first) != len(second):
            raise ValueError(
                f"sentence {number} has {len(first)} gold tags, but {len(second)} predicted ones"
            )


class _Compared:
    """Gold and predicted tags as numbers, with an ``O`` behind each sentence (`TagNumbers`)."""

    def __init__(self, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
        _check_lengths(gold, predicted)
        self.numbers = TagNumbers()
        self.gold, self.predicted = self.numbers.of(gold), self.numbers.of(predicted)
        self.lengths = np.fromiter(map(len, gold), np.int64, len(gold))
        self.starts = np.cumsum(self.lengths + 1) - self.lengths - 1

    def tokens(self) -> Array:
        """Tokens and right ones of every sentence, shape (sentences, 2)."""
        right = np.cumsum(self.gold == self.predicted)[self.starts + self.lengths]
        return np.column_stack([self.lengths, np.diff(right, prepend=0) - 1])

    def entities(self) -> tuple[list[str], InstanceCounts]:
        """The types of entity that are gold or predicted, sorted, and the counts of every
        sentence.
        """
        gold, predicted = self.numbers.entities(self.gold), self.numbers.entities(self.predicted)
        ends, kinds = np.zeros(len(self.gold), np.int64), np.zeros(len(self.gold), np.int64)
        ends[gold.starts], kinds[gold.starts] = gold.ends, gold.kinds
        right = (ends[predicted.starts] == predicted.ends) & (
            kinds[predicted.starts] == predicted.kinds
        )
        starts = np.concatenate([predicted.starts[right], predicted.starts, gold.starts])
        numbers = np.concatenate([predicted.kinds[right], predicted.kinds, gold.kinds])
        which = np.repeat(
            [RIGHT, PREDICTED, GOLD], [int(right.sum()), len(right), len(gold.starts)]
        )
        occurring, numbers = np.unique(numbers, return_inverse=True)
        kinds_of_tags = self.numbers.kinds
        names = [kinds_of_tags[number] for number in occurring.tolist()]
        events = np.searchsorted(self.starts, starts, side="right") - 1, numbers, which
        return names, InstanceCounts.of_classes(
            self.tokens(), events, len(names), partial(_scores, names)
        )


def _scores(kinds: Sequence[str], totals: Array) -> dict[str, float]:
    counts = _counts(kinds, totals)
    total = _total(counts.values())
    metrics = {
        "precision": total.precision,
        "recall": total.recall,
        "f1": total.f1,
        "accuracy": _accuracy(totals),
    }
    for kind, of_kind in counts.items():
        metrics |= {
            f"precision_{kind}": of_kind.precision,
            f"recall_{kind}": of_kind.recall,
            f"f1_{kind}": of_kind.f1,
        }
    return metrics


def _counts(kinds: Sequence[str], totals: Array) -> dict[str, ClassCounts]:
    """Counts of the types of entity that occur."""
    return {
        kind: counts
        for kind, counts in zip(kinds, class_counts(class_table(totals, 2)), strict=True)
        if any(counts)
    }


def _accuracy(totals: Array) -> float:
    tokens, right = totals[:2].tolist()
    return right / tokens if tokens else 0.0


def _total(counts: Iterable[ClassCounts]) -> ClassCounts:
    return ClassCounts(*map(sum, zip((0, 0, 0), *counts, strict=True)))


def _percentages(counts: ClassCounts) -> str:
    return (
        f"precision: {100 * counts.precision:6.2f}%; recall: {100 * counts.recall:6.2f}%; FB1: "
        f"{100 * counts.f1:6.2f}"
    )
