"""Shards of a corpus over which a dual method passes, and which keep the dual variables of their
instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer
from structopt.core.optimizer_state import State, values_of
from structopt.kernels.waist.record import Array
from structopt.learning.added_duals import Ascent
from structopt.learning.mixture import PackedState
from structopt.objective.gradient_shards import ShardData, ShardPlace
from structopt.objective.pass_shards import OptimizerShard, PassRecipe, placed
from structopt.objective.problem import Problem


class DualRecipe(PassRecipe):
    """What all shards of a corpus have in common over which a dual method passes."""

    def __call__(self, data: ShardData | ShardPlace) -> Any:
        """Make the shard that keeps the dual variables of some instances."""
        return DualShard(self, data.opened())


class DualShard(OptimizerShard):
    """Some instances as a problem of their own, with their dual variables, and a dual method that
    passes over them.
    """

    share: dict[str, Any]

    def restore(self, share: dict[str, Any]) -> None:
        """Take up the dual variables of the instances, as they were after some pass."""
        self.share = {name: np.array(value, order="C") for name, value in share.items()}

    def ascend(self, start: PackedState) -> Ascent:
        """Make the method's pass from some state of its weights; the dual variables stay here, and
        are returned too.
        """
        opened = start.opened(self.problem.scorer)
        optimizer = self.optimizer
        result, report = optimizer.step(self.problem, optimizer.restored(opened | self.share))
        after = values_of(result)
        self.share = {name: after[name] for name in self.share}
        packed = PackedState.of(after, self.problem.scorer, optimizer.names("weights"))
        return Ascent(packed, report)

    def losses(self, packed: PackedState) -> float:
        """Sum of the losses of the instances."""
        return self.problem.losses(packed.opened(self.problem.scorer)["theta"])


class DualAscents:
    """Passes of a dual method over the shards of a problem.

    A shard has its dual variables from pass to pass. They are sent to it where it has not: before
    the first pass, and after a worker was replaced or a pass was left half done.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
    count : int
        Shards.

    Raises
    ------
    ConfigError
        If nothing says how to build the graphs of some of the instances.
    """

    def __init__(self, problem: Objective, optimizer: Optimizer, count: int) -> None:
        # the objective of a whole corpus, which alone can be divided
        assert isinstance(problem, Problem)
        self.problem, self.optimizer = problem, optimizer
        larger = problem.C * count  # sigma' C
        self.bounds, self.placement = placed(DualRecipe, problem, optimizer, count, larger)
        self._held: list[Any] = []

    def run(self, state: State, starts: Sequence[Array]) -> Iterator[Ascent]:
        """Make a pass on every shard, each from its own weights; see
        `structopt.learning.added_duals.Ascents`.
        """
        shares = [self.optimizer.share(self.problem, state, bounds) for bounds in self.bounds]
        common = {
            name: value
            for name, value in values_of(state).items()
            if name not in shares[0] and name != "theta"
        }
        over_weights = self.optimizer.names("weights")
        packed = PackedState.of(common, self.problem.scorer, over_weights)
        each = [
            PackedState(packed.values | {"theta": start}, (*packed.weights, "theta"))
            for start in starts
        ]
        if not self._holds(state):
            self.placement.renew()
        self._held = []  # until all shards have made the pass
        yield from self.placement.call("ascend", each=each, restore=shares)

    def finished(self, state: State) -> None:
        """Note the state of the whole to which the dual variables of the shards belong now."""
        self._held = self._arrays(state)

    def losses(self, packed: PackedState) -> float:
        """Sum of the losses of all instances at the entry ``theta``, each shard's computed where it
        is.
        """
        return float(sum(self.placement.call("losses", packed)))

    def _holds(self, state: State) -> bool:
        """Whether it is the very state that the last pass led to: not one of a checkpoint, nor of
        another run.
        """
        arrays = self._arrays(state)
        return len(arrays) == len(self._held) and all(
            one is other for one, other in zip(arrays, self._held, strict=True)
        )

    def _arrays(self, state: State) -> list[Any]:
        """Return the arrays that belong to instances."""
        values = values_of(state)
        return [values[name] for name in self.optimizer.names("instances") if name in values]
