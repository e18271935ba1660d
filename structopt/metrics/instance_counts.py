"""Counts of every instance, whose sums scores are made of: the scores of a bootstrap sample are new
sums of the same counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structopt.kernels.waist.record import Array

RIGHT, PREDICTED, GOLD = range(3)
"""The counts of a class, in their order: right predictions, predictions, gold labels."""


@dataclass(frozen=True)
class InstanceCounts:
    """Counts of every instance, sparse, and the function from their totals to scores.

    All scores of a corpus are functions of sums over its instances: an F1 of how many labels are
    right, predicted and gold, an accuracy of how many are right and how many there are. Most counts
    of an instance are 0 (a sentence has few types of entity), so entries are kept instead of a
    table; entries of one instance and count add up.

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
    def of_table(
        cls, table: Array, scores_of: Callable[[Array], dict[str, float]]
    ) -> InstanceCounts:
        """Make them of a table of counts, shape (instances, counts)."""
        rows, columns = np.nonzero(table)
        instances, counts = table.shape
        return cls(
            instances, counts, rows, columns, table[rows, columns].astype(np.float64), scores_of
        )

    @classmethod
    def of_classes(
        cls,
        table: Array,
        events: tuple[Array, Array, Array],
        classes: int,
        scores_of: Callable[[Array], dict[str, float]],
    ) -> InstanceCounts:
        """Make them of a table of counts, and of events that are added up to three further counts
        for each class.

        Parameters
        ----------
        table : shape (instances, n)
        events : instances, classes, and which of ``RIGHT``, ``PREDICTED``, ``GOLD``; int64, shape
        (events,)
            Each event adds one to the count n + 3 class + which.
        classes : int
        scores_of : callable
            Totals, float64 of shape (n + 3 classes,), to scores; see `classes_of`.
        """
        (m, n), (rows, numbers, which) = table.shape, events
        counts = n + 3 * classes
        columns = n + 3 * numbers + which
        # so many events an instance, as for the cells of an image, that a table is smaller
        if m * counts <= len(rows):
            full = np.bincount(rows * counts + columns, minlength=m * counts).reshape(m, counts)
            full[:, :n] = table
            return cls.of_table(full, scores_of)
        first = cls.of_table(table, scores_of)
        return cls(
            m,
            counts,
            np.append(first.rows, rows),
            np.append(first.columns, columns),
            np.append(first.values, np.ones(len(rows))),
            scores_of,
        )

    def __len__(self) -> int:
        """Number of instances."""
        return self.size

    def totals(self, times: Array | None = None) -> Array:
        """Return the sums over the instances, each counted `times` times (shape (instances,)), or
        once; O(entries).
        """
        weights = self.values if times is None else self.values * times[self.rows]
        return np.bincount(self.columns, weights, minlength=self.counts)

    def scores(self, times: Array | None = None) -> dict[str, float]:
        """Return the scores of the corpus in which every instance occurs `times` times (shape
        (instances,)), or once.
        """
        return self.scores_of(self.totals(times))


def label_events(instances: Array, gold: Array, predicted: Array) -> tuple[Array, Array, Array]:
    """Return the events of variables with one label each, for `InstanceCounts.of_classes`.

    Parameters
    ----------
    instances, gold, predicted : int64, shape (variables,)
        The instance of each variable, the number of its gold label, and that of its predicted one.
    """
    right = gold == predicted
    rows, numbers = (
        np.concatenate([instances[right], instances, instances]),
        np.concatenate([gold[right], predicted, gold]),
    )
    return (
        rows,
        numbers,
        np.repeat([RIGHT, PREDICTED, GOLD], [int(right.sum()), len(predicted), len(gold)]),
    )
