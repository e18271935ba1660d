"""EXACTLY_ONE factors."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorKind
from structopt.kernels.waist.record import Array


class ExactlyOne(FactorKind):
    """Exactly one of the linked binary variables is on; no private parts. One row, the convex
    hull.
    """

    built_in = COMPILED

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Whether one is on."""
        return bool((x > 0).sum() == 1)

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """Their sum is one."""
        rows.add(1.0, 1.0, (np.zeros(len(z), np.int64), z, 1.0), count=1)
