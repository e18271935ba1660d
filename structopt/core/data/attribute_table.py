"""Attribute tables: which attributes every position has, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from structopt.kernels.waist.record import Array


class Entries(NamedTuple):
    """The attributes of the positions of a few instances.

    Attributes
    ----------
    ids : int32, shape (entries,)
        Their numbers; -1 for attributes that training data lack.
    values : shape (entries,), or None
        None: all are 1.
    counts : integers, shape (positions,)
        How many entries each position has.
    starts : list of int, of length instances + 1
        Instance i has the positions starts[i] <= t < starts[i + 1].
    """

    ids: Array
    values: Array | None
    counts: Array
    starts: list[int]


Size = tuple[int, int, bool]
"""How many entries and positions a few instances have, and whether a value is not 1."""


class EntryBuffers(NamedTuple):
    """Space for the entries of a few instances.

    Attributes
    ----------
    ids : int32, values : float64, shape (entries,)
    counts : int64, shape (positions,)
    starts : int64, shape (instances + 1,)
        See `Entries`.
    """

    ids: Array
    values: Array
    counts: Array
    starts: Array

    @classmethod
    def of(cls, entries: int, positions: int, instances: int) -> Self:
        """Allocate space for so many entries, positions and instances."""
        return cls(
            np.zeros(entries, np.int32),
            np.zeros(entries),
            np.zeros(positions, np.int64),
            np.zeros(instances + 1, np.int64),
        )

    def write(self, entries: Entries) -> Size:
        """Copy entries if there is space; return their size."""
        ids, values, counts, starts = entries
        size = len(ids), len(counts), values is not None
        if self.hold(size) and len(starts) <= len(self.starts):
            self.ids[: len(ids)] = ids
            self.counts[: len(counts)] = counts
            self.starts[: len(starts)] = starts
            if values is not None:
                self.values[: len(values)] = values
        return size

    def hold(self, size: Size) -> bool:
        """Whether there is space for so many entries and positions."""
        return size[0] <= len(self.ids) and size[1] <= len(self.counts)


EntryReader = Callable[[Sequence[Any], EntryBuffers], Size | None]
"""Reads the attributes of a few instances: `structopt.core.task.Task.entry_reader`."""


@dataclass(frozen=True)
class AttributeTable:
    """Sparse attributes of positions, as compressed rows.

    Attributes
    ----------
    offsets : int64, shape (positions + 1,)
        Where the attributes of each position begin and end in `ids`.
    ids : int32, shape (entries,)
        Attribute numbers, 0 <= id < size.
    values : float64, shape (entries,), or None
        Values of the attributes; None when every value is 1.
    size : int
        Number of distinct attributes.
    """

    offsets: Array
    ids: Array
    values: Array | None
    size: int

    def occurring(self) -> Array:
        """The attributes that some position has, ascending, int64; O(entries + size)."""
        seen = np.zeros(self.size, bool)
        seen[self.ids] = True
        return np.flatnonzero(seen)

    def subset(self, first: int, last: int) -> AttributeTable:
        """The rows first <= p < last; ids and values are views."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        values = None if self.values is None else self.values[begin:end]
        return AttributeTable(
            self.offsets[first : last + 1] - begin, self.ids[begin:end], values, self.size
        )
