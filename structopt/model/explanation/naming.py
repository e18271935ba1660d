"""Names of weights: the task's and the graph's, and for hashed features those that occur in a
corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from structopt.config import registry
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError
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
