"""How the attributes of templates are numbered: attributes that are read together have numbers side
by side.

Most of what a pass reads belongs to few attributes, and a rare word has one attribute of each
template that looks at it. Rows of weights stand in the order of the numbers: frequent ones stay in
the nearest caches, and those of a rare word share memory pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array

TOKENS = 1 << 40
"""No corpus has as many."""


class Occurrences(NamedTuple):
    """How often each of some attributes occurs, int64, 0 for those that do not; and the first token
    that has it, int64.
    """

    counts: Array
    firsts: Array

    @classmethod
    def of(cls, ids: Array, bounds: Array) -> Occurrences:
        """Count ids of shape (templates, tokens), -1 for none; those of template t are bounds[t] <=
        id < bounds[t + 1].
        """
        size, tokens = int(bounds[-1]), ids.shape[1]
        counts, firsts, backwards = (
            np.zeros(size, np.int64),
            np.zeros(size + 1, np.int64),
            np.arange(tokens)[::-1],
        )
        for row, first, last in zip(ids, bounds[:-1], bounds[1:], strict=True):
            counts[first:last] = np.bincount(row[row >= 0] - first, minlength=last - first)
            # of equal ids the last assignment stays; that of -1 is the entry behind all
            firsts[row[::-1]] = backwards
        return cls(counts, firsts[:size])

    @classmethod
    def joined(cls, parts: Sequence[Occurrences]) -> Occurrences:
        """Those of some attributes, and then of others."""
        none = np.zeros(0, np.int64)
        counts, firsts = (part.counts for part in parts), (part.firsts for part in parts)
        return cls(np.concatenate([none, *counts]), np.concatenate([none, *firsts]))

    def numbers(self) -> Array:
        """Return numbers for the attributes, int32: a permutation.

        Those that occur most often come first, counts being rounded to powers of two; among these
        those that occur first, and at one token in the order that they have here.
        """
        magnitudes = np.frexp(self.counts)[1].astype(np.int64)
        order = np.argsort(self.firsts - TOKENS * magnitudes, kind="stable")
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        return numbers
