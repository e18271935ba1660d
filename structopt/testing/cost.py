"""What every cost promises: gold outputs cost nothing, and no output costs less."""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.cost import Cost
from structopt.core.parts.batch import Gold
from structopt.factor_graph.linear_chain import LinearChain
from structopt.testing.promises import default, promises, required
from structopt.verbs.outputs import argmax

ROUNDING = 1e-9


@promises("cost")
class CostSuite:
    """Override the fixture `cost`, which returns the cost under test; and `gold`, if it counts
    parts that chains do not have.
    """

    @required
    def cost(self) -> Any:
        """Return the cost under test."""

    @default
    def gold(self) -> Gold:
        """Make gold outputs of a small batch."""
        batch = LinearChain().batch(lengths=[1, 3, 0, 2], labels=3)
        return batch.gold([0, 2, 1, 1, 0, 2])

    def test_gold_outputs_cost_nothing(self, cost: Cost, gold: Gold) -> None:
        """p^T z + q = 0 for gold outputs.

        Return finite costs of missing gold parts; of the role ``label`` return 0 for gold labels.
        """
        p, q = cost.parts(gold)
        assert np.isfinite(p.flat).all()
        np.testing.assert_allclose(p @ gold.parts + q, 0.0, atol=ROUNDING)

    def test_no_output_costs_less(self, cost: Cost, gold: Gold) -> None:
        """p^T z' + q >= 0 for all outputs.

        Return costs of at least 0.
        """
        p, q = cost.parts(gold)
        cheapest = p @ argmax(-1.0 * p).parts + q
        assert (cheapest >= -ROUNDING).all(), cheapest
