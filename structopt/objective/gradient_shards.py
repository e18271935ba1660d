"""Losses and gradients over a corpus in shards, each computed where its shard stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import Targets
from structopt.core.executor import Executor, MadeAnew, Placement
from structopt.core.inference import Inference, Messages
from structopt.core.loss import Loss
from structopt.core.scorer import Scorer
from structopt.core.storage.arrays import Storage
from structopt.errors import ConfigError
from structopt.formats.array_folder import UnusableFolder
from structopt.kernels.waist.interruptible import run_driver, run_quick
from structopt.kernels.waist.record import Array
from structopt.objective import scoring
from structopt.objective.array_losses import kernel_of
from structopt.objective.drivers import compose
from structopt.objective.examples import Examples, target_of
from structopt.objective.on_disk.corpus_folder import open_shard

Answers = Callable[[Encoded], tuple[Targets, SparseVectors]]
"""Makes the targets and the costs of some instances."""


class ShardData(NamedTuple):
    """Some consecutive instances of a corpus: encoded, with their targets and their costs; and what
    makes these of some.
    """

    encoded: Encoded
    targets: Targets
    cost: SparseVectors
    answers: Answers | None = None

    def divided(
        self, bounds: Sequence[tuple[int, int]], remote: bool = False
    ) -> list[ShardData] | list[ShardPlace]:
        """The instances of each range; itself where there is one range, which holds all.

        For `remote` workers, where the instances are if that is in files: nobody needs to send what
        they can open.
        """
        if remote and self.encoded.folder is not None and self.answers is not None:
            return [ShardPlace(str(self.encoded.folder), *b, self.answers) for b in bounds]
        if len(bounds) == 1:
            return [self]
        return [
            ShardData(self.encoded.subset(*b), self.targets.subset(*b), self.cost.subset(*b))
            for b in bounds
        ]

    def opened(self) -> ShardData:
        """Itself."""
        return self


class ShardPlace(NamedTuple):
    """Where the instances first <= i < last of a corpus in files are, and what makes their targets
    and costs.
    """

    folder: str
    first: int
    last: int
    answers: Answers

    def opened(self) -> ShardData:
        """Map the instances, and make their targets and costs.

        Raises
        ------
        ConfigError
            If the folder is not here, or not whole.
        """
        try:
            encoded = open_shard(Path(self.folder), self.first, self.last)
        except UnusableFolder as error:
            raise ConfigError(
                f"storage.folder: a worker cannot open {self.folder}: {error}.",
                remedy="Name a folder that all machines see, or set storage=memory.",
            ) from error
        return ShardData(encoded, *self.answers(encoded))


@dataclass(frozen=True)
class ShardRecipe:
    """What all shards of a corpus have in common; a call with `ShardData` makes the shard of these
    instances.

    It is sent to workers, which make graphs, features and kernels anew from the components.

    Attributes
    ----------
    build : callable
        Encoded corpus to graphs.
    scorer : Scorer
    loss : Loss
    inference : Inference
        By which losses and gradients are computed.
    """

    build: Callable[[Encoded], Structure]
    scorer: Scorer
    loss: Loss
    inference: Inference

    def __call__(self, data: ShardData | ShardPlace) -> GradientShard:
        """Make the shard that computes losses and gradients of some instances."""
        opened = data.opened()
        structure = self.inference.prepare(self.build(opened.encoded))
        return GradientShard(self, opened, structure)


class Evaluation(NamedTuple):
    """Sum of the losses of a shard, its gradient at the shard's coordinates, and the messages of
    its instances.
    """

    losses: float
    gradient: Array
    messages: Array


class GradientShard:
    """Losses and gradients of some instances.

    Parameters
    ----------
    recipe : ShardRecipe
    data : ShardData
    structure : Structure
        The graphs of the instances.
    """

    def __init__(self, recipe: ShardRecipe, data: ShardData, structure: Structure) -> None:
        self.batch = scoring.batch_of(recipe.scorer, data.encoded, structure)
        examples = Examples(data.encoded, structure, self.batch.record, recipe.scorer)
        self.data = examples.data(target_of(data.targets, data.cost), recipe.loss.parameters())
        self.run = run_quick if structure.quick else run_driver
        solver = recipe.inference.kernels(structure.kind)
        loss = kernel_of(recipe.loss, structure, recipe.inference)
        self.kernels = compose(scoring.kernels_of(recipe.scorer), solver, loss)
        self.space, self.residuals = (
            examples.space(gradients=False),
            np.zeros(int(structure.parts[-1])),
        )

    def coordinates(self) -> Array | None:
        """Of the weights that may move, the numbers of those that these instances read; None for
        all.
        """
        return self.batch.coordinates

    def gradient(self, moving: Array) -> Evaluation:
        """Losses and gradient, given the weights that may move."""
        from structopt.kernels.passes.residuals import residual_pass

        with self.batch.widened(moving) as weights:
            bounds = 0, len(self.data.parts) - 1
            losses = self.run(
                residual_pass, self.kernels, self.data, self.space, *bounds, weights, self.residuals
            )
        return Evaluation(float(losses), self.batch.gradient(self.residuals), self.data.messages)

    def pullback(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the coordinates, given residuals over the shard's parts."""
        return self.batch.gradient(residuals)


class GradientShards:
    """All shards of a corpus, each where the executor keeps it.

    Sums are added up in the order of the shards: their bits are the same whichever executor there
    is. Shards of a corpus in files are made anew for every evaluation, so that only a few are in
    memory, unless their inference keeps messages in them.

    Parameters
    ----------
    executor : Executor
    recipe : ShardRecipe
    data : ShardData
        The whole corpus.
    bounds : sequence of (first, last)
        The instances of each shard.

    Attributes
    ----------
    coordinates : list of int64 vector or None
        Of the weights that may move, the numbers of those that each shard reads; None for all.
    """

    def __init__(
        self,
        executor: Executor,
        recipe: ShardRecipe,
        data: ShardData,
        bounds: Sequence[tuple[int, int]],
    ) -> None:
        self.executor, self.bounds, storage = executor, bounds, data.encoded.storage
        shard_data = data.divided(bounds, executor.remote)
        streamed = (
            storage.in_files
            and not executor.remote
            and recipe.inference.messages is not Messages.KEPT
        )
        self.placement: Placement
        if streamed:
            self.placement = MadeAnew(recipe, shard_data, executor.workers, executor.account)
        else:
            self.placement = executor.place(recipe, shard_data)
        numbers = self.placement.call("coordinates")
        self.coordinates = [None if one is None else _kept(one, storage) for one in numbers]

    def evaluate(
        self, moving: Array, gradient: Array
    ) -> Iterator[tuple[tuple[int, int], Evaluation]]:
        """Evaluate every shard at the weights that may move, and add up their gradients; the
        results, shard by shard.
        """
        evaluations = self.placement.call("gradient", moving)
        for bounds, coordinates, evaluation in zip(
            self.bounds, self.coordinates, evaluations, strict=True
        ):
            _add(evaluation.gradient, coordinates, gradient)
            yield bounds, evaluation

    def pull_back(self, residuals: Array, parts: Array, gradient: Array) -> None:
        """Add sum_i F_i r_i to the gradient by the weights that may move, given residuals over all
        parts and their offsets.
        """
        gradients = self.placement.call(
            "pullback", each=[residuals[parts[a] : parts[b]] for a, b in self.bounds]
        )
        for coordinates, values in zip(self.coordinates, gradients, strict=True):
            _add(values, coordinates, gradient)


def _kept(coordinates: Array, storage: Storage) -> Array:
    """Coordinates as kernels take them, where the corpus is kept."""
    if storage.in_files:
        return storage.joined([coordinates], coordinates.dtype)
    return coordinates if coordinates.flags.writeable else coordinates.copy()


def _add(values: Array, coordinates: Array | None, sums: Array) -> None:
    """Add the gradient of a shard."""
    from structopt.kernels.arrays.coordinates import add

    if coordinates is None:
        sums += values
    else:
        add(values, coordinates, sums)
