"""AUTOMATON factors: the modifiers of one head on one side, as a path."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.kernels.waist.record import Array


class Automaton(FactorKind):
    """k binary variables, any of which may be on; those that are, with 0 and k + 1, form a path of
    private parts.

    Private parts: one for every pair (i, j), 0 <= i < j <= k + 1, in lexicographic order. O(k)
    rows, the convex hull.
    """

    hard = False
    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Write the pairs of the path."""
        path = [0, *(np.flatnonzero(x > 0) + 1), len(x) + 1]
        numbers: dict[tuple[int, int], int] = {}
        for a in range(len(x) + 1):
            for b in range(a + 1, len(x) + 2):
                numbers[a, b] = len(numbers)
        private[[numbers[pair] for pair in pairwise(path)]] = 1.0
        return True

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """One unit flows from 0 to k + 1 along the pairs, and through the variables that are on."""
        k = len(z)
        before, after = np.triu_indices(k + 2, 1)
        entering, leaving = after <= k, before >= 1
        every, first = np.arange(k), before == 0
        rows.add(0.0, 0.0, (after[entering] - 1, own[entering], 1.0), (every, z, -1.0), count=k)
        rows.add(0.0, 0.0, (before[leaving] - 1, own[leaving], 1.0), (every, z, -1.0), count=k)
        rows.add(1.0, 1.0, (np.zeros(k + 1, np.int64), own[first], 1.0), count=1)
