"""Losses and gradients over a corpus in shards: what a shard is made of, wherever it stays, and what it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import Targets
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array
from structopt.objective import scoring
from structopt.objective.drivers import compose, run_driver
from structopt.objective.examples import Examples, target_of


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
        from structopt.kernels.waist.passes import residual_pass

        with self.batch.widened(moving) as weights:
            bounds = 0, len(self.data.parts) - 1
            losses = run_driver(residual_pass, self.kernels, self.data, self.space, *bounds, weights, self.residuals)
        return Evaluation(float(losses), self.batch.gradient(self.residuals), self.data.messages)

    def pullback(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the coordinates, given residuals over the shard's parts."""
        return self.batch.gradient(residuals)






