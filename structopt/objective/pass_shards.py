"""Passes of an online optimizer over shards of a corpus, whose states are then mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structopt.core.executor import Placement
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning.mixing import ShardPass
from structopt.learning.mixture import PackedState
from structopt.objective import scoring
from structopt.objective.drivers import GraphKernels
from structopt.objective.examples import Examples
from structopt.objective.gradient_shards import ShardData, ShardPlace, ShardRecipe
from structopt.objective.problem import Problem, Settings


@dataclass(frozen=True)
class PassRecipe(ShardRecipe):
    """What all shards of a corpus have in common over which an online optimizer passes.

    Attributes
    ----------
    optimizer : Optimizer
    settings : Settings
        Of the whole problem, its lambda included.
    graph_kernels : callable
        Gives the graph's closed forms and rounding.
    """

    optimizer: Optimizer
    settings: Settings
    graph_kernels: Callable[[], GraphKernels]

    def __call__(self, data: ShardData | ShardPlace) -> Any:
        """Make the shard on which the optimizer passes over some instances."""
        return OptimizerShard(self, data.opened())


class OptimizerShard:
    """Some instances as a problem of their own, with the regularisation of the whole, and an
    optimizer that passes over them.

    Parameters
    ----------
    recipe : PassRecipe
    data : ShardData
    """

    def __init__(self, recipe: PassRecipe, data: ShardData) -> None:
        structure = recipe.inference.prepare(recipe.build(data.encoded))
        record = scoring.record_of(recipe.scorer, data.encoded, structure)
        examples = Examples(data.encoded, structure, record, recipe.scorer, recipe.build)
        self.problem = Problem(
            examples,
            data.targets,
            data.cost,
            recipe.loss,
            recipe.inference,
            recipe.settings,
            recipe.graph_kernels,
        )
        self.optimizer = recipe.optimizer

    def step(self, state: PackedState, messages: Array) -> ShardPass:
        """Make the optimizer's pass from a state, with the messages that the last one left."""
        self.problem.messages[:] = messages
        scorer = self.problem.scorer
        optimizer = self.optimizer
        start = optimizer.restored(state.opened(scorer))
        after, report = optimizer.step(self.problem, start)
        end = PackedState.of(after, scorer, optimizer.names("weights"))
        return ShardPass(end, report, self.problem.messages, self._mean(state, end))

    def _mean(self, start: PackedState, end: PackedState) -> Array | None:
        """The mean of the iterates between two states, as packed as the weights of the later one
        are; None without a mean.
        """
        scorer, optimizer = self.problem.scorer, self.optimizer
        earlier, later = (
            optimizer.averaged(optimizer.restored(packed.values)) for packed in (start, end)
        )
        if later <= earlier:
            return None
        before = start.values if start.weights == end.weights else start.opened(scorer)
        first, last = (optimizer.restored(values) for values in (before, end.values))
        sums = later * optimizer.weights(last) - earlier * optimizer.weights(first)
        mean: Array = sums / (later - earlier)
        return mean

    def coordinates(self) -> Array | None:
        """Of the weights that may move, the numbers of those that these instances read; None for
        all.
        """
        examples = self.problem.examples
        return scoring.batch_of(examples.scorer, examples.encoded, examples.structure).coordinates


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
        # the objective of a whole corpus, which alone can be divided
        assert isinstance(problem, Problem)
        self.problem = problem
        self.bounds, self.placement = placed(PassRecipe, problem, optimizer, count)
        numbers = self.placement.call("coordinates") if count > 1 else [None]
        self.coordinates = [one if one is None else np.array(one) for one in numbers]

    def run(self, state: PackedState) -> Iterator[ShardPass]:
        """Make a pass on every shard from the same state; the results in the order of the
        shards.
        """
        spans = [
            slice(*self.problem.structure.memory[list(bounds)].tolist()) for bounds in self.bounds
        ]
        messages = [self.problem.messages[span].copy() for span in spans]
        for span, passed in zip(
            spans, self.placement.call("step", state, each=messages), strict=True
        ):
            self.problem.messages[span] = passed.messages
            yield passed


def placed(
    recipe: type[PassRecipe],
    problem: Problem,
    optimizer: Optimizer,
    count: int,
    C: float | None = None,
) -> tuple[list[tuple[int, int]], Placement]:
    """Divide a problem into shards for passes of an optimizer; return the instances of each, and
    where the shards are.

    Parameters
    ----------
    recipe : type of PassRecipe
    problem : Problem
    optimizer : Optimizer
    count : int
    C : float or None
        C of the shards, which have the lambda of the whole; None: C of the whole.

    Raises
    ------
    ConfigError
        If nothing says how to build the graphs of some of the instances.
    """
    if problem.examples.graphs is None and count > 1:
        raise ConfigError(
            "This corpus cannot be divided",
            remedy="give Examples the function that builds its graphs.",
        )
    bounds, common = problem.examples.shards(count), problem.recipe(problem.inference)
    # rates go by the instances of the whole
    others = problem.before + problem.m - problem.m / len(bounds)
    settings = replace(
        problem.settings,
        C=problem.C if C is None else C,
        regularization=problem.regularization,
        before=others,
    )
    make = recipe(
        common.build,
        common.scorer,
        common.loss,
        common.inference,
        optimizer,
        settings,
        problem.graph_kernels,
    )
    return bounds, problem.executor.place(
        make, problem.shard_data.divided(bounds, problem.executor.remote)
    )
