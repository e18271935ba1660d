"""AdaDelta with implicit l2 regularisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.optimizer_state import lasting, over_weights
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import VisitState, empty_mean, mean_by_total, weights_and_mean
from structopt.learning.minibatches import HELPERS, dense_pass, dense_step, lazy_bytes, lazy_pass
from structopt.learning.rate import SHORTER


@dataclass(kw_only=True)
class AdaDeltaState(VisitState):
    """Decaying means of squares, next to the weights.

    Attributes
    ----------
    squares, moves : float64, shape (dimension,)
        Means of squared gradients and of squared steps.
    epsilon : float
        The least size of a step, squared.
    """

    squares: Array = over_weights()
    moves: Array = over_weights()
    epsilon: float = lasting()


class AdaDelta(Optimizer):
    """Gradient steps whose rate, for every weight, is the size of its past steps over that of its
    past gradients.

    With g the mean gradient of a batch's losses, at every coordinate f where g_f != 0:

        G_f <- rho G_f + (1 - rho) g_f^2
        theta_f <- (theta_f - r_f g_f) / (1 + r_f lambda),    r_f = sqrt(M_f + epsilon) / sqrt(G_f +
        epsilon) M_f <- rho M_f + (1 - rho) (r_f g_f)^2

    and elsewhere theta_f <- theta_f / (1 + r_f lambda), with r_f of the present running means G and
    M (0 at first). After pass k,

        M_f <- M_f (k/(k+1))^2,    epsilon <- epsilon (k/(k+1))^2,

    so that steps fall like 1/k, besides the changes of G. The rate of a rare feature depends only
    on gradients that are not 0, and loss and regulariser are weighed by the same rate, as in P.
    With sparse features coordinates whose gradient is 0 are brought up to date when they are read
    (`structopt.kernels.learn.lazy_regularization`), with the same result, so that one pass costs
    one inference and O(nnz) an instance; with other scorers every step moves all weights.

    Parameters
    ----------
    batch_size, average
        See `structopt.learning.options`.
    rho : float
        Decay of the running means, in [0, 1): their memory is 1/(1 - rho) steps. A gradient lowers
        the rate of its own step, and the more so the shorter the memory: then large gradients count
        too little, and the weights do not approach the minimum of P. With 0.95 (a memory of 20
        steps) that costs tens of percent of P.
    epsilon : float, from 1e-12 to 1e12
        Square of the smallest sizes, in the first pass; larger ones make larger steps.

    Notes
    -----
    Zeiler (2012), Algorithm 1, for the gradient of the losses; the regulariser is an implicit step
    of the same rate. There, steps do not fall, and rho and epsilon are 0.95 and 1e-6, for neural
    networks.
    """

    state_type = AdaDeltaState

    def __init__(
        self,
        rho: float = 0.999,
        epsilon: float = 1e-5,
        batch_size: int = 1,
        average: bool = False,
    ) -> None:
        ranges.check_positive("epsilon", epsilon)
        ranges.check_at_least("batch_size", batch_size, 1)
        if not 0 <= rho < 1:
            raise ArgumentError("must be at least 0 and below 1.", parameter="rho", value=rho)
        self.rho, self.epsilon = float(rho), float(epsilon)
        self.batch_size, self.average = batch_size, average

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A (sub)gradient of any scorer."""
        return Needs(features="any")

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed, with any scorer."""
        return Plan(
            "minibatch",
            mixable=True,
            shortens=True,
            kernel_modules=(
                "structopt.kernels.learn.adadelta",
                "structopt.kernels.learn.lazy_regularization",
                "structopt.kernels.passes.minibatches",
            ),
            helper_kernel_modules=(HELPERS,) if self.batch_size > 1 else (),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Beside the weights and their mean, the squares of gradients and of steps."""
        state = {
            "squares of gradients": sizes.weight_vector,
            "squares of steps": sizes.weight_vector,
        }
        return Footprint(weights_and_mean(sizes, self.average) | state, step=lazy_bytes(sizes))

    def init(self, problem: Objective, weights: Array) -> AdaDeltaState:
        """Start from the given weights."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        squares, moves = np.zeros(problem.dimension), np.zeros(problem.dimension)
        return AdaDeltaState(
            theta=weights.copy(),
            total=empty_mean(problem, self.average),
            squares=squares,
            moves=moves,
            epsilon=self.epsilon,
        )

    def step(self, problem: Objective, state: AdaDeltaState) -> tuple[AdaDeltaState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.adadelta import adadelta_pass

        squares, moves, epsilon = state.squares, state.moves, state.epsilon
        if problem.sparse:
            losses = lazy_pass(
                problem,
                adadelta_pass,
                state,
                self.batch_size,
                False,
                squares,
                moves,
                self.rho,
                epsilon,
            )
        else:
            losses = dense_pass(
                problem, state, self.batch_size, partial(self._move, problem, state)
            )
        fall = (state.epoch / (state.epoch + 1)) ** 2
        moves *= fall
        return replace(state, epsilon=epsilon * fall), Report(loss=float(losses))

    def _move(self, problem: Objective, state: AdaDeltaState, gradient: Array) -> None:
        """One step at all coordinates, by the mean gradient of a batch."""
        squares, moves, epsilon, nonzero = (
            state.squares,
            state.moves,
            state.epsilon,
            gradient != 0.0,
        )
        squares[nonzero] = self.rho * squares[nonzero] + (1.0 - self.rho) * gradient[nonzero] ** 2
        rates = np.sqrt((moves + epsilon) / (squares + epsilon))
        dense_step(state.theta, gradient, rates, problem.regularization, False)
        moves[nonzero] = (
            self.rho * moves[nonzero] + (1.0 - self.rho) * (rates[nonzero] * gradient[nonzero]) ** 2
        )

    def shortened(self, state: AdaDeltaState) -> AdaDeltaState:
        """Return the state with smaller sizes of past steps, and a smaller least size: rates, and
        their growth, fall too.
        """
        square = SHORTER * SHORTER
        return replace(state, moves=state.moves * square, epsilon=state.epsilon * square)

    def weights(self, state: AdaDeltaState) -> Array:
        """Return theta, or the mean of the iterates."""
        return mean_by_total(state, state.visits)

    def averaged(self, state: AdaDeltaState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return state.visits if len(state.total) else 0.0
