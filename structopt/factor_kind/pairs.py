"""PAIRS factors: independent pairs of binary variables in one row."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.kernels.waist.record import Array


class Pairs(FactorKind):
    """The private part r is on where both binary variables of the links 2 r and 2 r + 1 are.

    Three rows a pair, the convex hull of each.
    """

    hard = False
    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Write which pairs are on."""
        private[:] = (x[0::2] > 0) & (x[1::2] > 0)
        return True

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """A pair is on no more than either variable, and no less than both together exceed one."""
        each, a, b = np.arange(len(own)), z[::2], z[1::2]
        for one in (a, b):
            rows.add(-np.inf, 0.0, (each, own, 1.0), (each, one, -1.0), count=len(own))
        rows.add(-1.0, np.inf, (each, own, 1.0), (each, a, -1.0), (each, b, -1.0), count=len(own))
