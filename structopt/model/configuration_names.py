"""Names of the configurations of parts, by which weights of two models are matched and explanations
speak.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from structopt.core.factor_graph import FactorGraph
from structopt.core.task import Task


def configuration_names(task: Task, graph: FactorGraph, group: str, width: int) -> list[Any]:
    """Names of the configurations of a part: as graph or task call them, or tuples of labels; in
    their order.
    """
    for names in (graph.configuration_names(group), task.configuration_names(group)):
        if names is not None:
            return list(names)
    labels, length = tuple(task.labels), 1
    while len(labels) ** length < width:
        length += 1
    return list(product(labels, repeat=length))
