"""A start from a convex loss, for losses with bad local minima near zero weights."""

from __future__ import annotations

from dataclasses import replace

from structopt.core.loss import Beginning
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Report, State
from structopt.kernels.waist.record import Array
from structopt.learning.wrapped import Wrapped

DONE = "convex_done"
"""In a state: the passes so far that minimised the convex loss, and one more as soon as the loss itself is minimised."""


class ConvexStart(Wrapped):
    """An optimizer that minimises a convex loss for some passes, and from its weights on the loss of the problem.

    Both parts are runs of the same optimizer: the second begins anew at the weights that the first would return. The state says
    which of the two a pass belongs to, so that a checkpoint after any pass goes on to the same bits. Of the convex
    passes, no objective, bound or reason to stop is told: they are those of another problem.

    Parameters
    ----------
    optimizer : Optimizer
    convex : Problem
        With the convex loss.
    passes : int
        Of the convex loss, before the optimizer's own `epochs`.
    """

    def __init__(self, optimizer: Optimizer, convex: Objective, passes: int) -> None:
        super().__init__(optimizer)
        self.convex, self.passes = convex, passes
        self.epochs = passes + optimizer.epochs

    def init(self, problem: Objective, weights: Array) -> State:
        """The optimizer's first state, at the convex loss."""
        return {**self.optimizer.init(self.convex, weights), DONE: 0}

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """One pass, at the loss whose turn it is."""
        done = state[DONE]
        own = {name: value for name, value in state.items() if name != DONE}
        if done < self.passes:
            own, report = self.optimizer.step(self.convex, own)
            told = replace(report, primal=None, dual=None, finished="", convex_pass=done + 1)
            return {**own, DONE: done + 1}, told
        if done == self.passes:
            own = self.optimizer.init(problem, self.optimizer.weights(own))
        own, report = self.optimizer.step(problem, own)
        return {**own, DONE: self.passes + 1}, report


def from_convex(optimizer: Optimizer, problem: Objective, first: Beginning | None) -> Optimizer:
    """The optimizer, begun at the convex loss where there is one to begin with."""
    return ConvexStart(optimizer, problem.with_loss(first.loss), first.passes) if first else optimizer
