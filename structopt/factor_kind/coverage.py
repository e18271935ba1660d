"""COVERAGE factors."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import FactorKernels, FactorKind
from structopt.kernels.waist.record import Array


class Coverage(FactorKind):
    """One private part, which is on where any of the linked binary variables is.

    k + 1 rows, the convex hull: the part is on no less than each variable, and no more than all together. Both are needed
    where the part's score may be negative.
    """

    hard = False

    @property
    def kernels(self) -> FactorKernels:
        """Closed forms in O(k)."""
        from structopt.kernels.loopy.kinds import coverage as k

        return FactorKernels(k.extend, k.maximum, k.marginals, k.messages)

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Write whether any variable is on."""
        private[:] = (x > 0).any()
        return True

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """The part is on where a variable is, and off where none is."""
        each, part = np.arange(len(z)), np.repeat(own, len(z))
        rows.add(0.0, np.inf, (each, part, 1.0), (each, z, -1.0), count=len(z))
        rows.add(-np.inf, 0.0, (np.zeros(1, np.int64), own, 1.0), (np.zeros(len(z), np.int64), z, -1.0), count=1)

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """Two numbers a variable, and two more."""
        return 2 * int(parts.max(initial=0)) + 2, 0
