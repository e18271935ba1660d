"""The layout of weights in rows: one row per attribute, one part group after the other.

Most attributes of a large corpus are rare and occur with one configuration or two, and only the
weights for these may move. Whole rows for them are mostly zeros, which fill memory and caches: with
100 copies of the shipped corpus 32 of 38 million weights. So attributes of which few weights may
move have *single weights* instead of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from structopt.kernels.waist.record import Array

# weights of rows that stay in a cache, 1 MB: those of the first attributes, which mostly are the
# most frequent
NEAR = 1 << 17
SHARE = 3  # an attribute behind these has a row if more than one in so many of its weights may move
NARROWEST = 4  # configurations of groups whose attributes may have single weights


@dataclass(frozen=True)
class RowGroup:
    """The weights of one part group: of `size` attributes, each for `width` configurations.

    Attributes
    ----------
    singles : bool
        Whether attributes of which few weights may move have these alone. Otherwise every attribute
        has a row of weights.
    """

    name: str
    width: int
    size: int
    singles: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Places:
    """The layout of the weights of one group in a vector: first the rows, then the single weights.

    An attribute of which no weight may move has none, unless all attributes have rows.

    Attributes
    ----------
    group : RowGroup
    start : int
        Index of the first weight.
    rows : int64 vector, or None
        The attributes that have rows, ascending; None: all.
    singles, configurations : int64 vectors
        The attribute and the configuration of each single weight, in ascending order.
    """

    group: RowGroup
    start: int
    rows: Array | None
    singles: Array
    configurations: Array

    @classmethod
    def of(cls, group: RowGroup, start: int, support: Array | None) -> Places:
        """Lay out a group, given which of its (attribute, configuration) pairs may move; None:
        all.
        """
        none = np.zeros(0, np.int64)
        if support is None or not group.singles or group.width < NARROWEST:
            return cls(group, start, None, none, none)
        pairs = support.reshape(group.size, group.width)
        counts = np.count_nonzero(pairs, axis=1)
        most = np.where(np.arange(group.size) * group.width < NEAR, 1, max(1, group.width // SHARE))
        few = np.flatnonzero((counts > 0) & (counts <= most))
        which, configurations = np.nonzero(pairs[few])
        return cls(group, start, np.flatnonzero(counts > most), few[which], configurations)

    @property
    def row_count(self) -> int:
        """How many attributes have rows."""
        return self.group.size if self.rows is None else len(self.rows)

    @cached_property
    def most_singles(self) -> int:
        """The most single weights that an attribute has."""
        return int(np.unique(self.singles, return_counts=True)[1].max(initial=0))

    @cached_property
    def row_begins(self) -> Array | None:
        """Offsets of the attributes among all rows, int32, shape (size + 1,); None: attribute a has
        row a.
        """
        return None if self.rows is None else self._begins(self.rows)

    @cached_property
    def single_begins(self) -> Array:
        """Offsets of the attributes among the single weights, int32, shape (size + 1,)."""
        return self._begins(self.singles)

    @cached_property
    def configuration_ids(self) -> Array:
        """The configuration of each single weight, int32."""
        return self.configurations.astype(np.int32)

    def _begins(self, owners: Array) -> Array:
        return np.searchsorted(owners, np.arange(self.group.size + 1)).astype(np.int32)

    @property
    def behind_rows(self) -> int:
        """Index of the first single weight."""
        return self.start + self.row_count * self.group.width

    @property
    def end(self) -> int:
        """Index behind the last weight."""
        return self.behind_rows + len(self.singles)

    def table(self, array: Array, absent: float = 0) -> Array:
        """What an array over the weights has of this group, shape (attributes, configurations): a
        view, if all have rows.

        It is `absent` where there is no weight.
        """
        rows = array[self.start : self.behind_rows].reshape(self.row_count, self.group.width)
        if self.rows is None:
            return rows
        table = np.full((self.group.size, self.group.width), absent, array.dtype)
        table[self.rows] = rows
        table[self.singles, self.configurations] = array[self.behind_rows : self.end]
        return table

    def fill(self, array: Array, table: Array) -> None:
        """Undo `table`; numbers without a weight are left out."""
        array[self.start : self.behind_rows] = (
            table if self.rows is None else table[self.rows]
        ).ravel()
        array[self.behind_rows : self.end] = table[self.singles, self.configurations]


def lay_out(groups: Sequence[RowGroup], support: Array | None) -> list[Places]:
    """Lay out groups one behind the other, given which pairs may move, group by group, and
    attribute by attribute; None: all.
    """
    places: list[Places] = []
    for group, (begin, end) in zip(groups, pairwise(starts_of(groups)), strict=True):
        start = places[-1].end if places else 0
        places.append(Places.of(group, start, None if support is None else support[begin:end]))
    return places


def starts_of(groups: Sequence[RowGroup]) -> list[int]:
    """Offsets of the pairs of each group, shape (groups + 1,)."""
    return [0, *np.cumsum([group.width * group.size for group in groups]).tolist()]
