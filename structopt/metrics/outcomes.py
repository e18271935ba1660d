"""What the output of each instance adds to the counts that scores are made of, so that scores of any resample are quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structopt.kernels.waist.record import Array

RIGHT, FOUND, GOLD = range(3)
"""The counts of a class, in their order."""


@dataclass(frozen=True)
class Outcomes:
    """Sparse counts of every instance, and the scores that their totals come to.

    All scores of a corpus are functions of sums over its instances: an F1 of how many are right, found and gold, an accuracy
    of how many are right and how many there are. Most instances add to few of the sums (a sentence has few types of entity),
    so entries are kept instead of a table; entries of the same place add up.

    Attributes
    ----------
    size, counts : int
        Numbers of instances and of counts.
    rows, columns : int64, shape (entries,)
        Instance and count of each entry.
    values : float64, shape (entries,)
    scores_of : callable
        Totals, float64 of shape (counts,), to scores.
    """

    size: int
    counts: int
    rows: Array
    columns: Array
    values: Array
    scores_of: Callable[[Array], dict[str, float]]

    @classmethod
    def of_table(cls, table: Array, scores_of: Callable[[Array], dict[str, float]]) -> Outcomes:
        """Outcomes from a table of counts, shape (instances, counts)."""
        rows, columns = np.nonzero(table)
        instances, counts = table.shape
        return cls(instances, counts, rows, columns, table[rows, columns].astype(np.float64), scores_of)

    @classmethod
    def of_classes(
        cls, table: Array, events: tuple[Array, Array, Array], classes: int, scores_of: Callable[[Array], dict[str, float]]
    ) -> Outcomes:
        """Outcomes from a table of counts, and behind them three counts a class.

        Parameters
        ----------
        table : shape (instances, n)
        events : instances, classes, and which of ``RIGHT``, ``FOUND``, ``GOLD``; int64, shape (events,)
            What happened: each event adds one to the count n + 3 class + which.
        classes : int
        scores_of : callable
            Totals, float64 of shape (n + 3 classes,), to scores; see `classes_of`.
        """
        (m, n), (rows, numbers, which) = table.shape, events
        counts = n + 3 * classes
        columns = n + 3 * numbers + which
        if m * counts <= len(rows):  # many events an instance, as of the cells of an image: a table is smaller
            whole = np.bincount(rows * counts + columns, minlength=m * counts).reshape(m, counts)
            whole[:, :n] = table
            return cls.of_table(whole, scores_of)
        first = cls.of_table(table, scores_of)
        return cls(
            m, counts, np.append(first.rows, rows), np.append(first.columns, columns),
            np.append(first.values, np.ones(len(rows))), scores_of,
        )  # fmt: skip

    def __len__(self) -> int:
        """Number of instances."""
        return self.size

    def totals(self, times: Array | None = None) -> Array:
        """Sums over the instances, each counted `times` often (shape (instances,)), or once; O(entries)."""
        weights = self.values if times is None else self.values * times[self.rows]
        return np.bincount(self.columns, weights, minlength=self.counts)

    def scores(self, times: Array | None = None) -> dict[str, float]:
        """Scores of the corpus in which every instance stands `times` often, or once."""
        return self.scores_of(self.totals(times))


def label_events(owner: Array, gold: Array, found: Array) -> tuple[Array, Array, Array]:
    """Events of variables that have one label each: instance, gold and found label of each, shape (variables,)."""
    right = gold == found
    rows, numbers = np.concatenate([owner[right], owner, owner]), np.concatenate([gold[right], found, gold])
    return rows, numbers, np.repeat([RIGHT, FOUND, GOLD], [int(right.sum()), len(found), len(gold)])


def classes_of(totals: Array, first: int) -> Array:
    """Counts of the classes, shape (classes, 3), that stand behind `first` other counts."""
    return totals[first:].reshape(-1, 3)


def macro_f1(classes: Array) -> float:
    """Mean F1 of the classes that are gold or found somewhere; 0 of none.

    Precision and recall are combined class by class, and the F1s averaged; a class that is neither gold nor found has no F1.
    """
    there = classes[classes[:, FOUND] + classes[:, GOLD] > 0]
    return float((2.0 * there[:, RIGHT] / (there[:, FOUND] + there[:, GOLD])).mean()) if len(there) else 0.0
