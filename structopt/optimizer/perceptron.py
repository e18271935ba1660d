"""The averaged perceptron."""

from __future__ import annotations

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import FAMILY, Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import LagState, empty_mean, mean_by_lag, weights_and_mean


class Perceptron(Optimizer):
    """Online learner that predicts, and on a mistake adds the features of the gold output and
    subtracts those of its prediction.

        y' = argmax_y s^T chi(y),    theta <- theta + F (z - chi(y'))

    Parameters
    ----------
    average
        See `structopt.learning.options`.

    Settings
    --------
    C
        1/(lambda * m) of the objective that is reported; the steps do not depend on it.
    tolerance
        Must be 0: the method has no dual point, hence no certificate to stop by.

    Notes
    -----
    Collins (2002), "Discriminative training methods for hidden Markov models".
    """

    state_type = LagState

    def __init__(self, average: bool = True) -> None:
        self.average = average

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """The best output, without a cost."""
        return Needs(Ability.MAP, (*FAMILY, Demand(Property.PERCEPTRON)))

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed."""
        return Plan(
            mixable=True,
            divisible=True,
            minimizes=False,
            kernel_modules=("structopt.kernels.learn.perceptron",),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights and what their mean needs."""
        return Footprint(weights_and_mean(sizes, self.average))

    def init(self, problem: Objective, weights: Array) -> LagState:
        """Start from the given weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        return LagState(theta=weights.copy(), lag=empty_mean(problem, self.average))

    def step(self, problem: Objective, state: LagState) -> tuple[LagState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.perceptron import perceptron_pass

        totals, order = np.zeros(2), problem.order(state.epoch)
        problem.run(perceptron_pass, order, state.theta, state.lag, state.visits, totals)
        state.visits += float(len(order))
        state.epoch += 1
        return state, Report(loss=float(totals[0]))

    def weights(self, state: LagState) -> Array:
        """Return theta, or the mean of the iterates."""
        return mean_by_lag(state, state.visits)

    def averaged(self, state: LagState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return state.visits if len(state.lag) else 0.0
