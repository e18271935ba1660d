"""Names of weights: the task's and the graph's, and for hashed features those that occur in a
corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from structopt.config import registry
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.model.configuration_names import configuration_names
from structopt.templates.column_codes import FIRST

CONSTANT = "always"
"""The name of the attribute that every position has, where there are others."""


class ModelNames:
    """What task and graph call attributes, configurations and values: see
    `structopt.core.weights.coordinates.Names`.
    """

    def __init__(self, task: Task, graph: FactorGraph) -> None:
        self.task, self.graph = task, graph
        self.attributes, self.configurations = cache(self._attributes), cache(self._configurations)
        self.values = cache(self._values)

    def _attributes(self, group: str, size: int) -> Sequence[str]:
        known = list(self.task.attribute_names(group))[:size]
        rest = size - len(known)
        if rest == 1:
            return [*known, CONSTANT if known else ""]
        return [*known, *(f"number {k}" for k in range(1, rest + 1))]

    def _configurations(self, group: str, width: int) -> Sequence[str]:
        names = [
            text_of(name) for name in configuration_names(self.task, self.graph, group, width)
        ][:width]
        return names if width > 1 or group == "label" else [""]

    def _values(self, column: str) -> Mapping[int, str]:
        prefix = f"{column}="
        values = [
            name.removeprefix(prefix)
            for name in self.task.vocabulary().get("values", ())
            if name.startswith(prefix)
        ]
        return dict(enumerate(values, FIRST))


def text_of(name: Any) -> str:
    """The name of a configuration as text: labels of neighbours with an arrow between them, states
    of variables as equations.
    """
    if not isinstance(name, (tuple, list)):
        return str(name)
    if all(isinstance(one, (tuple, list)) for one in name):
        return " & ".join("=".join(map(str, one)) for one in name)
    return " → ".join(map(str, name))


def linear(scorer: Scorer) -> SparseFeatures:
    """The scorer, if its scores are sums of weights.

    Raises
    ------
    ConfigError
        For others, which no list of attributes explains.
    """
    if isinstance(scorer, SparseFeatures):
        return scorer
    raise ConfigError(
        f"explain: scores of features={registry.name_of('features', scorer)} are no sums of "
        "weights of attributes, so that no "
        "attribute has a share of them. Models with features=attribute_rows or templates can be "
        "explained."
    )


class WeightRows(NamedTuple):
    """An array over the weights of a part group as a table whose rows and columns have names.

    Attributes
    ----------
    group : str
    attributes : sequence of str
        Names of the rows; `CONSTANT` or empty for the one that every position has.
    configurations : list
        Names of the columns: a label, or a tuple of the labels of neighbours.
    table : array, shape (attributes, configurations)
    """

    group: str
    attributes: Sequence[str]
    configurations: list[Any]
    table: Array


def shared_weights(scorer: Scorer) -> str:
    """Return why the rows of weights have no names; empty if each row has one."""
    if not isinstance(scorer, SparseFeatures):
        return "scores are not sums of weights of attributes"
    if scorer.tables_of(np.zeros(scorer.dimension, bool)) is None:
        return "features are hashed, so several of them share a weight"
    return ""


def weight_rows(
    names: ModelNames, scorer: Scorer, array: Array, absent: float = 0
) -> list[WeightRows]:
    """Return an array over the weights of a model by name, a table per part group.

    Parameters
    ----------
    names : ModelNames
        Names of the model's task and graph.
    scorer : Scorer
    array : array, shape (dimension,)
    absent : float
        The entries of pairs that have no weight.

    Raises
    ------
    ConfigError
        If weights have no names: see `shared_weights`.
    """
    if reason := shared_weights(scorer):
        name = registry.name_of("features", scorer)
        raise ConfigError(
            f"The weights of features={name} have no names: {reason}.",
            remedy="Train with attributes that have names, such as features.templates.",
        )
    assert isinstance(scorer, SparseFeatures)
    return [
        WeightRows(
            group,
            names.attributes(group, len(table)),
            configuration_names(names.task, names.graph, group, table.shape[1])[: table.shape[1]],
            table,
        )
        for group, table in (scorer.tables_of(array, absent) or {}).items()
    ]
