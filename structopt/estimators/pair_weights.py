"""Weights of graphs with pairs: which scores share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from structopt.core import checks
from structopt.core.parts.batch import Batch
from structopt.core.parts.ragged import ends_of
from structopt.errors import ArgumentError
from structopt.estimators.graph_arrays import Graphs, Widths
from structopt.features.sparse_map import SparseMap
from structopt.kernels.waist.record import Array

SHARES = ("all", "type")


@dataclass(frozen=True)
class PairWeights:
    """A table of weights for the nodes of each type, and one for the edges of each block.

    An edge with the features e scores e . V[:, a, b] for the labels a and b of its ends. Symmetric
    features have V[f] = V[f]^T, and antisymmetric ones V[f] = -V[f]^T. Weights are coordinates in
    an orthonormal basis of such tables, so that ||theta|| is the norm of all tables.

    Parameters
    ----------
    widths : Widths
    classes : sequence of int
        Labels of each node type.
    share : str
        ``all``: edges between the same node types are one block. ``type``: each edge type is one.
    symmetric, antisymmetric : sequence of int
        Indices of edge features; they hold for edges between nodes of the same type.
    """

    widths: Widths
    classes: tuple[int, ...]
    share: str
    symmetric: tuple[int, ...]
    antisymmetric: tuple[int, ...]

    def check(self) -> None:
        """Refuse parameters that do not agree with the features.

        Raises
        ------
        ArgumentError
        """
        if self.share not in SHARES:
            raise ArgumentError(
                "is unknown.",
                parameter="share",
                value=self.share,
                remedy=f"Choose one of: {', '.join(SHARES)}.",
            )
        most = min(self.widths[1]) - 1
        for name in ("symmetric", "antisymmetric"):
            chosen = getattr(self, name)
            if chosen:
                checks.integers(name, list(chosen), 0, most, (None,))
        if both := set(self.symmetric) & set(self.antisymmetric):
            raise ArgumentError(
                "has a feature that is symmetric, too.", parameter="antisymmetric", value=min(both)
            )
        for block in range(max(self.blocks) + 1):
            own = {self.widths[1][k] for k, one in enumerate(self.blocks) if one == block}
            if len(own) > 1:
                raise ArgumentError(
                    f"shares weights among edge types with {' and '.join(map(str, sorted(own)))} "
                    "features.",
                    parameter="share",
                    value=self.share,
                    remedy="Set share='type'.",
                )

    @property
    def ends(self) -> list[tuple[int, int]]:
        """The node types of the ends of each edge type."""
        types = len(self.classes)
        if types == 1:
            return [(0, 0)] * len(self.widths[1])
        return list(product(range(types), range(types)))

    @property
    def blocks(self) -> list[int]:
        """The block of weights of each edge type."""
        if self.share == "type":
            return list(range(len(self.widths[1])))
        numbers: dict[tuple[int, int], int] = {}
        return [numbers.setdefault(ends, len(numbers)) for ends in self.ends]

    @property
    def plain(self) -> bool:
        """Whether each score of a label and each of a pair of labels has weights of its own."""
        return len(self.classes) == 1 and not (self.symmetric or self.antisymmetric)

    @cached_property
    def node_columns(self) -> Array:
        """The weight of a feature and a label, or -1, int64, shape (features, labels)."""
        begins, columns = ends_of(np.array(self.classes)), []
        count = 0
        for t, width in enumerate(self.widths[0]):
            own = np.full((width, int(begins[-1])), -1)
            size = width * self.classes[t]
            own[:, begins[t] : begins[t + 1]] = count + np.arange(size).reshape(width, -1)
            columns.append(own)
            count += size
        return np.concatenate(columns)

    @cached_property
    def pair_columns(self) -> tuple[Array, Array]:
        """The weight of a feature and a pair of labels, or -1, int64, shape (features, labels,
        labels); and the factor by which it counts.
        """
        begins = ends_of(np.array(self.classes))
        columns, factors, count = [], [], int(self.node_columns.max(initial=-1)) + 1
        for block in range(max(self.blocks) + 1):
            k = self.blocks.index(block)
            (t, u), width = self.ends[k], self.widths[1][k]
            own = np.full((width, *[int(begins[-1])] * 2), -1)
            factor = np.ones(own.shape)
            for f in range(width):
                table, scale, size = self._table(f, t, u)
                corner = f, slice(*begins[t : t + 2]), slice(*begins[u : u + 2])
                own[corner] = np.where(table >= 0, count + table, -1)
                factor[corner] = scale
                count += size
            columns.append(own)
            factors.append(factor)
        return np.concatenate(columns), np.concatenate(factors)

    def _table(self, f: int, t: int, u: int) -> tuple[Array, Array, int]:
        """Return the weights of a feature of edges, or -1, their factors, and their number."""
        K, L = self.classes[t], self.classes[u]
        sign = (f in self.symmetric) - (f in self.antisymmetric)
        if not sign or t != u:
            return np.arange(K * L).reshape(K, L), np.ones((K, L)), K * L
        one, other = np.triu_indices(K, sign < 0)
        table, scale = np.full((K, K), -1), np.ones((K, K))
        table[one, other] = table[other, one] = np.arange(len(one))
        off = one != other
        scale[one[off], other[off]] = 1 / sqrt(2)
        scale[other[off], one[off]] = sign / sqrt(2)
        return table, scale, len(one)

    @property
    def dimension(self) -> int:
        """Number of weights."""
        every = self.node_columns, self.pair_columns[0]
        return 1 + max(int(one.max(initial=-1)) for one in every)

    def tables(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights of features and labels, shape (features, labels), and of features and
        pairs of labels, shape (features, labels, labels).
        """
        columns, factors = self.pair_columns
        return _taken(weights, self.node_columns), factors * _taken(weights, columns)

    def tables_by_type(self, weights: Array) -> tuple[list[Array], list[Array]]:
        """Return the tables of each node type and of each edge type, with its own labels."""
        nodes, pairs = self.tables(weights)
        begins, rows = ends_of(np.array(self.classes)), ends_of(np.array(self.widths[0]))
        own = [slice(*begins[t : t + 2]) for t in range(len(self.classes))]
        sizes = [self.widths[1][self.blocks.index(b)] for b in range(max(self.blocks) + 1)]
        edges = ends_of(np.array(sizes))
        return (
            [nodes[rows[t] : rows[t + 1], one] for t, one in enumerate(own)],
            [
                pairs[edges[b] : edges[b + 1], own[t], own[u]]
                for b, (t, u) in zip(self.blocks, self.ends, strict=True)
            ],
        )

    def features(self, batch: Batch, graphs: Graphs) -> dict[str, Any]:
        """Return the features as `structopt.Problem` takes them: ``x``, or a `SparseMap` if scores
        share weights.
        """
        nodes, edges = graphs.node_table, graphs.edge_table(self.blocks)
        turned = any((one[:, 0] > one[:, 1]).any() for one in graphs.edges)
        if self.plain and not turned:
            return {"x": {"label": nodes, "edge": edges}}
        columns, factors = self.pair_columns
        none = np.ones(self.node_columns.shape)
        entries = [
            _entries(batch, "label", nodes, self.node_columns, none),
            _entries(batch, "edge", edges, columns, factors),
        ]
        rows, weights, values = (np.concatenate(one) for one in zip(*entries, strict=True))
        shape = int(batch.offsets[-1]), self.dimension
        return {"features": SparseMap(csr_array((values, (rows, weights)), shape))}

    def scores(self, batch: Batch, graphs: Graphs, weights: Array) -> Any:
        """Return the scores of a batch, nats."""
        nodes, pairs = self.tables(weights)
        label = graphs.node_table @ nodes
        edge = graphs.edge_table(self.blocks) @ pairs.reshape(len(pairs), -1)
        edge = edge.reshape(-1, *pairs.shape[1:])
        ends = ends_of(np.array(list(map(len, graphs.edges))))
        groups = {"label": (label, graphs.offsets), "edge": (edge, ends)}
        return batch.scores(
            **{
                name: np.split(table, offsets[1:-1])
                for name, (table, offsets) in groups.items()
                if len(table)
            }
        )


def _taken(weights: Array, columns: Array) -> Array:
    """Return the weights of columns; 0 where there is none."""
    return np.where(columns >= 0, np.append(weights, 0.0)[columns], 0.0)


def _entries(
    batch: Batch, group: str, table: Any, columns: Array, factors: Array
) -> tuple[Array, Array, Array]:
    """Return the entries of the map from weights to the parts of a group: parts, weights, values.

    Parameters
    ----------
    batch : Batch
    group : str
    table : CSR array, shape (positions, features)
    columns, factors : shape (features, labels) or (features, labels, labels)
    """
    layout, index = batch.layout(group), batch.index(group)
    if layout.cells:
        element, *labels = np.nonzero(np.ones(index.shape))
    else:  # positions are states, or pairs of states
        counts = np.bincount(layout.instances, minlength=len(batch))
        extents = layout.extents[:, 0]
        element = layout.coordinates[:, 0] + np.repeat(ends_of(extents)[:-1], counts)
        labels = list(layout.coordinates[:, 1:].T)
    rows = table[element]
    owner = np.repeat(np.arange(len(element)), np.diff(rows.indptr))
    chosen = rows.indices, *(one[owner] for one in labels)
    weights = columns[chosen]
    kept = weights >= 0
    values = rows.data * factors[chosen]
    return index.ravel()[owner[kept]], weights[kept], values[kept]


def tuple_of(name: str, value: Any) -> tuple[int, ...]:
    """Return indices of features, given several or one."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, Sequence) and not isinstance(value, np.ndarray):
        raise ArgumentError("must be indices of edge features.", parameter=name, value=value)
    return tuple(checks.integers(name, list(value), 0, shape=(None,)).tolist())
