"""The base of optimizers that make the passes of another one, and leave everything else to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report, reported
from structopt.core.optimizer_state import Role, State
from structopt.kernels.waist.record import Array
from structopt.learning import optimizer_results


class Wrapped(Optimizer):
    """Base of optimizers that make the passes of another one: needs, plan, weights and checks are
    those of the other one.

    Parameters
    ----------
    optimizer : Optimizer
        The other one.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._checked = False  # whether a result of the other one was compared with the contract

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the values of the other one, and of further values."""
        return self.optimizer.names(role) + super().names(role)

    def restored(self, values: Mapping[str, Any]) -> State:
        """Return the state with these values."""
        own = {one.name for one in fields(self.state_type)} & values.keys()
        inner = {name: value for name, value in values.items() if name not in own}
        added = {name: values[name] for name in own}
        return self.state_type(inner=self.optimizer.restored(inner), **added)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Return the needs of the other one."""
        return self.optimizer.needs(loss, graph)

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the other one takes."""
        return self.optimizer.footprint(sizes, loss)

    @property
    def plan(self) -> Plan:
        """Return the plan of the other one."""
        return self.optimizer.plan

    def _init(self, problem: Objective, weights: Array) -> State:
        """Return the first state of the other one, checked."""
        state = self.optimizer.init(problem, weights)
        optimizer_results.check_start(self.optimizer, state, problem.dimension)
        return state

    def _step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """Make a step of the other one; the first result is checked."""
        result = self.optimizer.step(problem, state)
        if not self._checked:
            optimizer_results.check_step(self.optimizer, result, problem.dimension)
            self._checked = True
        return reported(self.optimizer, problem, result)

    def continued(self, problem: Objective, earlier: Earlier) -> State:
        """Return the state in which the other one goes on."""
        return self.state_type(inner=self.optimizer.continued(problem, earlier))

    def shortened(self, state: State) -> State:
        """Return the state with shorter steps, as the other one shortens them."""
        return replace(state, inner=self.optimizer.shortened(state.inner))

    def weights(self, state: State) -> Array:
        """Return the weights that the other one has at its state."""
        return self.optimizer.weights(state.inner)

    def objective(self, problem: Objective, state: State) -> float:
        """P at these weights, as the other one has it evaluated."""
        return self.optimizer.objective(problem, state.inner)

    def verify(self, problem: Objective, state: State, instances: Sequence[int]) -> float | None:
        """Compare the steps of the other one with those of the references."""
        return self.optimizer.verify(problem, state.inner, instances)
