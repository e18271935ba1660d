"""Contract suites of the classes of optimizers on problems whose outputs can be listed, with one
tolerance per class.
"""

import numpy as np
import pytest

from structopt.inference.enumeration import Enumeration
from structopt.testing.optimizer import OptimizerSuite, arrays_of, passes
from tests.optimizer.listings import minimum_of


class ListedSuite(OptimizerSuite):
    """Methods without a guarantee: they are compared with plain Python, and P* bounds P."""

    @pytest.fixture
    def optimum(self):
        return lambda problem: minimum_of(problem).value if problem.convex else None

    @pytest.fixture
    def python_inference(self):
        return Enumeration()


class BatchSuite(ListedSuite):
    """Quasi-Newton methods."""

    enough, within, python_passes = 300, 1e-4, 6


class OnlineSuite(ListedSuite):
    """Stochastic gradients with falling rates."""

    enough, within = 150, 0.05


class DualSuite(ListedSuite):
    """Ascent of the dual, which reports D."""

    enough, within, dual_rises = 300, 0.01, True

    def test_arrays_are_over_weights_or_over_instances(self, optimizer, problem):
        """Shards and checkpoints treat both differently, by their roles."""
        method, small = optimizer(), problem(seed=0)
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        declared = method.names("weights") + method.names("instances")
        assert arrays_of(state).keys() <= set(declared)


class CuttingSuite(ListedSuite):
    """Cutting planes, which prove how near the optimum is."""

    enough, within, dual_rises = 200, 1e-4, True
