"""Passes of an online optimizer over shards of a corpus, whose states are then mixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning.mixing import PackedState, ShardPass
from structopt.objective import scoring
from structopt.objective.examples import Examples
from structopt.objective.gradient_shards import ShardData, ShardRecipe
from structopt.objective.problem import Problem, Settings


@dataclass(frozen=True)
class PassRecipe(ShardRecipe):
    """What all shards of a corpus have in common over which an online optimizer passes.

    Attributes
    ----------
    optimizer : Optimizer
    settings : Settings
        Of the whole problem, its lambda included.
    """

    optimizer: Optimizer
    settings: Settings

    def __call__(self, data: ShardData) -> Any:
        """Make the shard on which the optimizer passes over some instances."""
        return OptimizerShard(self, data)


class OptimizerShard:
    """Some instances as a problem of their own, with the regularisation of the whole, and an optimizer that passes over them.

    Parameters
    ----------
    recipe : PassRecipe
    data : ShardData
    """

    def __init__(self, recipe: PassRecipe, data: ShardData) -> None:
        structure = recipe.inference.prepare(recipe.build(data.encoded))
        record = scoring.record_of(recipe.scorer, data.encoded, structure)
        examples = Examples(data.encoded, structure, record, recipe.scorer, recipe.build)
        self.problem = Problem(examples, data.targets, data.cost, recipe.loss, recipe.inference, recipe.settings)
        self.optimizer = recipe.optimizer

    def step(self, state: PackedState, messages: Array) -> ShardPass:
        """Make the optimizer's pass from a state, with the messages that the last one left."""
        self.problem.messages[:] = messages
        after, report = self.optimizer.step(self.problem, state.opened(self.problem.scorer))
        return ShardPass(PackedState.of(after, self.problem.scorer), report, self.problem.messages)


class Passes:
    """Passes of an online optimizer over the shards of a problem.

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
        assert isinstance(problem, Problem)  # the objective of a whole corpus, which alone can be divided
        if problem.examples.graphs is None and count > 1:
            raise ConfigError("This corpus cannot be divided: give Examples the function that builds its graphs.")
        self.problem, self.bounds = problem, problem.examples.shards(count)
        common = problem.recipe(problem.inference)
        share = problem.before / len(self.bounds)
        settings = replace(problem.settings, regularization=problem.regularization, before=share)
        recipe = PassRecipe(common.build, common.scorer, common.loss, common.inference, optimizer, settings)
        self.placement = problem.executor.place(recipe, problem.shard_data.divided(self.bounds))

    def run(self, state: PackedState) -> Iterator[ShardPass]:
        """Make a pass on every shard from the same state; the results in the order of the shards."""
        spans = [slice(*self.problem.structure.memory[list(bounds)].tolist()) for bounds in self.bounds]
        messages = [self.problem.messages[span].copy() for span in spans]
        for span, passed in zip(spans, self.placement.call("step", state, each=messages), strict=True):
            self.problem.messages[span] = passed.messages
            yield passed
