"""Dual coordinate ascent for the whole loss family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import CONVEX, Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import LagState, empty_mean, mean_by_lag, weights_and_mean


class DCA(Optimizer):
    """Online learner without a learning rate: each visit solves a problem of one instance, by
    default linearised.

        (11)  exact:   theta_{t+1} = argmin_theta  1/2 ||theta - theta_t||^2 + C L_t(theta)
        (14)  taylor:  theta_{t+1} = theta_t - eta_t grad L_t,    eta_t = min( C, L_t / ||grad
        L_t||^2 )

    ``taylor`` replaces L_t by its tangent at theta_t, and by 0 where that is negative (13): one
    inference and O(nnz) an instance; with beta = inf this is 1-best MIRA. ``exact`` adds the
    tangents at the points that the steps lead to (the half-spaces of (17), here called planes)
    until the step is that of the loss itself (`structopt.kernels.learn.proximal_step`).

    With scores that are not linear in the weights, ``taylor`` makes the same step: grad L_t is the
    gradient by all weights, and (13) linearises scores and loss together. A step through the last
    layer only would leave the other layers as they were initialised.

    Parameters
    ----------
    average
        See `structopt.learning.options`.
    variant : str
        ``max_loss`` (cost-augmented), or at beta = inf ``prediction`` (the mode under the scores
        alone, footnote 7).
    inner : str
        ``taylor`` or ``exact``: the problem that a visit solves.
    planes : int
        Of inner=exact: the most planes that a visit keeps. When there are so many, those without
        mass are dropped; where all have mass, the visit ends.
    inner_tolerance : float, from 1e-12 to 1e12
        Of inner=exact: the gap, divided by C and relative to losses above 1, at which the problem
        of a visit counts as solved.

    Settings
    --------
    C
        1/(lambda * m): the largest step, and the inverse of the regularisation.
    tolerance
        Must be 0: after the first pass the method has no dual point, hence no certificate to stop
        by.

    Notes
    -----
    Martins et al. (2010), Algorithms 1 and 2, equations (11) to (17).
    """

    state_type = LagState

    def __init__(
        self,
        average: bool = True,
        variant: Literal["max_loss", "prediction"] = "max_loss",
        inner: Literal["taylor", "exact"] = "taylor",
        planes: int = 20,
        inner_tolerance: float = 1e-4,
    ) -> None:
        ranges.check_at_least("planes", planes, 1)
        ranges.check_positive("inner_tolerance", inner_tolerance)
        if inner == "exact" and variant != "max_loss":
            raise ArgumentError(
                f"minimises the loss, whose maximiser `variant={variant!r}` does not use.",
                parameter="inner",
                value=inner,
                remedy="Set variant='max_loss' or inner='taylor'.",
            )
        self.average, self.variant = average, variant
        self.inner, self.planes, self.inner_tolerance = inner, planes, inner_tolerance

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Tangents that are bounds; with inner=taylor of any scorer."""
        if self.inner == "taylor":
            return Needs(demands=CONVEX, features="any")
        return Needs(demands=CONVEX, by="`inner='exact'`")

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed."""
        step = "dca" if self.inner == "taylor" else "proximal_step"
        return Plan(
            mixable=True,
            divisible=True,
            minimizes=False,
            variant=self.variant,
            kernel_modules=(f"structopt.kernels.learn.{step}",),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights and what their mean needs."""
        step = sizes.weight_vector if self.inner == "exact" else 0  # of the bundle
        return Footprint(weights_and_mean(sizes, self.average), step=step)

    def init(self, problem: Objective, weights: Array) -> LagState:
        """Start from the given weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        return LagState(theta=weights.copy(), lag=empty_mean(problem, self.average))

    def step(self, problem: Objective, state: LagState) -> tuple[LagState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        order = problem.order(state.epoch)
        totals = self._visit(problem, order, state.theta, state.lag, state.visits)
        state.visits += float(len(order))
        state.epoch += 1
        return state, Report(loss=float(totals[0]), negative_losses=int(totals[1]))

    def weights(self, state: LagState) -> Array:
        """Return theta, or the mean of the iterates."""
        return mean_by_lag(state, state.visits)

    def averaged(self, state: LagState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return state.visits if len(state.lag) else 0.0

    def verify(self, problem: Objective, state: LagState, instances: Sequence[int]) -> float:
        """Compare the steps of some instances from the current iterate with a general-purpose
        solver's; leave the state alone.

        Returns
        -------
        float
            The largest difference of a weight, divided by the largest weight where that is above 1.
            The reference solves the program over the same planes.
        """
        from structopt.reference.mira_program import step_difference

        if not problem.sparse:
            return max(self._tangent_difference(problem, state.theta, i) for i in instances)
        messages, largest = problem.data.messages.copy(), 0.0
        for i in instances:
            after = state.theta.copy()
            self._visit(problem, np.array([i], np.int64), after, np.zeros(0), 0.0)
            problem.data.messages[:] = messages
            residuals, heights = self._planes_of_visit(problem, i, state.theta)
            problem.data.messages[:] = messages
            largest = max(
                largest,
                step_difference(problem, i, state.theta, after, residuals, heights, problem.C),
            )
        return largest

    def _visit(
        self, problem: Objective, order: Array, theta: Array, lag: Array, visits: float
    ) -> Array:
        """Make the steps of some instances; return the sum of their losses, and the number of
        negative ones.
        """
        totals = np.zeros(2)
        if not problem.sparse:
            self._visit_any(problem, order, theta, lag, visits, totals)
        elif self.inner == "taylor":
            from structopt.kernels.learn.dca import dca_pass

            problem.run(dca_pass, order, theta, lag, visits, problem.C, totals)
        else:
            from structopt.kernels.learn.proximal_step import proximal_pass

            bundle = self._bundle(problem, self.planes)
            problem.run(
                proximal_pass,
                order,
                theta,
                lag,
                visits,
                problem.C,
                self.inner_tolerance,
                bundle,
                totals,
            )
        return totals

    @staticmethod
    def _visit_any(
        problem: Objective, order: Array, theta: Array, lag: Array, visits: float, totals: Array
    ) -> None:
        """Make the steps of `structopt.kernels.learn.dca.dca_pass` for any scorer."""
        from structopt.kernels.learn.dca import NEGATIVE, SMALLEST

        for t, i in enumerate(order, int(visits) + 1):
            loss, gradient = problem.minibatch(theta, np.array([i]), (t,))
            totals += loss, loss < NEGATIVE
            norm = float(gradient @ gradient)
            if loss > 0.0 and norm > SMALLEST:
                gradient *= -min(problem.C, loss / norm)
                theta += gradient
                if len(lag):
                    lag += t * gradient

    def _tangent_difference(self, problem: Objective, theta: Array, i: int) -> float:
        """Compare the step of an instance with a general solver's for the tangent of its loss."""
        from structopt.reference.mira_program import k_best_step

        messages, after, one = problem.data.messages.copy(), theta.copy(), np.array([i])
        self._visit_any(problem, one, after, np.zeros(0), 0.0, np.zeros(2))
        problem.data.messages[:] = messages
        loss, gradient = problem.minibatch(theta, one, (1,))
        problem.data.messages[:] = messages
        offset = np.array([loss - float(gradient @ theta)])
        theirs = k_best_step(theta, gradient[np.newaxis], offset, problem.C)
        return float(np.abs(after - theirs).max() / max(1.0, np.abs(theirs).max()))

    def _planes_of_visit(self, problem: Objective, i: int, theta: Array) -> tuple[Array, Array]:
        """Return residuals r_j, shape (planes, parts), and heights a_j^T theta + b_j of the planes
        of a visit.
        """
        from structopt.kernels.learn.proximal_step import collect

        taylor = self.inner == "taylor"  # a bundle of one plane is full with the tangent at theta
        bundle = self._bundle(problem, 1 if taylor else self.planes)
        tolerance = 0.0 if taylor else self.inner_tolerance
        rows, _ = collect(
            problem.kernels, problem.data, problem.space, i, theta, problem.C, tolerance, bundle
        )
        return bundle.residuals[
            1:rows, : problem.structure.parts[i + 1] - problem.structure.parts[i]
        ], bundle.heights[1:rows]

    @staticmethod
    def _bundle(problem: Objective, planes: int) -> Any:
        from structopt.kernels.learn.proximal_step import empty_bundle

        return empty_bundle(planes, problem.examples.most_parts, problem.dimension)
