"""Models of arrays: weights that predict outputs of other batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.inference import Inference
from structopt.core.parts.parts import Parts
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError
from structopt.features.sparse_map import SparseMap
from structopt.kernels.waist.record import Array
from structopt.objective import scoring
from structopt.verbs.features import ArrayFeatures
from structopt.verbs.outputs import Best, argmax


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """A trained linear model whose inputs and outputs are arrays.

    Attributes
    ----------
    graph : FactorGraph
        With a method ``batch``.
    options : mapping
        Arguments of the graph's ``batch`` that all batches share, such as labels.
    scorer : SparseFeatures
        The layout of the weights.
    weights : float64, shape (dimension,), read-only
    features : ArrayFeatures
        Features of training, whose groups `scores` expects.
    inference : Inference
    """

    graph: Any
    options: Mapping[str, Any]
    scorer: Any
    weights: Array
    features: ArrayFeatures
    inference: Inference

    @cached_property
    def coef(self) -> dict[str, Array]:
        """The weights by part groups, shape (features, configurations); read-only.

        Groups without features have one row. Weights of a `SparseMap` are the group ``part``.
        """
        tables = self.scorer.tables_of(self.weights) or {}
        for table in tables.values():
            table.setflags(write=False)
        return tables

    def scores(
        self, x: Mapping[str, Any] | None = None, features: SparseMap | None = None, **sizes: Any
    ) -> Parts:
        """Return the part scores of a new batch, nats.

        Parameters
        ----------
        x, features
            As of `Problem`.
        **sizes
            Arguments of the graph's ``batch``: ``lengths=[4]``, or ``mask=``.

        Raises
        ------
        ArgumentError
            For other groups, or other numbers of features, than in training.
        """
        fixed = {name: one for name, one in self.options.items() if not isinstance(one, list)}
        batch = self.graph.batch(**{**fixed, **sizes})
        given = ArrayFeatures.of(batch, x or {}, features)
        if (given.map is None) != (self.features.map is None):
            raise ArgumentError("must be given as in training.", parameter="features")
        missing = sorted(set(self.features.tables) ^ set(given.tables))
        if missing:
            raise ArgumentError(
                f"must have the groups {', '.join(self.features.tables) or 'of no name'}.",
                parameter="x",
                value=sorted(given.tables),
            )
        for name, table in given.tables.items():
            known = self.features.tables[name].size
            if table.size != known:
                raise ArgumentError(
                    f"has {table.size} features, and training had {known}.",
                    parameter=f"x[{name!r}]",
                )
        scorer, structure = self._laid_out(given, batch)
        prepared = scorer.prepare(batch.encoded, structure)
        every = np.arange(len(batch.kept))
        flat = scoring.scores_of(scorer, self.weights, prepared, structure, every)
        return Parts(batch, flat, -np.inf)

    def _laid_out(self, given: ArrayFeatures, batch: Any) -> tuple[SparseFeatures, Any]:
        scorer, structure = given.laid_out(batch.encoded, batch.structure)
        if scorer.dimension != len(self.weights):
            raise ArgumentError(
                f"has {scorer.dimension} weights, and the model has {len(self.weights)}.",
                parameter="features",
            )
        return scorer, structure

    def predict(
        self, x: Mapping[str, Any] | None = None, features: SparseMap | None = None, **sizes: Any
    ) -> Best:
        """Return the best outputs of a new batch, given the arguments of `scores`."""
        return argmax(self.scores(x, features, **sizes), self.inference)
