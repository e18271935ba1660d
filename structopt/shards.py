"""A corpus in pieces: what a shard is made of, wherever it stays, and what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structopt import scoring
from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.targets import Targets
from structopt.kernels.record import Array
from structopt.learning.mixing import Parcel, Passed
from structopt.problem import Examples, Problem, compose, run_driver, target_of


class Piece(NamedTuple):
    """Some instances of a corpus: what they are, their targets and their costs."""

    encoded: Encoded
    targets: Targets
    cost: SparseVectors


@dataclass(frozen=True)
class Recipe:
    """What all shards of a corpus have in common; calling it with a `Piece` makes the shard of these instances.

    It is sent to workers, where graphs, features and kernels are made anew from the components.

    Attributes
    ----------
    build : callable
        Encoded corpus to graphs.
    scorer : Scorer
    loss : Loss
    inference : Inference
        By which P and its gradient are computed.
    """

    build: Callable[[Encoded], Structure]
    scorer: Scorer
    loss: Loss
    inference: Inference

    def __call__(self, piece: Piece) -> GradientShard:
        """Make the shard that computes losses and gradients of some instances."""
        structure = self.inference.prepare(self.build(piece.encoded))
        return GradientShard(self, piece, structure)


class Evaluation(NamedTuple):
    """Sum of the losses of a shard, its gradient at the shard's coordinates, and what the inference left in its memory."""

    losses: float
    gradient: Array
    messages: Array


class GradientShard:
    """Losses and gradients of some instances.

    Parameters
    ----------
    recipe : Recipe
    piece : Piece
    structure : Structure
        Their graphs.
    """

    def __init__(self, recipe: Recipe, piece: Piece, structure: Structure) -> None:
        self.batch = scoring.batch_of(recipe.scorer, piece.encoded, structure)
        examples = Examples(piece.encoded, structure, self.batch.record, recipe.scorer)
        self.data = examples.data(target_of(piece.targets, piece.cost), recipe.loss.parameters())
        solver = recipe.inference.kernels(structure.kind)
        self.kernels = compose(scoring.kernels_of(recipe.scorer), solver, recipe.loss.kernel())
        self.space, self.residuals = examples.space(gradients=False), np.zeros(int(structure.parts[-1]))

    def coordinates(self) -> Array | None:
        """Of the weights that may move, which this shard has to do with; None for all."""
        return self.batch.coordinates

    def gradient(self, moving: Array) -> Evaluation:
        """Losses and gradient, given the weights that may move."""
        from structopt.kernels.passes import residual_pass

        with self.batch.widened(moving) as weights:
            bounds = 0, len(self.data.parts) - 1
            losses = run_driver(residual_pass, self.kernels, self.data, self.space, *bounds, weights, self.residuals)
        return Evaluation(float(losses), self.batch.gradient(self.residuals), self.data.messages)

    def pullback(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the coordinates, given residuals over the shard's parts."""
        return self.batch.gradient(residuals)


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

    def __init__(self, problem: Problem, optimizer: Optimizer, count: int) -> None:
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
