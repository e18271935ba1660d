"""KNAPSACK factors: the weights of the binary variables that are on are within a budget."""

from __future__ import annotations

import numpy as np

from structopt.plugin import Array, FactorKernels, FactorKind, Rows
from structopt_knapsack import kernels


class Knapsack(FactorKind):
    """The weights of the linked binary variables that are on add up to at most the budget; no
    private parts.

    Extra numbers: the budget, then a weight for each link, all at least 0. The rows do not describe
    the convex hull: the linear relaxation may select a fraction of an item, so that its value is an
    upper bound on the best score. ad3, loopy_bp and trw_bp call the compiled functions.
    """

    kernels = FactorKernels(kernels.extend, kernels.maximum, kernels.marginals, kernels.messages)

    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Whether the items that are on are within the budget."""
        return bool(x @ extra[1:] <= extra[0])

    def describe(self, rows: Rows, z: Array, private: Array, widths: Array, extra: Array) -> None:
        """Add the rows  sum_j w_j z_j <= budget,  and  z_j = 0  for items that are too heavy
        alone.
        """
        first = np.zeros(1, np.int64)
        entries = [(first, z[j : j + 1], float(weight)) for j, weight in enumerate(extra[1:])]
        rows.add(-np.inf, float(extra[0]), *entries, count=1)
        heavy = z[extra[1:] > extra[0]]
        if len(heavy):
            rows.add(0.0, 0.0, (np.arange(len(heavy)), heavy, 1.0), count=len(heavy))

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """Tables of items by weights."""
        return int(kernels.cells(parts, extra[first]).max(initial=0)), 0
