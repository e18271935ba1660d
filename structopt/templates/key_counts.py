"""Counts of keys that come in pieces: the same distinct keys as of all of them at once."""

from __future__ import annotations

import numpy as np

from structopt.kernels.waist.record import Array


class KeyCounts:
    """How often each key occurs; memory grows with the distinct keys alone.

    Keys of pieces are merged when they are as many as those merged before, so that all merging is O(n log n).
    """

    def __init__(self) -> None:
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._waiting: list[tuple[Array, Array]] = []
        self._size = 0

    def add(self, keys: Array) -> None:
        """Count keys, int64; negative ones are none."""
        self._take(*np.unique(keys[keys >= 0], return_counts=True))

    def merge(self, other: KeyCounts) -> None:
        """Take up what others have counted."""
        other._merge()
        self._take(other._keys, other._counts)

    def frequent(self, least: int) -> Array:
        """Return the keys that occur at least so often, sorted; int64."""
        self._merge()
        return self._keys[self._counts >= least]

    def _take(self, distinct: Array, counts: Array) -> None:
        """Let distinct keys wait, and merge if many wait."""
        self._waiting.append((distinct, counts))
        self._size += len(distinct)
        if self._size > len(self._keys):
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        self._keys = keys[first]
        self._counts = np.add.reduceat(counts, first) if len(first) else counts
        self._waiting, self._size = [], 0
