"""The places of the instances of a corpus that have variables; empty instances are not predicted.

An empty instance, such as a sentence without tokens, has one output, the empty one, with score 0
and probability 1. Graphs and kernels never see it: `Encoded.without_empty` removes it from the
encoded corpus, and `Places.spread` puts its results back.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Places:
    """Indices of the instances with variables among all instances of a corpus.

    Attributes
    ----------
    count : int
        Number of all instances.
    indices : int64 array, or None
        Ascending; None if no instance is empty.
    """

    count: int
    indices: Array | None = None

    @classmethod
    def of(cls, offsets: Array) -> Places:
        """Return the places of the instances whose range in the variables is not empty."""
        lengths = np.diff(offsets)
        if lengths.all():
            return cls(len(lengths))
        return cls(len(lengths), np.flatnonzero(lengths))

    def spread(self, results: Iterable[Any], empty: Any) -> list[Any]:
        """Return one result per instance of the corpus.

        Parameters
        ----------
        results : iterable
            One result per instance with variables.
        empty : object
            The result of an empty instance, which is copied for each.

        Returns
        -------
        list
        """
        if self.indices is None:
            return list(results)
        everywhere: list[Any] = [None] * self.count
        for index in self.empty.tolist():
            everywhere[index] = copy(empty)
        for index, result in zip(self.indices.tolist(), results, strict=True):
            everywhere[index] = result
        return everywhere

    def index(self, instance: int) -> int | None:
        """Return the index of an instance among those with variables; None if it is empty."""
        if self.indices is None:
            return instance
        index = int(np.searchsorted(self.indices, instance))
        found = index < len(self.indices) and int(self.indices[index]) == instance
        return index if found else None

    def instance(self, index: int) -> int:
        """Return the index among all instances of one with variables: the inverse of `index`."""
        return index if self.indices is None else int(self.indices[index])

    @property
    def empty(self) -> Array:
        """Indices of the empty instances."""
        if self.indices is None:
            return np.zeros(0, np.int64)
        return np.setdiff1d(np.arange(self.count), self.indices)


def nonempty_offsets(offsets: Array) -> Array:
    """Return the offsets of the ranges that are not empty."""
    lengths = np.diff(offsets)
    return offsets if lengths.all() else np.concatenate([offsets[:1], offsets[1:][lengths > 0]])
