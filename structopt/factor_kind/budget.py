"""BUDGET factors."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.kernels.waist.record import Array


class Budget(FactorKind):
    """At most extra[0] of the linked binary variables are on; no private parts. One row, the convex
    hull.
    """

    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Whether no more are on."""
        return bool((x > 0).sum() <= extra[0])

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """Their sum is at most the budget."""
        rows.add(-np.inf, float(extra[0]), (np.zeros(len(z), np.int64), z, 1.0), count=1)
