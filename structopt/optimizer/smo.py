"""Factored sequential minimal optimization (SMO)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import MARGINS, UNWEIGHTED, Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.optimizer_state import OptimizerState, over_instances, over_weights
from structopt.kernels.waist.record import Array
from structopt.learning.part_duals import dual_at, gold_residuals, refuse_weights, weights_at

LOOPS = (
    ": with loops a step between two outputs may leave the marginal polytope, since marginals of "
    "pairs do not determine larger ones"
)


@dataclass(kw_only=True)
class SMOState(OptimizerState):
    """A dual point, and its weights.

    Attributes
    ----------
    theta : float64, shape (dimension,)
    residuals : float64, shape (parts,)
        mu_i - z_i of all instances.
    epoch : int
    """

    theta: Array = over_weights()
    residuals: Array = over_instances()
    epoch: int = 0


class SMO(Optimizer):
    """Dual ascent for margins that moves mass between two outputs of one instance, on marginals
    over parts.

        y1 = argmax (s + gamma p)^T chi(y),   y0 = argmin over the outputs whose parts all have mu_r
        > 0 e = chi(y1) - chi(y0),   delta = min( (s + gamma p)^T e / (C ||F e||^2),  min_{r in y0,
        not in y1} mu_r ) mu <- mu + delta e,   theta <- theta - C delta F e;      at the start mu =
        z, theta = 0

    Every step raises D. When (s + gamma p)^T e is zero for every instance, the marginals are
    optimal. A pair step costs two maximisations and O(nnz); the marginals take one number a part.
    Weights of a warm start are refused: no dual point belongs to them.

    Parameters
    ----------
    steps : int
        Pair steps at each visit of an instance.

    Notes
    -----
    Taskar, Guestrin and Koller (2003), Max-margin Markov networks; compared with in Bartlett et al.
    (2004), section 5. Needs locally consistent marginals to be marginals of a distribution, which
    is so on chains of any order, but neither on trees of arcs nor on graphs with loops.
    """

    state_type = SMOState

    def __init__(self, steps: int = 1) -> None:
        ranges.check_at_least("steps", steps, 1)
        self.steps = steps

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Margins, and marginals of every position in closed form."""
        loops = graph.traits.kind.eliminates
        closed = Demand(Property.CLOSED_FORMS, because=LOOPS if loops else "")
        demands = (*MARGINS, Demand(Property.POINTS), closed, *UNWEIGHTED)
        return Needs(Ability.MAP | Ability.EXACT, demands, positional=True)

    @property
    def plan(self) -> Plan:
        """Passes that keep marginals of every instance."""
        modules = ("structopt.kernels.learn.smo", "structopt.kernels.features.bundles")
        bound = "its marginals are of the outputs of the data that they were made with"
        return Plan(
            converges=True,
            kernel_modules=modules,
            bound=bound,
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights, and dual variables of all parts."""
        state = {"weights": sizes.weight_vector, "dual variables": sizes.part_vector}
        return Footprint(
            state, step=sizes.weight_vector, gradients=True, mapped=("dual variables",)
        )

    def init(self, problem: Objective, weights: Array) -> SMOState:
        """Start from the gold outputs, hence from zero weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        refuse_weights("smo", weights)
        return SMOState(theta=weights.copy(), residuals=gold_residuals(problem))

    def step(self, problem: Objective, state: SMOState) -> tuple[SMOState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        report = pass_over(problem, state, self.steps)
        state.epoch += 1
        return state, report

    def weights(self, state: SMOState) -> Array:
        """Return theta(mu)."""
        return state.theta


def pass_over(problem: Objective, state: SMOState, steps: int) -> Report:
    """Make one pass of pair steps on the state's residuals and theta, in the order of its epoch."""
    from structopt.kernels.learn.smo import smo_pass

    totals, order, residuals = np.zeros(3), problem.order(state.epoch), state.residuals
    problem.run(
        smo_pass, order, state.theta, problem.C, problem.loss.gamma, steps, residuals, totals
    )
    state.theta = weights_at(problem, residuals)
    finished = "" if totals[2] else "no instance has two outputs to move mass between"
    return Report(
        loss=float(totals[0]),
        dual=dual_at(problem, state.theta, float(totals[1])),
        finished=finished,
    )
