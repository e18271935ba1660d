"""A corpus of items, weights and budgets as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from structopt.plugin import Array
from structopt.plugin.provisional import Encoded


@dataclass(frozen=True, kw_only=True)
class EncodedKnapsacks(Encoded):
    """One variable an item: whether it is selected.

    The table ``item`` has one row an item, and `gold` is 1 for the items that are selected, else 0.

    Attributes
    ----------
    weights : int64, shape (items,)
        Of the items, at least 0.
    budgets : int64, shape (instances,)
        Largest total weight of the selected items of each instance.
    """

    weights: Array
    budgets: Array

    def subset(self, first: int, last: int) -> Self:
        """The instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return replace(
            self,
            offsets=self.offsets[first : last + 1] - begin,
            tables={name: table.subset(begin, end) for name, table in self.tables.items()},
            gold=None if self.gold is None else self.gold[begin:end],
            weights=self.weights[begin:end],
            budgets=self.budgets[first:last],
        )
