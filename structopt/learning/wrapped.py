"""An optimizer around another one: it is what the other is, but for what it does otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, State
from structopt.kernels.waist.record import Array


class Wrapped(Optimizer):
    """Base of optimizers that make the passes of another one in a way of their own.

    Parameters
    ----------
    optimizer : Optimizer
        The other one.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer, self.epochs, self.C = optimizer, optimizer.epochs, optimizer.C

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """What the other one needs."""
        return self.optimizer.needs(loss, graph)

    @property
    def plan(self) -> Plan:
        """The other one's plan."""
        return self.optimizer.plan

    def shortened(self, state: State) -> State:
        """The state with the other one's shorter steps."""
        return self.optimizer.shortened(state)

    def weights(self, state: State) -> Array:
        """Weights of the other one's state."""
        return self.optimizer.weights(state)

    def verify(self, problem: Objective, state: State, instances: Sequence[int]) -> float | None:
        """Compare the other one's steps with the references'."""
        return self.optimizer.verify(problem, state, instances)
