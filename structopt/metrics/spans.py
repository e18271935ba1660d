"""Entity precision, recall and F1 as the CoNLL shared tasks' script conlleval defines them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.metrics.outcomes import FOUND, GOLD, RIGHT, Outcomes, classes_of

Span = tuple[int, int, str]


@dataclass(frozen=True)
class Counts:
    """Numbers of entities: `correct` (same start, end and type), `predicted` and `gold`."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Correct / predicted, or 0."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Correct / gold, or 0."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean 2·correct / (predicted + gold), or 0."""
        return 2 * self.correct / (self.predicted + self.gold) if self.predicted + self.gold else 0.0


def spans(tags: Sequence[str]) -> list[Span]:
    """Return the entities ``(start, end, type)``, end exclusive, of one sentence, in order, by conlleval's rules.

    An entity starts at B, S or a bracket, at a change of type, and at an I or E that follows O, E or S; it ends before the
    next start and before O. Tags without a hyphen other than B, I, E, S and brackets (plain labels) make no entity.
    """
    found: list[Span] = []
    start, before, kind = -1, "O", ""
    for position, tag in enumerate(tags):
        if tag == "O" and before == "O":
            continue
        prefix, _, now = tag.partition("-")
        opens = _starts(before, prefix, kind, now)
        if start >= 0 and (opens or _ends(before, prefix, kind, now)):
            found.append((start, position, kind))
            start = -1
        if opens:
            start = position
        before, kind = prefix, now
    if start >= 0:
        found.append((start, len(tags), kind))
    return found


def entities(tags: Sequence[str]) -> set[Span]:
    """Return the set of entities ``(start, end, type)``, end exclusive, of one sentence; the rules of `spans`."""
    return set(spans(tags))


def count(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Counts]:
    """Return the counts of each entity type met in either, by name.

    Raises
    ------
    ValueError
        Different numbers of sentences, or of tags in a sentence.
    """
    kinds, found = _entity_outcomes(gold, predicted)
    return _counts(kinds, found.totals())


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


def outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Outcomes:
    """What every sentence adds to the scores: tokens, right ones, and of each entity type those correct, predicted and gold."""
    return _entity_outcomes(gold, predicted)[1]


def token_outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Outcomes:
    """What every sentence adds to the accuracy, where labels are no tags: tokens, and right ones."""
    return Outcomes.of_table(_token_counts(gold, predicted), lambda totals: {"accuracy": _accuracy(totals)})


def report(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> str:
    """Return conlleval's table as text, in per cent: precision, recall, F1 and counts, over all and of each type."""
    kinds, found = _entity_outcomes(gold, predicted)
    totals = found.totals()
    counts = _counts(kinds, totals)
    total, tokens = _total(counts), int(totals[0])
    width = max([len("accuracy"), *map(len, counts)])
    lines = [
        f"processed {tokens} tokens with {total.gold} phrases; found: {total.predicted} phrases; correct: {total.correct}.",
        f"{'accuracy':>{width}}: {100 * _accuracy(totals):6.2f}%; {_percentages(total)}",
    ]
    lines += [f"{kind:>{width}}: {_percentages(c)}  {c.predicted} found, {c.gold} gold" for kind, c in counts.items()]
    return "\n".join(lines) + "\n"


def _starts(before: str, prefix: str, kind: str, now: str) -> bool:
    if prefix in ("B", "S", "[", "]"):
        return True
    if prefix in ("I", "E") and before in ("O", "E", "S"):
        return True
    return prefix not in ("O", ".") and kind != now


def _ends(before: str, prefix: str, kind: str, now: str) -> bool:
    return prefix == "O" or before in ("E", "S", "[", "]") or (before not in ("O", ".") and kind != now)


def _same_lengths(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold sentences, but {len(predicted)} predicted ones")
    for number, (first, second) in enumerate(zip(gold, predicted, strict=True)):
        if len(first) != len(second):
            raise ValueError(f"sentence {number} has {len(first)} gold tags, but {len(second)} predicted ones")


def _entity_outcomes(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> tuple[list[str], Outcomes]:
    """The entity types met in either, sorted, and the outcomes."""
    table, met = _token_counts(gold, predicted), _Events()
    for sentence, tags in enumerate(zip(gold, predicted, strict=True)):
        wanted, found = map(spans, tags)
        met.add(sentence, set(wanted).intersection(found), RIGHT)
        met.add(sentence, found, FOUND)
        met.add(sentence, wanted, GOLD)
    kinds = sorted(set(met.kinds))
    return kinds, Outcomes.of_classes(table, met.arrays(kinds), len(kinds), partial(_scores, kinds))


class _Events:
    """Entities as they are met: sentence, type, and whether they are right, found or gold."""

    def __init__(self) -> None:
        self.sentences: list[int] = []
        self.kinds: list[str] = []
        self.which: list[int] = []

    def add(self, sentence: int, found: Collection[Span], which: int) -> None:
        self.kinds += [span[2] for span in found]
        self.sentences += [sentence] * len(found)
        self.which += [which] * len(found)

    def arrays(self, kinds: Sequence[str]) -> tuple[Array, Array, Array]:
        numbers = {kind: number for number, kind in enumerate(kinds)}
        columns = self.sentences, [numbers[kind] for kind in self.kinds], self.which
        return tuple(np.array(column, np.int64) for column in columns)  # type: ignore[return-value]


def _token_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Array:
    """Tokens and right ones of every sentence, shape (sentences, 2)."""
    _same_lengths(gold, predicted)
    pairs = [(len(first), sum(map(str.__eq__, first, second))) for first, second in zip(gold, predicted, strict=True)]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _scores(kinds: Sequence[str], totals: Array) -> dict[str, float]:
    counts = _counts(kinds, totals)
    total = _total(counts)
    metrics = {"precision": total.precision, "recall": total.recall, "f1": total.f1, "accuracy": _accuracy(totals)}
    for kind, of_kind in counts.items():
        metrics |= {f"precision_{kind}": of_kind.precision, f"recall_{kind}": of_kind.recall, f"f1_{kind}": of_kind.f1}
    return metrics


def _counts(kinds: Sequence[str], totals: Array) -> dict[str, Counts]:
    rows = classes_of(totals, 2).astype(np.int64).tolist()
    return {kind: Counts(*row) for kind, row in zip(kinds, rows, strict=True) if any(row)}


def _accuracy(totals: Array) -> float:
    tokens, right = totals[:2].tolist()
    return right / tokens if tokens else 0.0


def _total(counts: Mapping[str, Counts]) -> Counts:
    return Counts(*(sum(getattr(c, name) for c in counts.values()) for name in ("correct", "predicted", "gold")))


def _percentages(counts: Counts) -> str:
    return f"precision: {100 * counts.precision:6.2f}%; recall: {100 * counts.recall:6.2f}%; FB1: {100 * counts.f1:6.2f}"
