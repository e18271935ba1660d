"""AdaGrad with implicit l1 or l2 regularisation: online primal subgradient steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Literal

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
from structopt.learning.averaging import empty_mean, mean_by_total, weights_and_mean
from structopt.learning.minibatches import HELPERS, dense_pass, dense_step, lazy_bytes, lazy_pass
from structopt.learning.rate import CANDIDATES, SHORTER, RateState, rate_by_trials


@dataclass(kw_only=True)
class AdaGradState(RateState):
    """Sums of squared gradients, next to the weights and the learning rate.

    Attributes
    ----------
    squares : float64, shape (dimension,)
    """

    squares: Array = over_weights()


class AdaGrad(Optimizer):
    """Gradient steps with a learning rate for every weight, which falls as its gradients add up.

    With g the mean gradient of a batch's losses, at every coordinate f:

        q_f <- q_f + g_f^2,    r_f = eta_n / sqrt(q_f)
        l2: theta_f <- (theta_f - r_f g_f) / (1 + r_f lambda)
        l1: theta_f <- sign(x) max(0, |x| - r_f lambda),    x = theta_f - r_f g_f

    where in pass n eta_n = eta min(1, sqrt(constant/n)).

    From zero weights, q_f = 1e-6 at first. From the weights of a trained model, q_f begins with m/b
    more, as after a pass of batches of b whose gradients were 1: otherwise the first step would be
    as long as eta whatever the gradient, and the regulariser, by rates of 1000 eta, would erase all
    weights without a gradient within a few visits.

    With sparse features coordinates whose gradient is 0 are brought up to date when they are read
    (`structopt.kernels.learn.lazy_regularization`), with the same result, so that one pass costs
    one inference and O(nnz) an instance; with other scorers every step moves all weights.

    Parameters
    ----------
    batch_size, average
        See `structopt.learning.options`.
    eta : float from 1e-12 to 1e12, or "auto"
        Learning rate; ``auto`` tries 0.001, 0.01, ..., 100 for a pass each and keeps the one with
        the best dev score, or the least objective where there is no dev split.
    constant : int or None
        For how many passes eta_n is eta. Since q grows like the number of steps t, the steps fall
        like 1/sqrt(t) until then, and afterwards like 1/t, as is best for a strongly convex
        objective. None: eta_n is always eta, as published, and the last weights keep their distance
        from the optimum for hundreds of passes.

    Settings
    --------
    penalty : Literal["l2", "l1"]
        The regulariser: ``l2`` (lambda/2 ||theta||^2) or ``l1`` (lambda ||theta||_1, which sets
        weights to 0).
    certificate
        Bound the optimum after every pass, at the cost of one evaluation of loss and gradient; of
        l2 only.

    Notes
    -----
    Kummerfeld et al. (2015), Algorithm 1, after Duchi et al. (2011). Its sum over a batch of size b
    and its C are the mean and lambda here by C = lambda b.
    """

    state_type = AdaGradState

    def __init__(
        self,
        eta: float | Literal["auto"] = 0.1,
        batch_size: int = 1,
        average: bool = False,
        constant: int | None = 10,
    ) -> None:
        ranges.check_at_least("batch_size", batch_size, 1)
        if eta != "auto":
            ranges.check_positive("eta", eta)
        if constant is not None:
            ranges.check_at_least("constant", constant, 1)
        self.eta, self.constant = eta, constant
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
            penalties="l1 or l2",
            tried=("eta",) if self.eta == "auto" else (),
            kernel_modules=(
                "structopt.kernels.learn.adagrad",
                "structopt.kernels.learn.lazy_regularization",
                "structopt.kernels.passes.minibatches",
            ),
            helper_kernel_modules=(HELPERS,) if self.batch_size > 1 else (),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Beside the weights and their mean, the squares of gradients."""
        state = weights_and_mean(sizes, self.average) | {
            "squares of gradients": sizes.weight_vector
        }
        return Footprint(state, step=lazy_bytes(sizes))

    def init(self, problem: Objective, weights: Array) -> AdaGradState:
        """Start from the given weights, after the trial passes of eta=auto."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        start = partial(self._start, problem, weights)
        return start(
            rate_by_trials(self, problem, CANDIDATES, start)
            if self.eta == "auto"
            else float(self.eta)
        )

    def step(self, problem: Objective, state: AdaGradState) -> tuple[AdaGradState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.adagrad import adagrad_pass

        squares, passes = state.squares, state.epoch + 1
        eta = state.eta * sqrt(min(1.0, (self.constant or passes) / passes))
        if not problem.sparse:
            move = partial(self._move, problem, state.theta, squares, eta)
            return state, Report(loss=dense_pass(problem, state, self.batch_size, move))
        sparse = problem.penalty.sparse
        losses = lazy_pass(problem, adagrad_pass, state, self.batch_size, sparse, squares, eta)
        return state, Report(loss=float(losses))

    def _move(
        self, problem: Objective, theta: Array, squares: Array, eta: float, gradient: Array
    ) -> None:
        """One step at all coordinates, by the mean gradient of a batch."""
        from structopt.kernels.learn.adagrad import DELTA

        squares += gradient * gradient
        rates = eta / np.sqrt(DELTA + squares)
        dense_step(theta, gradient, rates, problem.regularization, problem.penalty.sparse)

    def weights(self, state: AdaGradState) -> Array:
        """Return theta, or the mean of the iterates."""
        return mean_by_total(state, state.visits)

    def averaged(self, state: AdaGradState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return state.visits if len(state.total) else 0.0

    def shortened(self, state: AdaGradState) -> AdaGradState:
        """Return the state with a lower learning rate, at all coordinates alike."""
        return replace(state, eta=state.eta * SHORTER)

    def _start(self, problem: Objective, weights: Array, eta: float) -> AdaGradState:
        """Return the state before the first pass, with a learning rate."""
        # without the 1e-6, so that they are 0 for weights that may not move
        squares = np.zeros(problem.dimension)
        if weights.any():
            squares = problem.scorer.expand(
                np.full(problem.scorer.count, problem.m / self.batch_size)
            )
        total = empty_mean(problem, self.average)
        return AdaGradState(theta=weights.copy(), total=total, squares=squares, eta=eta)
