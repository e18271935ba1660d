"""Scores of predicted selections: counts of every instance, and metrics of their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structopt.plugin import Array
from structopt_knapsack.reading import Knapsack

RIGHT, SELECTED, GOLD, AGREED, ITEMS, SAME, ONE, FILLED, COUNTS = range(9)
"""Columns of the counts: items that are selected and gold, selected, gold; items on which
prediction and gold agree, all items; whether the selections are equal, 1 for every instance; the
fraction of the budget that is used; the number of columns.
"""


@dataclass(frozen=True)
class SelectionOutcomes:
    """Counts of every instance, shape (instances, COUNTS)."""

    table: Array

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.table)

    def scores(self, times: Array | None = None) -> dict[str, float]:
        """Scores of the corpus in which instance i occurs ``times[i]`` times.

        Precision, recall and F1 of the selected items; ``accuracy``: the fraction of items on which
        prediction and gold agree; ``exact``: the fraction of selections that equal the gold ones;
        ``filled``: the mean fraction of the budget that is used. 0/0 is 0.
        """
        total = self.table.sum(axis=0) if times is None else times @ self.table
        precision, recall = _ratio(total[RIGHT], total[SELECTED]), _ratio(total[RIGHT], total[GOLD])
        return {
            "f1": _ratio(2 * total[RIGHT], total[SELECTED] + total[GOLD]),
            "precision": precision,
            "recall": recall,
            "accuracy": _ratio(total[AGREED], total[ITEMS]),
            "exact": _ratio(total[SAME], total[ONE]),
            "filled": _ratio(total[FILLED], total[ONE]),
        }


def outcomes(gold: Sequence[Knapsack], predicted: Sequence[Sequence[int]]) -> SelectionOutcomes:
    """Compare predicted selections, as lists of item numbers, with the gold ones."""
    table = np.zeros((len(gold), COUNTS))
    for row, instance, chosen in zip(table, gold, map(set, predicted), strict=True):
        right, items = set(instance.selected or ()), len(instance.weights)
        row[[RIGHT, SELECTED, GOLD, ITEMS, ONE]] = (
            len(right & chosen),
            len(chosen),
            len(right),
            items,
            1,
        )
        row[AGREED], row[SAME] = items - len(right ^ chosen), right == chosen
        weight = sum(instance.weights[j] for j in chosen)
        row[FILLED] = min(1.0, weight / instance.budget) if instance.budget else 1.0
    return SelectionOutcomes(table)


def report(scores: dict[str, float], instances: int) -> str:
    """Scores as a table to read, in per cent."""
    lines = [f"{instances} instances"] + [
        f"{name:>10}  {100 * value:6.2f}" for name, value in scores.items()
    ]
    return "\n".join(lines) + "\n"


def _ratio(count: float, total: float) -> float:
    return float(count / total) if total else 0.0
