"""Pegasos: projected subgradient steps whose sizes follow from the regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import CONVEX, Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report
from structopt.core.optimizer_state import lasting
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import (
    TotalState,
    empty_mean,
    linear_weight,
    mean_by_total,
    weights_and_mean,
)
from structopt.learning.minibatches import HELPERS, answering_helper

# with delay=auto, the first step is Polyak's step at zero weights divided by this, at most
CAUTION = 3.0
SAMPLE = 100  # instances from whose gradients at zero weights the length of that step is computed


@dataclass(kw_only=True)
class PegasosState(TotalState):
    """The ball and the steps, next to the weights.

    Attributes
    ----------
    steps : float
    delay : float
        t_0 of the lengths of steps.
    radius : float
        Radius of the ball.
    """

    steps: float = lasting(0.0)
    delay: float = lasting()
    radius: float = 0.0


class Pegasos(Optimizer):
    """Subgradient steps of size 1/(lambda (t + t_0)), projected onto a ball that holds the optimum.

        theta <- theta - ( theta + (1/(lambda b)) sum_i grad L_i ) / (t + t_0)     over a batch of b
        = batch_size, t = 1, 2, ... theta <- min( 1, R/||theta|| ) theta,    R = sqrt( P(0)/lambda
        ),   P(0) = (1/m) sum_i L_i(0)

    The optimum is in the ball: there lambda theta* = -(1/m) sum_i grad L_i, so that convexity gives
    P(0) >= (1/m) sum_i L_i(theta*) + lambda ||theta*||^2. (The usual radius, 1/sqrt(lambda),
    presumes losses of at most 1 at zero weights.) With t_0 = 0 the first step multiplies the
    initial weights by 0, and where C is large, the steps of the first passes are so long that P
    rises far above P(0). One pass costs one inference and O(nnz) an instance.

    Parameters
    ----------
    batch_size
        See `structopt.learning.options`.
    average : bool
        Return the mean of the iterates (before each update), weighted by the number t of the step,
        instead of the last one.
    delay : float from 0 to 1e12, or "auto"
        t_0, in steps; 0 is the method as it was published. ``auto`` makes no step longer than a
        third of P(0)/G^2, Polyak's step at zero weights for a least loss of 0: t_0 = 3 G^2/(lambda
        P(0)), G^2 the mean of ||grad L_i(0)||^2 (of at most 100 instances).

    Notes
    -----
    Shalev-Shwartz, Singer and Srebro (2007), Figure 1. The weights of the mean are those of
    Lacoste-Julien, Schmidt and Bach (2012), with which its expected excess falls as 1/t, without
    the log t of the plain mean. The C of Meshi et al. (2010), equations (3), (7) and (9), is
    1/lambda = m C here.
    """

    state_type = PegasosState

    def __init__(
        self,
        batch_size: int = 1,
        average: bool = False,
        delay: float | Literal["auto"] = 0.0,
    ) -> None:
        ranges.check_at_least("batch_size", batch_size, 1)
        if delay != "auto":
            ranges.check_at_least("delay", delay, 0.0)
        self.batch_size, self.average, self.delay = batch_size, average, delay

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A convex loss that zero weights have."""
        return Needs(demands=(*CONVEX, Demand(Property.LOSS_AT_ZERO)))

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed."""
        modules = ("structopt.kernels.learn.pegasos",)
        return Plan(
            mixable=True,
            divisible=True,
            kernel_modules=modules,
            helper_kernel_modules=(HELPERS,) if self.batch_size > 1 else (),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights and what their mean needs."""
        return Footprint(weights_and_mean(sizes, self.average))

    def init(self, problem: Objective, weights: Array) -> PegasosState:
        """Start from the given weights; compute the radius of the ball, and the delay."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        ratio = self._ratio(problem)
        return PegasosState(
            theta=weights.copy(),
            total=empty_mean(problem, self.average),
            radius=float(np.sqrt(ratio)),
            delay=self._delay(problem, ratio),
        )

    def continued(self, problem: Objective, earlier: Earlier) -> PegasosState:
        """Go on with the steps, in the ball of all instances seen: R^2 = P(0)/lambda is C L_i(0)
        summed over them.
        """
        of_others = earlier.state["radius"] ** 2 if problem.before else 0.0
        share = problem.m / (problem.before + problem.m)
        radius = float(np.sqrt(self._ratio(problem) * share + of_others))
        state: PegasosState = self.restored(self._lasting(earlier) | {"radius": radius})
        return state

    def _ratio(self, problem: Objective) -> float:
        """Return P(0)/lambda."""
        return float(problem.objective(np.zeros(problem.dimension)) / problem.regularization)

    def _delay(self, problem: Objective, ratio: float) -> float:
        """Return t_0; `ratio` is P(0)/lambda."""
        from structopt.kernels.learn.pegasos import mean_square

        if self.delay != "auto":
            return float(self.delay)
        messages = problem.data.messages.copy()
        square = problem.run(mean_square, problem.order(0)[:SAMPLE], np.zeros(problem.dimension))
        problem.data.messages[:] = messages  # training is to begin with these
        return float(CAUTION * square / (problem.regularization**2 * ratio))

    def step(self, problem: Objective, state: PegasosState) -> tuple[PegasosState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.answers import empty_answers
        from structopt.kernels.learn.pegasos import pegasos_pass

        order, batch = problem.order(state.epoch), min(self.batch_size, problem.m)
        answers = empty_answers(batch, problem.examples.most_parts, scores=False)
        losses = problem.run_together(
            pegasos_pass,
            answering_helper,
            problem.threads(batch),
            (order, state.theta, answers),
            state.total,
            state.steps,
            state.delay,
            problem.regularization,
            state.radius,
        )
        state.steps += float(-(-len(order) // batch))
        state.epoch += 1
        return state, Report(loss=float(losses))

    def weights(self, state: PegasosState) -> Array:
        """Return theta, or the mean of the iterates with weights t."""
        return mean_by_total(state, linear_weight(state.steps))

    def averaged(self, state: PegasosState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return linear_weight(state.steps) if len(state.total) else 0.0
