"""COVERAGE factors."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import FactorKernels, FactorKind
from structopt.kernels.waist.record import Array


class Coverage(FactorKind):
    """Private parts, any number, which are on where any of the k linked binary variables is, and
    else off.

    k + 1 rows, the convex hull: they are on no less than each variable, and no more than all
    together. Both are needed where their scores may be negative. Private parts that equal each
    other, or the only variable, are copies of one column.
    """

    hard = False

    @property
    def kernels(self) -> FactorKernels:
        """Closed forms in O(k)."""
        from structopt.kernels.loopy.kinds import coverage as k

        return FactorKernels(k.extend, k.maximum, k.marginals, k.messages, k.project)

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Write whether any variable is on; all states are allowed."""
        private[:] = (x > 0).any()
        return True

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """The parts are on where a variable is, and off where none is."""
        if len(z) == 1 or not len(own):
            rows.copy(own, z[:1])
            return
        each, part = np.arange(len(z)), np.repeat(own[:1], len(z))
        first = np.zeros(len(z), np.int64)
        rows.add(0.0, np.inf, (each, part, 1.0), (each, z, -1.0), count=len(z), floor_of=own[:1])
        rows.add(
            -np.inf, 0.0, (first[:1], own[:1], 1.0), (first, z, -1.0), count=1, ceiling_of=own[:1]
        )
        rows.copy(own[1:], own[:1])

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """Two numbers a variable, and two more."""
        return 2 * int(parts.max(initial=0)) + 2, 0
