"""Passes that raise the objective too much are undone, and made again with shorter steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import isfinite

from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Report
from structopt.core.optimizer_state import State, WrapperState, copied
from structopt.kernels.waist.record import Array
from structopt.learning.wrapped import Wrapped

MARGIN = 0.2
"""Share of P by which a pass may raise it: near a small minimum, passes of good online steps move P
up and down by up to .13.
"""
MOST = 6
"""How often a pass is made again, before it is given up."""


@dataclass(kw_only=True)
class GuardedState(WrapperState):
    """The state of the optimizer, and P.

    Attributes
    ----------
    guard_primal : float
        P after the last pass.
    """

    guard_primal: float


class Guarded(Wrapped):
    """An optimizer with a step length, whose passes do not raise P(theta) by much.

    A pass from theta to theta' with P(theta') > (1 + `MARGIN`) P(theta), at the weights that would
    be returned, is undone: the optimizer shortens its steps, and makes the pass again in the same
    order. After `MOST` times the pass is left undone, and the next begins with steps that are
    shorter still; unless P is not even finite then, which ends the run. Where no pass raises P by
    so much, the states are those of the optimizer alone, bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One whose steps have a length (`Plan.shortens`).
    certificate : bool
        Whether each pass bounds the minimum of P.

    Notes
    -----
    It keeps a second copy of the state during a pass, and evaluates P after each, which the trainer
    would do anyway.
    """

    state_type = GuardedState

    def __init__(self, optimizer: Optimizer, certificate: bool = False) -> None:
        super().__init__(optimizer)
        self.certificate = certificate

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the other one takes, and a second copy of its state."""
        alone = self.optimizer.footprint(sizes, loss)
        return replace(alone, step=alone.step + sum(alone.state.values()))

    def init(self, problem: Objective, weights: Array) -> State:
        """Return the first state of the optimizer, and P there."""
        return self._judged(problem, self._init(problem, weights))

    def continued(self, problem: Objective, earlier: Earlier) -> State:
        """Return the state in which the other one goes on, and P there."""
        return self._judged(problem, self.optimizer.continued(problem, earlier))

    def _judged(self, problem: Objective, inner: State) -> GuardedState:
        primal = problem.objective(self.optimizer.weights(inner))
        return GuardedState(inner=inner, guard_primal=primal)

    def step(self, problem: Objective, state: GuardedState) -> tuple[GuardedState, Report]:
        """Make a pass that does not raise P, or none."""
        start, before, messages = state.inner, state.guard_primal, problem.messages.copy()
        judging, report = 0.0, Report(0.0)
        after, primal = start, before
        for repeated in range(MOST + 1):
            after, report = self._step(problem, copied(start))
            started = time.perf_counter()
            primal, dual = self._bounds(problem, after)
            judging += time.perf_counter() - started
            if primal <= before + MARGIN * abs(before):
                report = replace(
                    report, primal=primal, dual=dual, repeated=repeated, judging_seconds=judging
                )
                return GuardedState(inner=after, guard_primal=primal), report
            problem.messages[:] = messages
            start = self.optimizer.shortened(start)
        # no length of the steps keeps the numbers finite: the trainer ends the run at such a report
        if not isfinite(primal):
            report = replace(report, primal=primal, repeated=MOST + 1, judging_seconds=judging)
            return GuardedState(inner=after, guard_primal=primal), report
        report = replace(
            report, primal=before, dual=None, repeated=MOST + 1, judging_seconds=judging
        )
        return GuardedState(inner=start, guard_primal=before), report

    def _bounds(self, problem: Objective, state: State) -> tuple[float, float | None]:
        """Return P, and with certificates a lower bound on its minimum."""
        weights = self.optimizer.weights(state)
        if self.certificate:
            return problem.certificate(weights)
        return problem.objective(weights), None
