"""Features whose scores are restricted: parts that no output of training may have score -inf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.errors import InfeasibleError
from structopt.kernels.waist.record import Array


class RestrictedFeatures(Scorer):
    """Linear features, with the score -inf at some parts of one batch.

    Parameters
    ----------
    features : SparseFeatures
    forbidden : bool, shape (parts,)
    """

    cheap = True

    def __init__(self, features: SparseFeatures, forbidden: Array) -> None:
        self.features, self.forbidden = features, forbidden
        self.dimension = features.dimension

    def prepare(self, encoded: Encoded, structure: Structure) -> tuple[Any, Array]:
        """Return the prepared features, and the begins of the instances."""
        return self.features.prepare(encoded, structure), structure.parts

    def scores(self, theta: Array, prepared: tuple[Any, Array], instances: Array) -> Array:
        """Return the scores of some instances, with -inf at forbidden parts."""
        of_features, parts = prepared
        scores = np.array(self.features.scores(theta, of_features, instances))
        own = [self.forbidden[parts[i] : parts[i + 1]] for i in instances.tolist()]
        scores[np.concatenate([np.zeros(0, bool), *own])] = -np.inf
        return scores

    def pullback(
        self, theta: Array, prepared: tuple[Any, Array], instances: Array, residuals: Array
    ) -> Array:
        """See `Scorer`; residuals at forbidden parts are 0."""
        return self.features.pullback(theta, prepared[0], instances, residuals)

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Self:
        """Return these features, which belong to one batch."""
        return self

    def state(self) -> NoReturn:
        """Refuse: the restriction belongs to one batch."""
        raise NotImplementedError

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> NoReturn:
        """Refuse: the restriction belongs to one batch."""
        raise NotImplementedError


def unrestricted(scorer: Scorer) -> Scorer:
    """Return the features of a scorer without restrictions."""
    return scorer.features if isinstance(scorer, RestrictedFeatures) else scorer


def refuse_forbidden_gold(losses: Array) -> None:
    """Refuse instances whose gold outputs are all forbidden, given their losses.

    Raises
    ------
    InfeasibleError
    """
    wrong = np.flatnonzero(~(losses < np.inf))
    if len(wrong):
        raise InfeasibleError(
            "The gold output has parts that `restricted` forbids.", instances=wrong.tolist()
        )
