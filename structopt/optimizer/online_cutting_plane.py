"""Cutting planes, one instance at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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

    With scores s_i(theta) that are not linear in the weights, planes are lower bounds of the loss
    as a function of the scores, r_ij^T s_i + b_ij, and remain so when theta moves. A step moves
    dual mass from plane k to plane j along the gradient at theta:

        g = (ds_i/dtheta)^T (r_ij - r_ik),   t = min( alpha_ik, (v_ij - v_ik) / ||g||^2 ),   theta
        <- theta - t g

    with the values v of the planes. Each step costs scores and a gradient. theta begins at the
    initial weights, and the pass gives no bound D.

    Parameters
    ----------
    average : bool
        Return the mean of all iterates (before each update) instead of the last one. The bound D is
        that of the last one.
    steps : int
        Steps between pairs of planes at each visit.
    cache_mb : float
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
        cache_mb: float = 1000,
    ) -> None:
        ranges.check_at_least("steps", steps, 1)
        ranges.check_positive("cache_mb", cache_mb)
        self.average, self.steps, self.cache_mb = average, steps, cache_mb
        self.limit = int(cache_mb * 1_000_000)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Losses that are maxima of planes, and that zero weights do not minimise; any scorer."""
        return replace(NEEDS, features="any")

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
        guided = problem.sparse and weights.any()
        guide = weights.copy() if guided else np.zeros(0)
        lag = empty_mean(problem, self.average)
        planes = PlaneCache.create(problem.m, problem.C, self.limit)
        theta = np.zeros(problem.dimension) if guided else weights.copy()
        return GuidedState(theta=theta, guide=guide, lag=lag, **planes)

    def step(self, problem: Objective, state: GuidedState) -> tuple[GuidedState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.cutting_plane import online_pass

        if not problem.sparse:
            return state, Report(loss=self._visit_any(problem, state))
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

    def verify(
        self, problem: Objective, state: GuidedState, instances: Sequence[int]
    ) -> float | None:
        """Solve the problem of some instances over their planes, the others fixed, by pair steps
        and by a general solver.

        Returns the largest relative difference of the resulting weights; None if scores are not
        linear in the weights.
        """
        if not problem.sparse:
            return None
        from structopt.reference.mira_program import k_best_step

        return block_difference(
            problem, self._cache(problem, state), state.theta, instances, k_best_step
        )

    def _visit_any(self, problem: Objective, state: GuidedState) -> float:
        """Visit all instances, with any scorer; return the sum of the losses."""
        from structopt.kernels.learn.cutting_plane import RESOLUTION
        from structopt.kernels.learn.plane_cache import append, drop, fits

        cache, losses, gamma = self._cache(problem, state), 0.0, float(problem.loss.gamma)
        for n, i in enumerate(problem.order(state.epoch)):
            point = _Point(problem, int(i), (state.epoch, n), state.theta)
            loss, residual, offset = point.answer()
            losses += loss
            state.visits += 1.0
            value, top = float(residual @ point.scores) + offset, point.values(cache).max()
            if value > top + RESOLUTION * max(gamma, abs(value)):
                if not fits(cache.planes, i, residual):
                    cache.make_room()
                append(cache.planes, i, residual, offset)
            for _ in range(self.steps):
                move = point.pair_step(cache, RESOLUTION * gamma)
                if move is None:
                    break
                state.theta += move
                if len(state.lag):
                    state.lag += state.visits * move
                point = _Point(problem, int(i), (state.epoch, n), state.theta)
            drop(cache.planes, i, -1)
        state.epoch += 1
        return losses

    def _cache(self, problem: Objective, state: GuidedState) -> PlaneCache:
        return PlaneCache(state, problem.structure.parts, self.limit)


class _Point:
    """The scores of an instance at theta, for any scorer, and steps between its planes."""

    def __init__(
        self, problem: Objective, instance: int, noise: tuple[int, int], theta: Array
    ) -> None:
        self.problem, self.instance = problem, instance
        self.scores, self.pullback = problem.examples.training(
            theta, np.array([instance]), [problem.seed, *noise]
        )

    def answer(self) -> tuple[float, Array, float]:
        """Return L_i, the residual r of the best output, and b = gamma * cost."""
        from structopt.kernels.passes.minibatches import minibatch_pass
        from structopt.kernels.waist.target import cost_of, open_target

        residual, losses = np.zeros(len(self.scores)), np.zeros(1)
        one, scores = np.array([self.instance]), self.scores.copy()
        self.problem.run(minibatch_pass, one, scores, residual, losses)
        target = open_target(self.problem.data.target)
        cost = cost_of(target, self.instance, residual)
        return float(losses[0]), residual, float(self.problem.loss.gamma * cost)

    def values(self, cache: PlaneCache) -> Array:
        """Return the values of the planes of the instance."""
        from structopt.kernels.learn.plane_cache import values_at

        values = np.zeros(int(cache.planes.counts[self.instance]))
        values_at(cache.planes, self.instance, self.scores, values)
        return values

    def pair_step(self, cache: PlaneCache, tolerance: float) -> Array | None:
        """Move dual mass from the lowest plane that has some to the highest one; return the step of
        theta, or None if there is nothing to gain.
        """
        from structopt.kernels.learn.plane_cache import combine

        values, first = self.values(cache), int(cache.planes.firsts[self.instance])
        alpha = cache.planes.alpha[first : first + len(values)]
        active = np.flatnonzero(alpha > 0.0)
        high, low = int(np.argmax(values)), int(active[np.argmin(values[active])])
        rise = values[high] - values[low]
        if rise <= tolerance:
            return None
        signs, residual = np.zeros(len(values)), np.zeros(len(self.scores))
        signs[high], signs[low] = 1.0, -1.0
        combine(cache.planes, self.instance, signs, residual)
        gradient = self.pullback(residual)
        norm, mass = float(gradient @ gradient), float(alpha[low])
        mass = min(mass, rise / norm) if norm > 0.0 else mass
        alpha[high] += mass
        alpha[low] -= mass
        return np.asarray(-mass * gradient)
