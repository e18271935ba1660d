"""Edges between the variables of graphs: those of a corpus, checked, and those of complete
graphs.
"""

from __future__ import annotations

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import EncodedGraphs
from structopt.core.parts.ragged import ends_of
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

Edges = tuple[Array, Array]
"""Where the edges of each instance begin, and the two variables of each, as in
`EncodedGraphs.edges`.
"""


def grid_edges(rows: int, columns: int) -> Array:
    """Return the edges of a grid, whose variables are numbered row by row, shape (edges, 2).

    Raises
    ------
    ArgumentError
        If `rows` or `columns` is not an integer, or is below 1.
    """
    for name, count in (("rows", rows), ("columns", columns)):
        checks.integers(name, count, 1, shape=())
    numbers = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def check_edges(graphs: EncodedGraphs) -> None:
    """Refuse edges that the graphs cannot have."""
    begin, joined = graphs.edges
    if len(begin) != len(graphs) + 1 or joined.shape != (int(begin[-1]), 2):
        raise ConfigError(
            f"must have {len(graphs) + 1} offsets and an array of the shape ({int(begin[-1])}, 2), "
            f"and has {len(begin)} offsets and the shape {joined.shape}.",
            parameter="edges",
        )
    variables = np.repeat(np.diff(graphs.offsets), np.diff(begin))
    wrong = np.flatnonzero(
        (joined[:, 0] < 0) | (joined[:, 0] >= joined[:, 1]) | (joined[:, 1] >= variables)
    )
    if len(wrong):
        edge = int(wrong[0])
        instance = int(np.searchsorted(begin, edge, side="right"))
        raise ConfigError(
            f"must have two different variables from 0 to {int(variables[edge]) - 1}, the lower "
            "one first.",
            parameter="edges",
            value=joined[edge].tolist(),
            where=checks.of_instance((instance - 1,)),
        )


def same_graph(graphs: EncodedGraphs, edges: Edges) -> tuple[int, int]:
    """Numbers of variables and edges of wide graphs, which all must have the same."""
    begin, joined = edges
    sizes = np.stack([np.diff(graphs.offsets), np.diff(begin)], axis=1)
    if not len(sizes):
        return 0, 0
    other = (sizes != sizes[0]).any(axis=1)
    if not other.any():
        other = (joined.reshape(len(sizes), -1) != joined[: sizes[0, 1]].ravel()).any(axis=1)
    if other.any():
        raise ConfigError(
            "differs from instance 0 in its variables or edges, but wide graphs have one weight "
            "vector per variable and edge.",
            where=checks.of_instance((int(other.argmax()),)),
            remedy="Encode the graphs with wide=False.",
        )
    return int(sizes[0, 0]), int(sizes[0, 1])


def complete_edges(offsets: Array) -> Edges:
    """Edges between every two variables of each instance, in lexicographic order."""
    lengths = np.diff(offsets)
    edges = {
        n: np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
        for n in np.unique(lengths).tolist()
    }
    joined = np.concatenate([np.zeros((0, 2), np.int32), *(edges[n] for n in lengths.tolist())])
    return ends_of(lengths * (lengths - 1) // 2), joined
