"""Weights before any learning, ``warm_start=counts``: those that a task knows by name, or relative
frequencies.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.objective import relative_frequencies


def weights(
    task: Task,
    scorer: Scorer,
    encoded: Encoded,
    structure: Structure,
    gold: SparseVectors,
    graph: FactorGraph,
) -> Array:
    """Weights of the model that learns nothing, shape (dimension,): see `Task.unlearned` and
    `relative_frequencies.weights`.

    Raises
    ------
    ConfigError
        Where neither the task nor the graph has any, or the features lack an attribute that the
        task names.
    """
    if not task.unlearned:
        return relative_frequencies.weights(scorer, encoded, structure, gold, graph)
    tables = (
        scorer.tables_of(np.zeros(scorer.dimension)) if isinstance(scorer, SparseFeatures) else None
    )
    for group, named in task.unlearned.items():
        names = list(task.attribute_names(group))
        for name, value in named.items():
            if tables is None or group not in tables or name not in names:
                raise ConfigError(
                    f"weighs the attribute '{name}' of each {group}, and these features have none.",
                    parameter="warm_start",
                    value="counts",
                    remedy=f"Use AttributeRows() with '{name}' among "
                    f"`{group}s`, or leave warm_start out.",
                    kinds={f"{group}s": "features"},
                )
            tables[group][names.index(name)] = value
    values = (
        scorer.vector_of(tables)
        if tables and isinstance(scorer, SparseFeatures)
        else np.zeros(scorer.dimension)
    )
    return values if scorer.support is None else np.where(scorer.support, values, 0.0)
