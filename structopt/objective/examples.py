"""A corpus ready for inference: encoded, with its graphs and the record of its features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import Encoded
from structopt.core.data.encoded_checks import check_encoded
from structopt.core.data.places import Places
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import AllowedParts, Targets
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.scorer import FeatureScratch, Scorer, SparseFeatures
from structopt.core.storage.arrays import IN_MEMORY, Storage
from structopt.core.storage.packing import packed
from structopt.kernels.waist.record import EMPTY, Array, Record
from structopt.kernels.waist.signatures import Data, Kernels, Space
from structopt.objective import scoring

SHARDS = 8
"""Shards of a corpus, unless the executor says otherwise."""

Layout = Callable[[Encoded, Structure, SparseVectors], Scorer]
"""Lays out the weights for a training corpus, its graphs and its gold parts."""


@dataclass(frozen=True)
class Examples:
    """A corpus ready for inference: encoded, with its graphs and the record of its features.

    `graphs` builds the graphs of some of the instances, where the corpus may be divided. `allowed`,
    where it is not None, are the parts that outputs may have: those of labels that are kept
    (`FactorGraph.restricted`). `answers` makes the targets and the costs of some of the instances,
    for workers that open these themselves. `places` has the indices of the instances in a
    corpus that also has empty instances; None if it has none. Models and
    runs of this package set `trusted`, because they check their weights once.
    """

    encoded: Encoded
    structure: Structure
    features: Record
    scorer: Scorer
    graphs: Callable[[Encoded], Structure] | None = None
    allowed: AllowedParts | None = None
    answers: Callable[[Encoded], tuple[Targets, SparseVectors]] | None = None
    places: Places | None = None
    trusted: bool = False

    @classmethod
    def build(
        cls,
        encoded: Encoded,
        graph: FactorGraph,
        scorer: Scorer,
        inference: Inference | None = None,
        places: Places | None = None,
        trusted: bool = False,
    ) -> Examples:
        """Build the graphs of a corpus, and pack its features for a fitted scorer.

        Parameters
        ----------
        encoded : Encoded
            No instance may be empty (`Encoded.without_empty`).
        graph, scorer : components
        inference : Inference or None
            Its memory and scratch become part of the structure.
        places : Places or None
            Places of the instances in the whole corpus, with the empty instances.
        trusted : bool
            Whether a task of this package has just encoded the corpus to be decoded, with weights
            that are finite: arrays need no check, and the features no fields for gradients.

        Raises
        ------
        ArgumentError
            If an array of `encoded` is inconsistent or out of bounds.
        """
        if not trusted:
            check_encoded(encoded)
        structure = graph.build(encoded)
        structure = structure if inference is None else inference.prepare(structure)
        record, allowed = (
            scoring.record_of(scorer, encoded, structure, scores_only=trusted),
            graph.restricted(encoded, structure),
        )
        return cls(
            encoded, structure, record, scorer, graph.build, allowed, places=places, trusted=trusted
        )

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.encoded)

    @property
    def count(self) -> int:
        """Number of instances of the corpus, the empty ones included."""
        return self._all_places.count

    def spread(self, results: Iterable[Any], empty: Any) -> list[Any]:
        """Return one result per instance of the corpus; `empty` is the result of empty ones."""
        return self._all_places.spread(results, empty)

    def index(self, instance: int) -> int | None:
        """Return the index here of an instance of the corpus; None if it is empty."""
        return self._all_places.index(instance)

    def instance(self, index: int) -> int:
        """Return the index in the corpus of an instance here."""
        return self._all_places.instance(index)

    @property
    def _all_places(self) -> Places:
        return Places(len(self)) if self.places is None else self.places

    def solved_by(self, inference: Inference) -> Examples:
        """The same corpus with the memory and the scratch that another inference needs."""
        stateless = replace(self.structure, memory=np.zeros(len(self) + 1, np.int64), work=EMPTY)
        return replace(self, structure=inference.prepare(stateless))

    @cached_property
    def most_parts(self) -> int:
        """Parts of the largest instance."""
        return int(np.diff(self.structure.parts).max(initial=0))

    @cached_property
    def prepared(self) -> Any:
        """The corpus as the scorer prepared it."""
        return self.scorer.prepare(self.encoded, self.structure)

    def check_weights(self, weights: Array, finite: bool | None = None) -> None:
        """Refuse weights that compiled code would misread: of another length, type or layout.

        Parameters
        ----------
        weights : object
        finite : bool or None
            Whether NaN and +inf are refused, too; by default unless the corpus is `trusted`.

        Raises
        ------
        ArgumentError
        """
        finite = not self.trusted if finite is None else finite
        checks.check_vector("weights", weights, self.scorer.dimension, finite=finite)

    def scores(self, weights: Array, instances: Array) -> Array:
        """Part scores of some instances, one after the other."""
        self._check_some(weights, instances)
        return scoring.scores_of(self.scorer, weights, self.prepared, self.structure, instances)

    def training(
        self, weights: Array, instances: Array, noise: Sequence[int]
    ) -> tuple[Array, Callable[[Array], Array]]:
        """Part scores of some instances in training, and the function from residuals to the
        gradient.
        """
        self._check_some(weights, instances)
        return scoring.training_of(
            self.scorer, weights, self.prepared, self.structure, instances, noise
        )

    def _check_some(self, weights: Array, instances: Array) -> None:
        """Check weights and indices of instances."""
        self.check_weights(weights, finite=False)
        checks.check_ids("instances", instances, 0, len(self) - 1, (None,))

    @property
    def scored_by_kernels(self) -> bool:
        """Whether drivers score instances one by one, from weights, and not whole ranges before."""
        return isinstance(self.scorer, SparseFeatures) and self.allowed is None

    def scored(self, data: Data, weights: Array, bounds: tuple[int, int]) -> tuple[Data, Array]:
        """Data and weights for a driver over a range of instances; scores stand for weights where
        the scorer has no kernels.
        """
        if self.scored_by_kernels:
            return data, weights
        record, scores = (
            scoring.precomputed_scores(self.structure, bounds[0]),
            self.scores(weights, np.arange(*bounds)),
        )
        if self.allowed is not None:
            scores[self.allowed.excluded(self.structure.parts, bounds)] = -np.inf
        return data._replace(features=record), scores

    def score_kernels(self, kernels: Kernels) -> Kernels:
        """The kernels, with those of features that read what `scored` returns."""
        if self.allowed is None:
            return kernels
        copying = scoring.copying_kernels()
        return Kernels(*copying, *kernels[len(copying) :])

    def data(self, target: Record = EMPTY, parameters: Array | None = None) -> Data:
        """Put together what drivers read; the messages of a stateful inference start at zero."""
        messages = self.encoded.storage.zeros(int(self.structure.memory[-1]))
        numbers = (
            np.zeros(2)
            if parameters is None
            else np.ascontiguousarray(parameters, dtype=np.float64)
        )
        structure, given = self.structure, self.encoded.instance_weights
        weights = np.zeros(0) if given is None else given
        return Data(
            self.features,
            structure.record,
            target,
            numbers,
            structure.parts,
            structure.memory,
            messages,
            weights,
        )

    def space(self, gradients: bool = True, losses: bool = True) -> Space:
        """Allocate scratch for one thread.

        Parameters
        ----------
        gradients : bool
            Whether drivers compute gradients of single instances.
        losses : bool
            Whether drivers evaluate losses, or else only infer.
        """
        work = Record(*(buffer.copy() for buffer in self.structure.work))
        none = FeatureScratch(EMPTY, 0, 0)
        scratch = (
            scoring.scratch_of(self.scorer, self.encoded, self.structure) if gradients else none
        )
        sizes = [self.most_parts] * 2 + [self.most_parts if losses else 0] * 4
        vectors = [np.zeros(size) for size in sizes]
        numbers = [
            np.zeros(size, np.int64) for size in (scratch.runs, scratch.runs, scratch.coordinates)
        ]
        return Space(*vectors, work, scratch.gradient, *numbers, np.zeros(scratch.coordinates))  # type: ignore[call-arg, arg-type]

    def shards(self, count: int = SHARDS) -> list[tuple[int, int]]:
        """Ranges of instances: as many whatever the number of workers, so that sums have the same
        bits.
        """
        if count == 1 or len(self) == 1:
            return [(0, len(self))] if len(self) else []
        bounds = np.linspace(0, len(self), count + 1).astype(int)
        return [(int(a), int(b)) for a, b in pairwise(bounds) if a < b]


def target_of(targets: Targets, cost: SparseVectors, storage: Storage = IN_MEMORY) -> Record:
    """Pack targets and costs for the losses' kernels."""
    from structopt.kernels.waist.target import TARGET

    points, allowed = targets.points, targets.allowed
    values = {
        "gold_offsets": points.offsets,
        "gold_parts": points.parts,
        "gold_values": points.values,
        "cost_offsets": cost.offsets,
        "cost_parts": cost.parts,
        "cost_values": cost.values,
        "sets": targets.sets,
        "variables": allowed.variables,
        "starts": allowed.starts,
        "ends": allowed.ends,
        "allowed_offsets": allowed.offsets,
        "allowed": allowed.parts,
    }
    return packed(TARGET, storage, values, {})
