"""TABLE factors: a part for every pair of states of two variables."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.kernels.waist.record import Array


class Table(FactorKind):
    """Two variables of K and K' > 1 states; K K' private parts, row by row. K + K' rows, the convex
    hull.
    """

    hard = False
    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Write the pair of states."""
        K = int(widths[0])
        private[:] = np.outer(x[:K], x[K:]).ravel()
        return True

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """The parts of a state sum to the state."""
        a, b = (int(width) for width in widths)
        first, second = np.divmod(np.arange(a * b), b)
        rows.add(0.0, 0.0, (first, own, 1.0), (np.arange(a), z[:a], -1.0), count=a)
        rows.add(0.0, 0.0, (second, own, 1.0), (np.arange(b), z[a:], -1.0), count=b)
