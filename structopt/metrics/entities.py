"""Entity precision, recall and F1 as the CoNLL shared tasks' script conlleval defines them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np

from structopt.formats.tag_schemes import Span, spans
from structopt.kernels.waist.record import Array
from structopt.metrics.f1 import ClassCounts, class_counts, class_table
from structopt.metrics.instance_counts import GOLD, PREDICTED, RIGHT, InstanceCounts


def score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return ``precision``, ``recall``, ``f1`` over entities, ``accuracy`` over tokens, and the first three as ``f1_PER`` etc.

    Fractions in [0, 1]; 0/0 is 0. `gold` and `predicted` must be in one scheme for the accuracy to mean something; the
    entity scores do not depend on it.

    Raises
    ------
    ValueError
        Different numbers of sentences, or of tags in a sentence.
    """
    return outcomes(gold, predicted).scores()


def outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> InstanceCounts:
    """Return the counts of every sentence: tokens, right ones, and right, predicted and gold entities of each type."""
    return _entity_outcomes(gold, predicted)[1]


def token_outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> InstanceCounts:
    """Return the counts of every sentence for the accuracy of labels that are no tags: tokens, and right ones."""
    return InstanceCounts.of_table(_token_counts(gold, predicted), lambda totals: {"accuracy": _accuracy(totals)})


def report(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> str:
    """Return conlleval's table as text, in per cent: precision, recall, F1 and counts, over all and of each type."""
    kinds, outcomes = _entity_outcomes(gold, predicted)
    totals = outcomes.totals()
    counts = _counts(kinds, totals)
    total, tokens = _total(counts.values()), int(totals[0])
    width = max([len("accuracy"), *map(len, counts)])
    lines = [
        f"processed {tokens} tokens with {total.gold} phrases; found: {total.predicted} phrases; correct: {total.right}.",
        f"{'accuracy':>{width}}: {100 * _accuracy(totals):6.2f}%; {_percentages(total)}",
    ]
    lines += [f"{kind:>{width}}: {_percentages(c)}  {c.predicted} found, {c.gold} gold" for kind, c in counts.items()]
    return "\n".join(lines) + "\n"


def _check_lengths(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold sentences, but {len(predicted)} predicted ones")
    for number, (first, second) in enumerate(zip(gold, predicted, strict=True)):
        if len(first) != len(second):
            raise ValueError(f"sentence {number} has {len(first)} gold tags, but {len(second)} predicted ones")


def _entity_outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> tuple[list[str], InstanceCounts]:
    """The entity types of gold and predicted tags, sorted, and the counts of every sentence."""
    table, events = _token_counts(gold, predicted), _Events()
    for sentence, tags in enumerate(zip(gold, predicted, strict=True)):
        gold_spans, predicted_spans = map(spans, tags)
        events.add(sentence, set(gold_spans).intersection(predicted_spans), RIGHT)
        events.add(sentence, predicted_spans, PREDICTED)
        events.add(sentence, gold_spans, GOLD)
    kinds = sorted(set(events.kinds))
    return kinds, InstanceCounts.of_classes(table, events.arrays(kinds), len(kinds), partial(_scores, kinds))


class _Events:
    """Entities, one after another: sentence, type, and whether they are right, predicted or gold."""

    def __init__(self) -> None:
        self.sentences: list[int] = []
        self.kinds: list[str] = []
        self.which: list[int] = []

    def add(self, sentence: int, entities: Collection[Span], which: int) -> None:
        self.kinds += [kind for _, _, kind in entities]
        self.sentences += [sentence] * len(entities)
        self.which += [which] * len(entities)

    def arrays(self, kinds: Sequence[str]) -> tuple[Array, Array, Array]:
        numbers = {kind: number for number, kind in enumerate(kinds)}
        columns = self.sentences, [numbers[kind] for kind in self.kinds], self.which
        return tuple(np.array(column, np.int64) for column in columns)  # type: ignore[return-value]


def _token_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Array:
    """Tokens and right ones of every sentence, shape (sentences, 2)."""
    _check_lengths(gold, predicted)
    pairs = [(len(first), sum(map(str.__eq__, first, second))) for first, second in zip(gold, predicted, strict=True)]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _scores(kinds: Sequence[str], totals: Array) -> dict[str, float]:
    counts = _counts(kinds, totals)
    total = _total(counts.values())
    metrics = {"precision": total.precision, "recall": total.recall, "f1": total.f1, "accuracy": _accuracy(totals)}
    for kind, of_kind in counts.items():
        metrics |= {f"precision_{kind}": of_kind.precision, f"recall_{kind}": of_kind.recall, f"f1_{kind}": of_kind.f1}
    return metrics


def _counts(kinds: Sequence[str], totals: Array) -> dict[str, ClassCounts]:
    """Counts of the types of entity that occur."""
    return {kind: counts for kind, counts in zip(kinds, class_counts(class_table(totals, 2)), strict=True) if any(counts)}


def _accuracy(totals: Array) -> float:
    tokens, right = totals[:2].tolist()
    return right / tokens if tokens else 0.0


def _total(counts: Iterable[ClassCounts]) -> ClassCounts:
    return ClassCounts(*map(sum, zip((0, 0, 0), *counts, strict=True)))


def _percentages(counts: ClassCounts) -> str:
    return f"precision: {100 * counts.precision:6.2f}%; recall: {100 * counts.recall:6.2f}%; FB1: {100 * counts.f1:6.2f}"
