"""LENGTH_BUDGET factors."""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import COMPILED, FactorAbility, FactorKernels, FactorKind
from structopt.kernels.waist.record import Array


class LengthBudget(FactorKind):
    """The lengths of the linked binary variables that are on add up to at most a budget; no private
    parts.

    Extra numbers: the budget, then a length for each link, all at least 0. Its row does not
    describe the convex hull: a linear program may turn a part of a variable on, so that its value
    is an upper bound that ad3, which knows the hull, can improve on.
    """

    declared = FactorAbility.ROWS | COMPILED

    @property
    def kernels(self) -> FactorKernels:
        """Dynamic programs over lengths: maxima, sums and messages in O(variables * budget)."""
        from structopt.kernels.loopy.kinds import length_budget as k

        return FactorKernels(k.extend, k.maximum, k.marginals, k.messages)

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Whether what is on is within the budget."""
        return bool((x > 0) @ extra[1:] <= extra[0])

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """The sum of lengths is within the budget, and what is too long alone is off."""
        lengths, first = extra[1:], np.zeros(1, np.int64)
        rows.add(
            -np.inf,
            float(extra[0]),
            *((first, z[j : j + 1], float(lengths[j])) for j in range(len(z))),
            count=1,
        )
        if len(long := z[lengths > extra[0]]):
            rows.add(0.0, 0.0, (np.arange(len(long)), long, 1.0), count=len(long))

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """Tables of variables by lengths, and one more row."""
        return int(
            ((np.asarray(parts, np.int64) + 2) * (extra[first].astype(np.int64) + 1)).max(initial=0)
        ), 0
