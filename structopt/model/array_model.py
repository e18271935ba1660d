"""Models of arrays: weights that predict outputs of other batches, without a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from structopt.config import registry
from structopt.core.component import Component, parameters_of
from structopt.core.entry_points import installed, name_of
from structopt.core.inference import Inference
from structopt.core.parts.parts import Parts
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError, ModelError
from structopt.features.sparse_map import PART, SparseMap
from structopt.kernels.waist.record import Array
from structopt.model.folder import ARRAY_MODEL, SavedModel, read_folder, write_folder
from structopt.model.restoring import restored_scorer, restoring
from structopt.objective import scoring
from structopt.verbs.features import ArrayFeatures, with_tables
from structopt.verbs.outputs import Best, argmax

KINDS = ("factor_graph", "inference")


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """A trained linear model whose inputs and outputs are arrays.

    Attributes
    ----------
    graph : FactorGraph
        With a method ``batch``.
    options : mapping
        Arguments of ``batch`` that all batches share, such as labels.
    inference : Inference
        By which it predicts.
    weights : float64, shape (dimension,)
    features : mapping of str to int, or None
        Numbers of features by groups of parts; None: a `SparseMap` has the features.
    scorer : SparseFeatures
        The layout of the weights.
    about : mapping
        JSON values that an estimator saves with its model.
    """

    graph: Any
    options: Mapping[str, Any]
    inference: Inference
    weights: Array
    features: Mapping[str, int] | None
    scorer: SparseFeatures
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def coef(self) -> dict[str, Array]:
        """The weights by part groups, shape (features, configurations); read-only.

        Groups without features have one row. Weights of a `SparseMap` are the group ``part``.
        """
        if self.features is None:
            tables = {PART: self.weights[:, None].copy()}
        else:
            tables = self.scorer.tables_of(self.weights) or {}
            for name in tables:
                order = self.graph.configuration_order(name, **self.options)
                if order is not None:
                    tables[name] = tables[name][:, np.argsort(order)]
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
            As of `structopt.Problem`.
        **sizes
            Arguments of the graph's ``batch``: ``lengths=[4]``, or ``mask=``.

        Raises
        ------
        ArgumentError
            For other groups, or other numbers of features, than in training.
        """
        batch = self.graph.batch(**{**self.options, **sizes})
        given = ArrayFeatures.of(batch, x or {}, features)
        if (given.map is None) != (self.features is not None):
            raise ArgumentError("must be given if training had it.", parameter="features")
        counts = {name: table.size for name, table in given.tables.items()}
        expected = {} if self.features is None else self.features
        if set(counts) != set(expected):
            raise ArgumentError(
                f"must have the groups {', '.join(expected)} of training.",
                parameter="x",
                value=sorted(counts),
            )
        for name, count in counts.items():
            if count != expected[name]:
                raise ArgumentError(
                    f"has {count} features, and training had {expected[name]}.",
                    parameter=f"x[{name!r}]",
                )
        structure = with_tables(batch.structure, given.tables)
        scorer = given.laid_out(batch.encoded, structure)
        if scorer.dimension != len(self.weights):
            raise ArgumentError(
                f"has {scorer.dimension} weights, and the model has {len(self.weights)}.",
                parameter="features",
            )
        prepared = scorer.prepare(batch.encoded, structure)
        every = np.arange(len(batch.kept))
        flat = scoring.scores_of(scorer, self.weights, prepared, structure, every)
        return Parts(batch, flat, -np.inf)

    def predict(
        self, x: Mapping[str, Any] | None = None, features: SparseMap | None = None, **sizes: Any
    ) -> Best:
        """Return the best outputs of a new batch, given the arguments of `scores`."""
        return argmax(self.scores(x, features, **sizes), self.inference)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `structopt.load` reads it.

        Raises
        ------
        ArgumentError
            If a component does not keep the arguments of its constructor.
        """
        layout, arrays = ({}, {}) if self.features is None else scoring.stored(self.scorer)
        config = {
            "factor_graph": _node("factor_graph", self.graph),
            "inference": _node("inference", self.inference),
            ARRAY_MODEL: {"options": dict(self.options), "features": self.features},
        }
        vocabulary = {"features": layout, **({"about": dict(self.about)} if self.about else {})}
        saved = SavedModel(config, vocabulary, {**arrays, "weights": self.weights})
        write_folder(Path(folder), saved, {})

    @classmethod
    def load(cls, folder: Path, components: Sequence[type[Component]] = ()) -> Self:
        """Read the folder of a model.

        Parameters
        ----------
        folder : Path
        components : sequence of classes
            Classes of components without registered names. No code of the folder is run.

        Raises
        ------
        ModelError
            If files are missing or altered, and for classes that are neither registered nor given.
        """
        saved = read_folder(folder, ARRAY_MODEL)
        graph, inference = (_created(folder, kind, saved.config, components) for kind in KINDS)
        with restoring(folder, "the model"):
            state = saved.config[ARRAY_MODEL]
            weights, features = saved.arrays["weights"], state["features"]
            if features is None:
                scorer: Any = SparseMap.of_weights(len(weights))
            else:
                scorer = restored_scorer(saved.vocabulary["features"], saved.arrays)
            if weights.shape != (scorer.dimension,):
                raise ModelError(f"has {len(weights)} weights, and not {scorer.dimension}.")
            about = dict(saved.vocabulary.get("about", {}))
            options = dict(state["options"])
            return cls(graph, options, inference, weights, features, scorer, about)


def _node(kind: str, component: Component) -> dict[str, Any]:
    """Return the name and the arguments of a component, of unregistered ones the class."""
    cls, parameters = type(component), parameters_of(component)
    word = name_of(kind, component)
    known = word in installed(kind) and registry.load(kind, word) is cls
    return {"name": word, **parameters} if known else {"class": cls.__name__, **parameters}


def _created(
    folder: Path, kind: str, config: Mapping[str, Any], components: Sequence[type[Component]]
) -> Any:
    """Make a component of a saved node."""
    node = dict(config[kind])
    if "class" not in node:
        with restoring(folder, f"{kind}={node.get('name')}"):
            return registry.create(kind, node)
    name = node.pop("class")
    for cls in components:
        if cls.__name__ == name and issubclass(cls, registry.contract(kind)):
            with restoring(folder, f"the class {name}"):
                return cls(**node)
    raise ModelError(
        f"needs the class {name}, which is not registered.",
        where=str(folder),
        remedy=f"Give it: structopt.load(folder, components=[{name}]).",
    )
