"""Relative frequencies in the gold outputs, as weights: the generative model of a graph that has
one.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

UNSEEN = 0.01
"""The count of what the gold outputs do not have."""


def weights(
    scorer: Scorer, encoded: Encoded, structure: Structure, gold: SparseVectors, graph: FactorGraph
) -> Array:
    """Weights log n(a, c) / n(class of c) of attributes a and configurations c, shape (dimension,).

    n counts the gold outputs; what they do not have counts as `UNSEEN`. Groups without classes keep
    zero weights, and so do weights that may not move.

    Parameters
    ----------
    scorer : Scorer
        Fitted.
    encoded, structure : the training corpus and its graphs
    gold : SparseVectors
        Its gold outputs.
    graph : FactorGraph
        Fitted; its `classes` say what is normalised.

    Raises
    ------
    ConfigError
        Where the graph has no classes, or the features no weight for every attribute and
        configuration.
    """
    classes = graph.classes
    if (
        not isinstance(scorer, SparseFeatures)
        or not classes
        or scorer.tables_of(np.zeros(scorer.dimension)) is None
    ):
        names = f"{type(graph).__name__}() with {type(scorer).__name__}()"
        raise ConfigError(
            f"Relative frequencies make a generative model, and {names} is none.",
            remedy="Use Grammar() with AttributeRows(), or leave warm_start out.",
        )
    found = {}
    for name, counts in (scorer.tables_of(_counts(scorer, encoded, structure, gold)) or {}).items():
        if name in classes and counts.size:
            of_class = classes[name]
            totals = np.bincount(of_class, counts.sum(axis=0), int(of_class.max()) + 1)
            found[name] = np.log(np.maximum(counts, UNSEEN) / np.maximum(totals[of_class], 1.0))
    frequencies = scorer.vector_of(found)
    return frequencies if scorer.support is None else np.where(scorer.support, frequencies, 0.0)


def _counts(
    scorer: SparseFeatures, encoded: Encoded, structure: Structure, gold: SparseVectors
) -> Array:
    """How often the gold outputs have each feature."""
    counts, record = np.zeros(scorer.dimension), scorer.record(encoded, structure)
    for i in range(len(structure)):
        own = slice(*gold.offsets[i : i + 2])
        z = np.zeros(int(structure.parts[i + 1] - structure.parts[i]))
        z[gold.parts[own]] = gold.values[own]
        scorer.kernels.accumulate(record, i, z, counts)
    return counts
