"""Counts of keys that come in pieces, and where each occurs first: the same as of all of them at
once.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.templates.numbering import Occurrences


class KeyCounts:
    """How often each key occurs, and at which token first; memory grows with the distinct keys
    alone.

    Keys of pieces are merged when they are as many as those merged before, so that all merging is
    O(n log n).
    """

    def __init__(self) -> None:
        none = np.zeros(0, np.int64)
        self._keys, self._found = none, Occurrences(none, none)
        self._waiting: list[tuple[Array, Occurrences]] = []
        self._size = self._tokens = 0

    def add(self, keys: Array) -> None:
        """Count the keys of tokens behind those before, int64; a negative one is none."""
        distinct, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
        some = distinct >= 0
        self._take(distinct[some], Occurrences(counts[some], firsts[some]), len(keys))

    def merge(self, other: KeyCounts) -> None:
        """Take up what others have counted, of tokens behind those before."""
        other._merge()
        self._take(other._keys, other._found, other._tokens)

    def frequent(self, least: int) -> Array:
        """Return the keys that occur at least so often, sorted; int64."""
        self._merge()
        return self._keys[self._found.counts >= least]

    def occurrences(self, keys: Array) -> Occurrences:
        """Return those of distinct keys, whether they occur or not."""
        self._merge()
        counts, firsts = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        _, here, there = np.intersect1d(keys, self._keys, assume_unique=True, return_indices=True)
        counts[here], firsts[here] = self._found.counts[there], self._found.firsts[there]
        return Occurrences(counts, firsts)

    def _take(self, distinct: Array, found: Occurrences, tokens: int) -> None:
        """Let distinct keys of so many further tokens wait, and merge if many wait."""
        self._waiting.append((distinct, found._replace(firsts=found.firsts + self._tokens)))
        self._size, self._tokens = self._size + len(distinct), self._tokens + tokens
        if self._size > len(self._keys):
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts, firsts = Occurrences.joined([self._found, *(found for _, found in self._waiting)])
        order = np.argsort(keys, kind="stable")
        keys, counts, firsts = keys[order], counts[order], firsts[order]
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        self._keys = keys[first]
        if len(first):  # of equal keys the one that was counted first stands first
            counts, firsts = np.add.reduceat(counts, first), firsts[first]
        self._found, self._waiting, self._size = Occurrences(counts, firsts), [], 0
