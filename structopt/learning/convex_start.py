"""A start from a convex loss, for losses with bad local minima near zero weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Report
from structopt.core.optimizer_state import WrapperState
from structopt.kernels.waist.record import Array
from structopt.learning.wrapped import Wrapped

DONE = "convex_done"
"""Name of this value of a `ConvexState`."""


@dataclass(kw_only=True)
class ConvexState(WrapperState):
    """The state of the optimizer, and how far it has come.

    Attributes
    ----------
    convex_done : int
        Epochs so far with the convex loss, plus one after the first epoch with the loss itself.
    """

    convex_done: int = 0


class ConvexStart(Wrapped):
    """An optimizer that minimises a convex loss for some passes, and from the weights that this
    leads to the loss of the problem.

    The same optimizer does both: for the loss of the problem it begins anew, at the weights that it
    would return for the convex one. The state says which of the two losses the next pass minimises,
    so that a run resumed from any checkpoint has the same bits. Reports of the convex passes have
    no objective, bound or reason to stop, which would be those of another problem.

    Parameters
    ----------
    optimizer : Optimizer
    convex : Objective
        With the convex loss.
    passes : int
        Passes with the convex loss, before those with the loss of the problem.
    """

    state_type = ConvexState

    def __init__(self, optimizer: Optimizer, convex: Objective, passes: int) -> None:
        super().__init__(optimizer)
        self.convex, self.passes = convex, passes

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the other one takes, whose second state is made beside the first."""
        alone = self.optimizer.footprint(sizes, loss)
        return replace(alone, step=max(alone.step, sum(alone.state.values())))

    def init(self, problem: Objective, weights: Array) -> ConvexState:
        """Return the first state of the optimizer, for the convex loss."""
        return ConvexState(inner=self._init(self.convex, weights))

    def step(self, problem: Objective, state: ConvexState) -> tuple[ConvexState, Report]:
        """Make one pass, with the convex loss or the loss of the problem."""
        done, inner = state.convex_done, state.inner
        if done < self.passes:
            inner, report = self._step(self.convex, inner)
            report = replace(report, primal=None, dual=None, finished="", convex_pass=done + 1)
            return ConvexState(inner=inner, convex_done=done + 1), report
        if done == self.passes:
            inner = self._init(problem, self.optimizer.weights(inner))
        inner, report = self._step(problem, inner)
        return ConvexState(inner=inner, convex_done=self.passes + 1), report
