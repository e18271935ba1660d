"""Stochastic gradient descent for the whole loss family, and for losses beyond it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from structopt.core import checks
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import empty_mean, mean_by_total, weights_and_mean
from structopt.learning.minibatches import dense_pass
from structopt.learning.rate import CANDIDATES, SHORTER, RateState, rate_by_trials


class SGD(Optimizer):
    """Gradient steps on one instance at a time, with a decreasing learning rate.

        theta <- theta - eta_t ( grad L_t + lambda theta ),    eta_t = eta / (1 + (t-1)/m),   t = 1,
        2, ... counting visits

    Where training goes on with other data, m is the number of all instances seen, and t goes on.

    With sparse features the weights are kept as a scale times a vector
    (`structopt.kernels.learn.scaled_weights`), so that one pass costs one inference and O(nnz) an
    instance; with other scorers, one inference and a gradient of all weights.

    Parameters
    ----------
    average
        See `structopt.learning.options`.
    eta : float from 1e-12 to 1e12, or "auto"
        The first learning rate, below 1/lambda; ``auto`` tries 0.001, 0.01, ..., 100 for a pass
        each and keeps the one with the best dev score, or the least objective where there is no dev
        split.

    Notes
    -----
    Martins et al. (2010), section 5, which has eta_t and its choice by one epoch on the dev split
    (after Collins et al. 2008). The paper does not write the step; that eta_t multiplies lambda
    theta, too, is a choice made here.
    """

    state_type = RateState

    def __init__(
        self,
        eta: float | Literal["auto"] = "auto",
        average: bool = False,
    ) -> None:
        if eta != "auto":
            ranges.check_positive("eta", eta)
        self.eta, self.average = eta, average

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
            tried=("eta",) if self.eta == "auto" else (),
            kernel_modules=("structopt.kernels.learn.sgd", "structopt.kernels.passes.minibatches"),
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights and what their mean needs."""
        return Footprint(weights_and_mean(sizes, self.average))

    def init(self, problem: Objective, weights: Array) -> RateState:
        """Start from the given weights, after the trial passes of eta=auto."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        return self._start(problem, weights, self._rate(problem, weights))

    def step(self, problem: Objective, state: RateState) -> tuple[RateState, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.learn.sgd import sgd_pass

        if not problem.sparse:
            losses = dense_pass(problem, state, 1, partial(self._move, problem, state))
            return state, Report(loss=losses)
        order, theta, total = problem.order(state.epoch), state.theta, state.total
        eta, visits = (
            state.eta * (1.0 + problem.before / problem.m),
            state.visits + problem.before,
        )
        # which divides t by m alone
        losses = problem.run(sgd_pass, order, theta, total, visits, eta, problem.regularization)
        state.visits += float(len(order))
        state.epoch += 1
        return state, Report(loss=float(losses))

    def weights(self, state: RateState) -> Array:
        """Return theta, or the mean of the iterates."""
        return mean_by_total(state, state.visits)

    def averaged(self, state: RateState) -> float:
        """Sum of the weights of the iterates whose mean is returned."""
        return state.visits if len(state.total) else 0.0

    def shortened(self, state: RateState) -> RateState:
        """Return the state with a lower learning rate."""
        return replace(state, eta=state.eta * SHORTER)

    def _move(self, problem: Objective, state: RateState, gradient: Array) -> None:
        """One step, by the gradient of an instance's loss."""
        rate = state.eta / (1.0 + state.visits / (problem.before + problem.m))
        state.theta *= 1.0 - rate * problem.regularization
        state.theta -= rate * gradient

    def _start(self, problem: Objective, weights: Array, eta: float) -> RateState:
        """Return the state before the first pass, with a learning rate."""
        total = empty_mean(problem, self.average)
        return RateState(theta=weights.copy(), total=total, eta=eta)

    def _rate(self, problem: Objective, weights: Array) -> float:
        """Return eta, by trials for eta=auto; refuse it where a step would take theta beyond
        zero.
        """
        limit = 1.0 / problem.regularization
        if self.eta != "auto":
            if self.eta >= limit:
                raise _too_large(f"`eta={self.eta:g}`", limit, problem)
            return float(self.eta)
        rates = [eta for eta in CANDIDATES if eta < limit]
        if not rates:
            raise _too_large(f"`eta='auto'`, which begins with {CANDIDATES[0]:g},", limit, problem)
        return rate_by_trials(self, problem, rates, partial(self._start, problem, weights))


def _too_large(setting: str, limit: float, problem: Objective) -> ConfigError:
    return ConfigError(
        f"{setting} is too large: eta * lambda must be below 1. Here lambda = 1/(C m) with "
        f"C={problem.C:g} and m={problem.m}, so "
        f"that `eta` must be below {limit:g}. Set it so, or raise `C`.",
        kinds={"eta": "optimizer", "C": "optimizer"},
    )
