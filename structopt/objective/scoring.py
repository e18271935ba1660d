"""Scorers of either contract as drivers and files need them: kernels, records, batches, states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.structure import Structure
from structopt.core.entry_points import name_of
from structopt.core.scorer import BatchMap, FeatureKernels, FeatureScratch, Scorer, SparseFeatures
from structopt.errors import ConfigError
from structopt.kernels.waist.record import EMPTY, Array, Record


def kernels_of(scorer: Scorer) -> FeatureKernels:
    """The kernels of sparse features; for other scorers, kernels that copy scores computed before
    the driver runs.
    """
    if isinstance(scorer, SparseFeatures):
        return scorer.kernels
    return copying_kernels()


def copying_kernels() -> FeatureKernels:
    """Kernels that copy scores computed before the driver runs."""
    from structopt.kernels.features import precomputed_scores as k

    return FeatureKernels(
        k.scores, k.pullback, k.add, k.add_both, k.dot, k.flatten, k.accumulate, k.spans
    )


def record_of(
    scorer: Scorer, encoded: Encoded, structure: Structure, scores_only: bool = False
) -> Record:
    """The record that these kernels open: the features, or where the scores of each instance
    begin; with `scores_only` without the fields that only gradients read.
    """
    if not isinstance(scorer, SparseFeatures):
        return precomputed_scores(structure, 0)
    pack = scorer.scores_record if scores_only else scorer.record
    return pack(encoded, structure)


def precomputed_scores(structure: Structure, first: int) -> Record:
    """The record of kernels that copy scores, computed for consecutive instances from `first`
    on.
    """
    from structopt.kernels.features.precomputed_scores import PRECOMPUTED

    return PRECOMPUTED.pack(begin=int(structure.parts[first]), parts=structure.parts)


def scratch_of(scorer: Scorer, encoded: Encoded, structure: Structure) -> FeatureScratch:
    """Scratch of one thread for gradients of single instances; empty where the scorer has none."""
    return (
        scorer.scratch(encoded, structure)
        if isinstance(scorer, SparseFeatures)
        else FeatureScratch(EMPTY, 0, 0)
    )


def batch_of(scorer: Scorer, encoded: Encoded, structure: Structure) -> BatchMap:
    """The features of a corpus for evaluations over all its instances."""
    return (
        scorer.batch(encoded, structure)
        if isinstance(scorer, SparseFeatures)
        else AllScores(scorer, encoded, structure)
    )


def scores_of(
    scorer: Scorer, weights: Array, prepared: Any, structure: Structure, instances: Array
) -> Array:
    """Part scores of some instances, in a new array.

    Raises
    ------
    ConfigError
        If the scorer returns more or fewer.
    """
    scores = np.array(scorer.scores(weights, prepared, instances), dtype=np.float64)
    _check_shape(scorer, "scores", scores, int(np.diff(structure.parts)[instances].sum()))
    return scores


def training_of(
    scorer: Scorer,
    weights: Array,
    prepared: Any,
    structure: Structure,
    instances: Array,
    noise: Sequence[int],
) -> tuple[Array, Callable[[Array], Array]]:
    """Part scores of some instances in training, in a new array, and the function from residuals to
    the gradient.

    Raises
    ------
    ConfigError
        If the scorer returns more or fewer scores, or a gradient of another length.
    """
    scores, pullback = scorer.training(weights, prepared, instances, noise)
    copied = np.array(scores, dtype=np.float64)
    _check_shape(scorer, "scores", copied, int(np.diff(structure.parts)[instances].sum()))

    def gradient(residuals: Array) -> Array:
        vector = np.ascontiguousarray(pullback(residuals), dtype=np.float64)
        _check_shape(scorer, "gradient", vector, scorer.dimension)
        return vector

    return copied, gradient


def gradient_of(
    scorer: Scorer, weights: Array, prepared: Any, instances: Array, residuals: Array
) -> Array:
    """Gradient by the weights, given residuals over the parts of some instances.

    Raises
    ------
    ConfigError
        If the scorer returns a vector of another length.
    """
    gradient = np.ascontiguousarray(
        scorer.pullback(weights, prepared, instances, residuals), dtype=np.float64
    )
    _check_shape(scorer, "gradient", gradient, scorer.dimension)
    return gradient


def _check_shape(scorer: Scorer, what: str, array: Array, size: int) -> None:
    if array.shape != (size,):
        name = name_of("features", scorer)
        raise ConfigError(
            f"gave {what} of shape {array.shape}, where ({size},) was asked for.",
            parameter="features",
            value=name,
        )


class AllScores:
    """A scorer in evaluations over all instances of a corpus: see `structopt.core.scorer.BatchMap`.

    The widened weights are the part scores.

    Parameters
    ----------
    scorer : Scorer
    encoded, structure : the corpus and its graphs
    """

    coordinates = None

    def __init__(self, scorer: Scorer, encoded: Encoded, structure: Structure) -> None:
        self.scorer, self.structure = scorer, structure
        self.record, self.instances = precomputed_scores(structure, 0), np.arange(len(structure))
        self.prepared = scorer.prepare(encoded, structure)
        self._weights = np.zeros(scorer.dimension)

    @contextmanager
    def widened(self, moving: Array) -> Iterator[Array]:
        """Lend the scores at these weights, where the next `gradient` is then taken."""
        self._weights = self.scorer.expand(moving, np.empty(self.scorer.dimension))
        yield scores_of(self.scorer, self._weights, self.prepared, self.structure, self.instances)

    def gradient(self, residuals: Array) -> Array:
        """sum_i (ds_i / dtheta)^T r_i, at the weights that may move."""
        return self.scorer.compress(
            gradient_of(self.scorer, self._weights, self.prepared, self.instances, residuals)
        )


def stored(scorer: Scorer) -> tuple[dict[str, Any], dict[str, Array]]:
    """The state of a scorer, with its name among the JSON values."""
    layout, arrays = scorer.state()
    return {"name": name_of("features", scorer), **layout}, arrays
