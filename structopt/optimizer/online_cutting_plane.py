"""Cutting planes, one instance at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.optimizer_state import over_weights
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import LagState, empty_mean, mean_by_lag, weights_and_mean
from structopt.learning.n_slack import block_difference, dual
from structopt.learning.plane_cache import NEEDS, PlaneArrays, PlaneCache, plane_bytes


@dataclass(kw_only=True)
class GuidedState(LagState, PlaneArrays):
    """Planes, and the weights of their dual variables.

    Attributes
    ----------
    guide : float64, shape (dimension,) or (0,)
        The initial weights, until the first epoch.
    """

    guide: Array = over_weights()


class OnlineCuttingPlane(Optimizer):
    """Block-coordinate ascent on the dual of structured SVMs, with a few cached planes an instance.

        D = -lambda/2 ||theta||^2 + (1/(C m)) sum_ij alpha_ij b_ij,    theta = -sum_ij alpha_ij F_i
        r_ij

    with alpha_i >= 0 and sum_j alpha_ij = C, one j being the null plane. A visit adds the plane of
    the oracle's answer at theta to those of the instance if it is above them, moves dual mass
    between pairs of planes a few times (`structopt.kernels.learn.mira_program`), and drops the
    planes without mass. D never falls. A visit costs one inference and O(nnz). Gold outputs that
    are left open are completed at each visit by the best allowed one; D is then no bound of P.

    Parameters
    ----------
    average : bool
        Return the mean of all iterates (before each update) instead of the last one. The bound D is
        that of the last one.
    steps : int
        Steps between pairs of planes at each visit.
    cache_mb : int
        Megabytes for the planes. A cache that is full merges planes of one instance, which changes
        neither theta nor D; with one plane left an instance, visits are Frank-Wolfe steps.

    Notes
    -----
    Chang and Yih (2013), without their L2-loss variant. theta starts at 0, because only such theta
    belong to a dual point; for a warm start, the oracle is called at the initial weights during the
    first pass.
    """

    state_type = GuidedState

    def __init__(
        self,
        average: bool = False,
        steps: int = 5,
        cache_mb: int = 1000,
    ) -> None:
        ranges.check_at_least("steps", steps, 1)
        ranges.check_positive("cache_mb", cache_mb)
        self.average, self.steps, self.cache_mb = average, steps, cache_mb
        self.limit = int(cache_mb * 1_000_000)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Losses that are maxima of planes, and that zero weights do not minimise."""
        return NEEDS

    @property
    def plan(self) -> Plan:
        """Passes that keep planes of every instance."""
        modules = ("structopt.kernels.learn.cutting_plane", "structopt.kernels.learn.plane_cache")
        bound = "its planes are bounds of the losses of the data that they were made with"
        return Plan(
            converges=True,
            kernel_modules=modules,
            bound=bound,
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights, their mean, and planes, at most as many as `cache_mb` allows."""
        planes = min(self.limit, plane_bytes(sizes, sizes.epochs + 1))
        state = weights_and_mean(sizes, self.average) | {"planes": planes}
        # planes are copied when there are more
        return Footprint(state, step=sizes.weight_vector + planes)

    def init(self, problem: Objective, weights: Array) -> GuidedState:
        """Start without planes; the oracle is first called at the initial weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        guide = weights.copy() if weights.any() else np.zeros(0)
        lag = empty_mean(problem, self.average)
        planes = PlaneCache.create(problem.m, problem.C, self.limit)
        theta = np.zeros(problem.dimension)
        return GuidedState(theta=theta, guide=guide, lag=lag, **planes)

    def step(self, problem: Objective, state: GuidedState) -> tuple[GuidedState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.cutting_plane import online_pass

        cache, totals = self._cache(problem, state), np.array([0.0, state.visits])
        vectors = state.theta, state.guide, state.lag, np.zeros(problem.dimension)
        rest = *vectors, float(problem.loss.gamma), self.steps, cache.scratch(), totals

        def run(order: Array) -> int:
            return int(problem.run(online_pass, cache.planes, order, *rest))

        cache.visit(problem.order(state.epoch), run)
        state.visits = float(totals[1])
        state.guide = np.zeros(0)
        state.epoch += 1
        return state, Report(
            loss=float(totals[0]),
            dual=dual(problem, cache, state.theta) if problem.convex else None,
        )

    def weights(self, state: GuidedState) -> Array:
        """Return theta, or the mean of the iterates; before the first pass the initial weights."""
        if len(state.guide):
            return state.guide
        return mean_by_lag(state, state.visits)

    def verify(self, problem: Objective, state: GuidedState, instances: Sequence[int]) -> float:
        """Solve the problem of some instances over their planes, the others fixed, by pair steps
        and by a general solver.

        Returns the largest relative difference of the resulting weights.
        """
        from structopt.reference.mira_program import k_best_step

        return block_difference(
            problem, self._cache(problem, state), state.theta, instances, k_best_step
        )

    def _cache(self, problem: Objective, state: GuidedState) -> PlaneCache:
        return PlaneCache(state, problem.structure.parts, self.limit)
