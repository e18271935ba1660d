"""How good predicted selections are: counts of every instance, and the scores that their sums come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structopt.plugin import Array
from structopt_knapsack.reading import Knapsack

RIGHT, FOUND, GOLD, AGREED, ITEMS, SAME, ONE, FILLED, COUNTS = range(9)
"""Items selected rightly, selected, and gold; items on which both agree, and all; selections that are the same, and all; and
the share of the budget that is used."""


@dataclass(frozen=True)
class SelectionOutcomes:
    """Counts of every instance, shape (instances, COUNTS)."""

    table: Array

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.table)

    def scores(self, times: Array | None = None) -> dict[str, float]:
        """Scores of the corpus in which instance i stands ``times[i]`` often.

        Precision, recall and F1 of the selected items; ``accuracy``: the share of items that are rightly in or out; ``exact``:
        of selections that are the gold ones; ``filled``: mean share of the budget that is used. 0/0 is 0.
        """
        total = self.table.sum(axis=0) if times is None else times @ self.table
        precision, recall = _ratio(total[RIGHT], total[FOUND]), _ratio(total[RIGHT], total[GOLD])
        return {
            "f1": _ratio(2 * total[RIGHT], total[FOUND] + total[GOLD]),
            "precision": precision,
            "recall": recall,
            "accuracy": _ratio(total[AGREED], total[ITEMS]),
            "exact": _ratio(total[SAME], total[ONE]),
            "filled": _ratio(total[FILLED], total[ONE]),
        }


def outcomes(gold: Sequence[Knapsack], predicted: Sequence[Sequence[int]]) -> SelectionOutcomes:
    """Compare predicted selections, as lists of item numbers, with the gold ones."""
    table = np.zeros((len(gold), COUNTS))
    for row, instance, found in zip(table, gold, map(set, predicted), strict=True):
        wanted, items = set(instance.selected or ()), len(instance.weights)
        row[[RIGHT, FOUND, GOLD, ITEMS, ONE]] = len(wanted & found), len(found), len(wanted), items, 1
        row[AGREED], row[SAME] = items - len(wanted ^ found), wanted == found
        weight = sum(instance.weights[j] for j in found)
        row[FILLED] = min(1.0, weight / instance.budget) if instance.budget else 1.0
    return SelectionOutcomes(table)


def report(scores: dict[str, float], instances: int) -> str:
    """Scores as a table to read, in per cent."""
    lines = [f"{instances} instances"] + [f"{name:>10}  {100 * value:6.2f}" for name, value in scores.items()]
    return "\n".join(lines) + "\n"


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
