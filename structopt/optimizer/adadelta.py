"""AdaDelta with implicit l2 regularisation."""

from __future__ import annotations

from functools import partial

import numpy as np

from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.needs import Needs, certified
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report, State
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning import options
from structopt.learning.dense_minibatches import implicit_step, run_minibatches
from structopt.learning.lazy_batches import run_batches
from structopt.learning.rate import SHORTER


class AdaDelta(Optimizer):
    """Gradient steps whose rate, for every weight, is the size of its past moves over that of its past gradients.

    With g the mean gradient of a batch's losses, at every coordinate f where g_f != 0:

        G_f <- rho G_f + (1 - rho) g_f^2
        theta_f <- (theta_f - r_f g_f) / (1 + r_f lambda),    r_f = sqrt(M_f + epsilon) / sqrt(G_f + epsilon)
        M_f <- rho M_f + (1 - rho) (r_f g_f)^2

    and elsewhere theta_f <- theta_f / (1 + r_f lambda), by the running means G and M as they stand (0 at first). After pass k,

        M_f <- M_f (k/(k+1))^2,    epsilon <- epsilon (k/(k+1))^2,

    so that the steps fall as 1/k does, beside what G tells of the gradients. So rare features keep the rates of the
    gradients that they do meet, and loss and regulariser are weighed by the same rate, as in P. With sparse features coordinates
    whose gradient is 0 are brought up to date when they are read, with the same result, so that one pass costs one inference
    and O(nnz) an instance; with other scorers every step moves all weights.

    Parameters
    ----------
    C : float, from 1e-12 to 1e12
        1/(lambda * m): the inverse of the regularisation.
    epochs : int
        Passes over the data.
    rho : float
        Decay of the running means, in [0, 1): their memory is 1/(1 - rho) steps. A gradient lowers the rate of its own step,
        and the more so the shorter the memory: then large gradients count too little, and what is approached is not the least
        P. With 0.95 (a memory of 20 steps) that costs tens of percent of P.
    epsilon : float, from 1e-12 to 1e12
        Square of the smallest sizes, in the first pass; larger ones make larger steps.
    batch_size : int
        Instances a step.
    average : bool
        Return the mean of all iterates (before each update, one a visit) instead of the last one.
    certificate : bool
        Bound the optimum after every pass, at the cost of one evaluation of loss and gradient.
    tolerance : float, from 0 to 1e12
        Stop when the certified gap, relative to the objective, falls below it; needs `certificate`.

    Notes
    -----
    Zeiler (2012), Algorithm 1, for the gradient of the losses; the regulariser is an implicit step of the same rate. Neither the
    falling steps nor these values of rho and epsilon are his (0.95 and 1e-6): his steps do not fall, and are those of networks.
    """

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 10,
        rho: float = 0.999,
        epsilon: float = 1e-5,
        batch_size: int = 1,
        average: bool = False,
        certificate: bool = False,
        tolerance: float = 0.0,
    ) -> None:
        options.check(C=C, epochs=epochs)
        options.positive("epsilon", epsilon)
        options.at_least("batch_size", batch_size, 1)
        options.check_tolerance(tolerance, certificate)
        if not 0 <= rho < 1:
            raise ConfigError(f"optimizer.rho={rho} must be at least 0 and below 1.")
        self.C, self.epochs, self.rho, self.epsilon = float(C), epochs, float(rho), float(epsilon)
        self.batch_size, self.average = batch_size, average
        self.certificate, self.tolerance = certificate, tolerance

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A (sub)gradient of any scorer; with certificates, tangents that are bounds."""
        return certified(self.certificate, features="any")

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed, with any scorer."""
        return Plan(
            "minibatch", mixable=True, shortens=True, tolerance=self.tolerance, certificate=self.certificate,
            kernel_modules=(
                "structopt.kernels.learn.adadelta", "structopt.kernels.learn.lazy_steps", "structopt.kernels.waist.passes",
            ),
        )  # fmt: skip

    def init(self, problem: Objective, weights: Array) -> State:
        """Start from the given weights."""
        total = np.zeros(problem.dimension if self.average else 0)
        squares, moves = np.zeros(problem.dimension), np.zeros(problem.dimension)
        start = {"theta": weights.copy(), "total": total, "squares": squares, "moves": moves, "visits": 0.0, "epoch": 0}
        return start | {"epsilon": self.epsilon}

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.adadelta import adadelta_pass

        squares, moves, epsilon = state["squares"], state["moves"], state["epsilon"]
        if problem.sparse:
            rates, rest = np.sqrt((moves + epsilon) / (squares + epsilon)), (squares, moves, self.rho, epsilon)
            losses = run_batches(problem, adadelta_pass, state, rates, self.batch_size, False, *rest)
        else:
            losses = run_minibatches(problem, state, self.batch_size, partial(self._move, problem, state))
        fall = (state["epoch"] / (state["epoch"] + 1)) ** 2
        moves *= fall
        return state | {"epsilon": epsilon * fall}, Report(loss=float(losses))

    def _move(self, problem: Objective, state: State, gradient: Array) -> None:
        """One step at all coordinates, by the mean gradient of a batch."""
        squares, moves, epsilon, met = state["squares"], state["moves"], state["epsilon"], gradient != 0.0
        squares[met] = self.rho * squares[met] + (1.0 - self.rho) * gradient[met] ** 2
        rates = np.sqrt((moves + epsilon) / (squares + epsilon))
        implicit_step(state["theta"], gradient, rates, problem.regularization, False)
        moves[met] = self.rho * moves[met] + (1.0 - self.rho) * (rates[met] * gradient[met]) ** 2

    def shortened(self, state: State) -> State:
        """The state with smaller sizes of past moves, and a smaller least size: the rates, and their growth, shrink with both."""
        square = SHORTER * SHORTER
        return state | {"moves": state["moves"] * square, "epsilon": state["epsilon"] * square}

    def weights(self, state: State) -> Array:
        """Return theta, or its average over all visits."""
        theta: Array = state["theta"]
        return state["total"] / state["visits"] if self.average and state["visits"] else theta
