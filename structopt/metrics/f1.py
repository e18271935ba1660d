"""Precision, recall and F1 of classes, from their counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import GOLD, PREDICTED, RIGHT


class ClassCounts(NamedTuple):
    """Counts of a class: right predictions, all predictions, and gold labels."""

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Right / predicted, or 0 of none."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Right / gold, or 0 of none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 right / (predicted + gold), or 0 of none."""
        return 2 * self.right / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    def percentages(self) -> str:
        """Precision, recall and F1 in per cent, as cells of a table."""
        return f"{100 * self.precision:9.2f}  {100 * self.recall:6.2f}  {100 * self.f1:6.2f}"


def class_table(totals: Array, first: int) -> Array:
    """Return the counts of classes, shape (classes, 3), which follow `first` other counts in
    `InstanceCounts.totals`.
    """
    return totals[first:].reshape(-1, 3)


def class_counts(table: Array) -> list[ClassCounts]:
    """Return the rows of a table of shape (classes, 3)."""
    return [ClassCounts(*row) for row in table.astype(np.int64).tolist()]


def macro_f1(classes: Array) -> float:
    """Return the mean F1 of the classes that are gold or predicted somewhere; 0 of none.

    Precision and recall are combined class by class, and the F1s averaged; a class that is neither
    gold nor predicted has no F1.

    Parameters
    ----------
    classes : shape (classes, 3)
        Right, predicted and gold of each.
    """
    known = classes[classes[:, PREDICTED] + classes[:, GOLD] > 0]
    return (
        float((2.0 * known[:, RIGHT] / (known[:, PREDICTED] + known[:, GOLD])).mean())
        if len(known)
        else 0.0
    )
