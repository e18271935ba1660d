"""Cutting planes in batches: the exact minimum of P over ever more lower bounds of the losses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective, certified_gap
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.optimizer_state import copied, over_weights
from structopt.kernels.waist.record import Array
from structopt.learning.minibatches import HELPERS
from structopt.learning.n_slack import NSlack, block_difference
from structopt.learning.one_slack import OneSlack, SlackArrays
from structopt.learning.plane_cache import NEEDS, PlaneArrays, plane_bytes

# of the gap: violations that a round neglects, and the accuracy to which it solves the restricted
# dual
SHARE = 0.1
# gap, relative to the objective, below which further rounds would change rounding errors only
FINEST = 1e-8
MASTERS: dict[str, Any] = {"n_slack": NSlack, "one_slack": OneSlack}
KERNEL_MODULES = (
    "structopt.kernels.learn.cutting_plane",
    "structopt.kernels.learn.plane_cache",
    "structopt.kernels.learn.mira_program",
    "structopt.kernels.passes.residuals",
    "structopt.kernels.features.bundles",
    "structopt.kernels.arrays.coordinates",
)


@dataclass(kw_only=True)
class CuttingPlaneState(SlackArrays, PlaneArrays):
    """The planes of one of the programs, its solution, and the best weights.

    Attributes
    ----------
    theta, best : float64, shape (dimension,)
    primal : float
        P at the best weights.
    gap : float
        P - D after the last epoch, at least 0.
    epoch : int
    """

    best: Array = over_weights()
    primal: float = 0.0
    gap: float = 0.0
    epoch: int = 0


class CuttingPlane(Optimizer):
    """Cutting-plane training of structured SVMs.

        theta = argmin lambda/2 ||theta||^2 + (1/m) sum_i xi_i    subject to   xi_i >= r_ij^T F_i^T
        theta + b_ij,  xi_i >= 0

    over the planes j found so far; then the oracle's answer at theta gives each loss a new plane.
    With ``one_slack``, all instances share one slack variable, and a round adds one plane, the mean
    of theirs, at a point between the best weights so far and theta, since theta is far from the
    optimum while planes are few. The dual D of the restricted problem bounds the minimum of P from
    below and never falls; the weights are those of the round with the least P, so that the gap
    never grows. A round costs one inference an instance (the first round two), and for ``n_slack``
    some sweeps over the cached planes.

    Gold outputs that are left open are completed in each round by the best allowed ones at its
    weights. P is then not convex, and D no bound of it; planes of earlier rounds stay in the cache.

    Parameters
    ----------
    variant : str
        ``n_slack`` (few rounds, a cache of planes an instance) or ``one_slack`` (more rounds, each
        of them cheaper).
    cache_mb : float
        Megabytes for the planes. A cache that is full drops inactive planes, then merges active
        ones: D does not change, and the weights still approach the optimum, though with few planes
        at the slow rate of Frank-Wolfe steps.

    Settings
    --------
    epochs
        Rounds.
    tolerance
        Relative gap at which training stops; 0 goes on until there is nothing left to gain.

    Notes
    -----
    n-slack: Tsochantaridis et al. (2005), with their C = 1/lambda; one-slack: Joachims, Finley and
    Yu (2009), who take the plane at theta itself; near the best weights, as in the bundle methods
    of Franc and Sonnenburg (2008), it takes fewer rounds. After a warm start, the oracle is first
    called at the initial weights; the dual starts at 0.
    """

    state_type = CuttingPlaneState

    def __init__(
        self,
        variant: Literal["n_slack", "one_slack"] = "n_slack",
        cache_mb: float = 1000,
    ) -> None:
        ranges.check_positive("cache_mb", cache_mb)
        self.variant, self.cache_mb = variant, cache_mb
        self.limit = int(cache_mb * 1_000_000)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Losses that are maxima of planes, and that zero weights do not minimise."""
        return NEEDS

    @property
    def plan(self) -> Plan:
        """Rounds; those with one slack variable need only the mean loss and its gradient of the
        data.
        """
        form: Literal["passes", "batch"] = "batch" if self.variant == "one_slack" else "passes"
        return Plan(
            form,
            converges=True,
            kernel_modules=KERNEL_MODULES,
            helper_kernel_modules=(HELPERS,) if self.variant == "n_slack" else (),
            bound="its planes are bounds of the losses of the data that they were made with",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights, the best ones, and planes, at most as many as `cache_mb` allows."""
        weights, planes = sizes.weight_vector, sizes.epochs + 1
        most = (
            planes * sizes.moving_vector
            if self.variant == "one_slack"
            else plane_bytes(sizes, planes)
        )
        state = {"weights": weights, "best weights": weights, "planes": min(self.limit, most)}
        # planes are copied when there are more
        return Footprint(
            state, step=2 * weights + min(self.limit, most), gradients=self.variant == "one_slack"
        )

    def init(self, problem: Objective, weights: Array) -> CuttingPlaneState:
        """Start without planes; the oracle is first called at the initial weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        arrays = MASTERS[self.variant].create(problem, self.limit)
        return CuttingPlaneState(theta=weights.copy(), best=weights.copy(), **arrays)

    def step(
        self, problem: Objective, state: CuttingPlaneState
    ) -> tuple[CuttingPlaneState, Report]:
        """Solve the problem over the cached planes, then call the oracle at its solution, or with
        one slack near it.
        """
        master, seconds = MASTERS[self.variant](problem, state, self.limit), 0.0
        if state.epoch == 0:
            losses, seconds = self._add_planes(problem, master, state.theta, 0.0)
            state.primal = state.gap = problem.ridge(state.theta) + losses / problem.m
            state.theta = np.zeros(problem.dimension)
        master.solve(SHARE * state.gap, state.epoch)
        dual, point = master.dual(), master.next_point(state.best)
        losses, more = self._add_planes(problem, master, point, SHARE * state.gap)
        primal = problem.ridge(point) + losses / problem.m
        if primal <= state.primal:
            state.primal, state.best = primal, point.copy()
        state.gap = max(0.0, primal - dual)
        state.epoch += 1
        gap = certified_gap(state.primal, dual) if problem.convex else None
        closed = gap is not None and gap <= FINEST * state.primal
        finished = (
            "no output violates its constraint: the gap is zero but for rounding" if closed else ""
        )
        bound = dual if problem.convex else None
        return state, Report(losses, 0, state.primal, bound, seconds + more, finished=finished)

    def _add_planes(
        self, problem: Objective, master: Any, weights: Array, margin: float
    ) -> tuple[float, float]:
        """Add planes at some weights; return the sum of the losses, and the seconds that it
        took.
        """
        started = time.perf_counter()
        losses = master.add_planes(weights, max(margin, FINEST * problem.loss.gamma))
        return losses, time.perf_counter() - started

    def weights(self, state: CuttingPlaneState) -> Array:
        """Return the weights of the round with the least P."""
        return state.best

    def verify(
        self, problem: Objective, state: CuttingPlaneState, instances: Sequence[int]
    ) -> float:
        """Compare with a general-purpose solver; return the largest relative difference.

        For ``n_slack`` of the solutions over the planes of single instances, the others fixed; for
        ``one_slack`` of the maximum of the dual over all planes.
        """
        if self.variant == "n_slack":
            from structopt.reference.mira_program import k_best_step

            cache = NSlack(problem, state, self.limit).cache
            return block_difference(problem, cache, state.theta, instances, k_best_step)
        from structopt.reference.one_slack import master_value

        master = OneSlack(problem, copied(state), self.limit)
        master.solve(1e-8 * state.primal, state.epoch)
        theirs = master_value(*master.planes(), problem.regularization)
        return abs(master.dual() - theirs) / max(abs(theirs), 1e-300)
