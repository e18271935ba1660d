"""Passes of an online optimizer over shards of a corpus, whose states are then mixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning.mixing import Parcel, Passed
from structopt.objective import scoring
from structopt.objective.examples import Examples
from structopt.objective.gradient_shards import Piece, Recipe
from structopt.objective.problem import Problem


class PassShard(Problem):
    """Some instances of a problem as a problem, with the regularisation of the whole, and an optimizer that passes over them."""

    def __init__(self, recipe: PassRecipe, piece: Piece) -> None:
        structure = recipe.inference.prepare(recipe.build(piece.encoded))
        record = scoring.record_of(recipe.scorer, piece.encoded, structure)
        examples = Examples(piece.encoded, structure, record, recipe.scorer, recipe.build)
        self._decay = recipe.regularization
        super().__init__(examples, *piece[1:], recipe.loss, recipe.inference, recipe.C, recipe.seed, recipe.variant)
        self.optimizer = recipe.optimizer

    @property
    def regularization(self) -> float:
        """lambda of the whole problem."""
        return self._decay

    def step(self, parcel: Parcel, messages: Array) -> Passed:
        """Make the optimizer's pass from a state, with the messages that the last one left."""
        self.messages[:] = messages
        state, report = self.optimizer.step(self, parcel.opened(self.scorer))
        return Passed(Parcel.of(state, self.scorer), report, self.messages)


@dataclass(frozen=True)
class PassRecipe(Recipe):
    """What all shards of a corpus have in common over which an online optimizer passes.

    Attributes
    ----------
    optimizer : Optimizer
    C, regularization : float
        Of the whole problem.
    seed : int
    variant : str
    """

    optimizer: Optimizer
    C: float
    regularization: float
    seed: int
    variant: str

    def __call__(self, piece: Piece) -> Any:
        """Make the shard on which the optimizer passes over some instances."""
        return PassShard(self, piece)


class Passes:
    """Passes of an online optimizer over the shards of a problem.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
    count : int
        Shards.
    """

    def __init__(self, problem: Objective, optimizer: Optimizer, count: int) -> None:
        assert isinstance(problem, Problem)  # the objective of a whole corpus, which alone can be divided
        if problem.examples.graphs is None and count > 1:
            raise ConfigError("This corpus cannot be divided: give Examples the function that builds its graphs.")
        self.problem, self.bounds = problem, problem.examples.shards(count)
        common = problem.recipe(problem.inference)
        recipe = PassRecipe(
            common.build, common.scorer, common.loss, common.inference,
            optimizer, problem.C, problem.regularization, problem.seed, problem.variant,
        )  # fmt: skip
        self.placement = problem.executor.place(recipe, problem.pieces(self.bounds))

    def run(self, parcel: Parcel) -> Iterator[Passed]:
        """Make a pass on every shard; what comes of it, in the order of the shards."""
        spans = [slice(*self.problem.structure.memory[list(bounds)].tolist()) for bounds in self.bounds]
        messages = [self.problem.messages[span].copy() for span in spans]
        for span, passed in zip(spans, self.placement.call("step", parcel, each=messages), strict=True):
            self.problem.messages[span] = passed.messages
            yield passed
