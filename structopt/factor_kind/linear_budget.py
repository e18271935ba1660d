"""LINEAR_BUDGET factors."""

from __future__ import annotations

from structopt.core.factor_kind import FactorAbility, FactorKernels
from structopt.factor_kind.length_budget import LengthBudget
from structopt.kernels.waist.record import Array


class LinearBudget(LengthBudget):
    """The configurations of LENGTH_BUDGET, of which ad3 knows the row alone: its bound is then that
    of lp, and found sooner. It has no marginals: a polytope has no sum over configurations.
    """

    relaxed = True
    declared = FactorAbility.ROWS | FactorAbility.MAXIMUM

    @property
    def kernels(self) -> FactorKernels:
        """A continuous knapsack, and the projection onto its polytope."""
        from structopt.kernels.loopy.kinds import length_budget, linear_budget

        return FactorKernels(
            length_budget.extend, linear_budget.maximum, project=linear_budget.project
        )

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """A number a variable."""
        return int(parts.max(initial=0)), 0
