"""Graphs with features and labels, as arrays of users give them, one instance after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.sparse import block_diag, csr_array, issparse, vstack

from structopt.core import checks
from structopt.core.data.in_memory import is_missing, read_once
from structopt.core.parts.ragged import ends_of
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

Widths = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of features by node type, and by edge type."""
UNSEEN, UNKNOWN = -2, -1
"""Ids of a label that is not a class, and of one that is not known."""


@dataclass(frozen=True)
class Graphs:
    """Graphs with features.

    Attributes
    ----------
    lengths : int64, shape (instances,)
        Nodes of each graph.
    edges : list of int64 arrays, shape (edges, 2)
        Per graph; nodes are numbered through all node types of the graph.
    node_types : int64, shape (nodes,)
    edge_types : int64, shape (edges,)
    nodes, edge_features : tuple of CSR array
        Per type: a row per node or edge of the type.
    """

    lengths: Array
    edges: list[Array]
    node_types: Array
    edge_types: Array
    nodes: tuple[Any, ...]
    edge_features: tuple[Any, ...]

    @classmethod
    def of(cls, X: Any, widths: Widths | None = None) -> Self:
        """Read the instances of users: tuples (nodes, edges) or (nodes, edges, edge_features).

        Parameters
        ----------
        X : sequence of tuples
        widths : Widths or None
            The widths of training; None: read them from the first instances that show them.

        Raises
        ------
        ArgumentError
            For other forms and shapes, numbers that are not finite, and nodes that there are not.
        """
        if isinstance(X, (str, Mapping)) or not isinstance(X, Iterable):
            raise ArgumentError(
                "must be a list of tuples (nodes, edges) or (nodes, edges, edge_features).",
                parameter="X",
                value=X,
            )
        forms = [_Instance.of(x, i) for i, x in enumerate(X)]
        if not forms:
            raise ArgumentError("has no graphs.", parameter="X")
        names = "nodes", "edge_features"
        tables = tuple(
            _tables(name, [getattr(form, name) for form in forms], expected)
            for name, expected in zip(names, widths or (None, None), strict=True)
        )
        counts = np.array([form.counts for form in forms])
        edges = [np.concatenate(form.edges) for form in forms]
        node_types = [np.repeat(np.arange(len(one)), one) for one in counts]
        edge_types = [
            np.repeat(np.arange(len(form.edges)), list(map(len, form.edges))) for form in forms
        ]
        return cls(
            counts.sum(axis=1),
            edges,
            np.concatenate(node_types),
            np.concatenate(edge_types),
            *tables,
        )

    @property
    def widths(self) -> Widths:
        """Numbers of features by node type, and by edge type."""
        return tuple(t.shape[1] for t in self.nodes), tuple(t.shape[1] for t in self.edge_features)

    @property
    def offsets(self) -> Array:
        """Begin of the nodes of each graph, int64, shape (instances + 1,)."""
        return ends_of(self.lengths)

    @property
    def node_table(self) -> Any:
        """The features of all nodes, CSR; the columns of one node type after the other."""
        return _by_blocks(self.nodes, self.node_types)

    def edge_table(self, blocks: Sequence[int]) -> Any:
        """Return the features of all edges, CSR, given the block of columns of each edge type."""
        count = max(blocks) + 1
        tables = [
            vstack([self.edge_features[k] for k, own in enumerate(blocks) if own == block])
            for block in range(count)
        ]
        # rows are in the order of the edge types within each block
        of_edges = np.array(blocks)[self.edge_types]
        order = np.lexsort((np.arange(len(of_edges)), self.edge_types, of_edges))
        return _in_order(csr_array(block_diag(tables, format="csr")), order)


@dataclass(frozen=True)
class _Instance:
    """One graph: arrays per node type and per edge type; some may be empty lists."""

    nodes: list[Any]
    edges: list[Any]
    edge_features: list[Any]
    counts: list[int]

    @classmethod
    def of(cls, x: Any, i: int) -> Self:
        """Read a tuple."""
        if not isinstance(x, (tuple, list, np.ndarray)) or not 2 <= len(x) <= 3:
            raise ArgumentError(
                "must be a tuple (nodes, edges) or (nodes, edges, edge_features).",
                parameter="X",
                where=f"instance {i}",
            )
        nodes = _listed(x[0]) or [x[0]]
        pairs = len(nodes) ** 2 if len(nodes) > 1 else 0
        divided = _listed(x[1], pairs)
        edges = divided or [x[1]]
        if pairs and len(edges) != pairs:
            raise ArgumentError(
                f"must have an array per pair of the {len(nodes)} node types: {pairs}.",
                parameter="edges",
                where=f"instance {i}",
            )
        counts = [_rows("nodes", one, i) for one in nodes]
        ends = list(product(range(len(nodes)), repeat=2)) if pairs else [(0, 0)] * len(edges)
        begins = ends_of(np.array(counts))
        own = [
            _edges(one, [counts[t] for t in types], i) + begins[list(types)]
            for one, types in zip(edges, ends, strict=True)
        ]
        if len(x) == 2 or x[2] is None:
            return cls(nodes, own, [np.ones((len(e), 1)) if len(e) else [] for e in own], counts)
        features = list(x[2]) if divided and isinstance(x[2], (list, tuple)) else [x[2]]
        if len(features) != len(own):
            raise ArgumentError(
                f"has {len(features)} arrays, and edges has {len(own)}.",
                parameter="edge_features",
                where=f"instance {i}",
            )
        for one, table in zip(own, features, strict=True):
            if (rows := _rows("edge_features", table, i)) != len(one):
                raise ArgumentError(
                    f"has {rows} rows, and there are {len(one)} edges.",
                    parameter="edge_features",
                    where=f"instance {i}",
                )
        return cls(nodes, own, features, counts)


def _listed(value: Any, count: int = 0) -> list[Any]:
    """Return a list of tables, `count` of them if all are empty; no table if the value is one."""
    if not isinstance(value, (list, tuple)):
        return []
    several = any(issparse(one) or np.ndim(one) == 2 for one in value)
    empty = count > 0 and len(value) == count and all(np.size(one) == 0 for one in value)
    return list(value) if several or empty else []


def _rows(name: str, table: Any, i: int) -> int:
    """Return the number of rows of a table."""
    if issparse(table):
        return int(table.shape[0])
    shape = np.shape(np.asarray(table, object) if isinstance(table, list) else table)
    if len(shape) == 2 or shape == (0,):
        return int(shape[0])
    raise ArgumentError(
        f"has the shape {shape}, and not (rows, features).", parameter=name, where=f"instance {i}"
    )


def _edges(value: Any, counts: Sequence[int], i: int) -> Array:
    """Return pairs of nodes, int64, given how many nodes of both types there are."""
    place = checks.in_instance(i, "end")
    if issparse(value):
        raise ArgumentError("must be a dense array.", parameter="edges", where=f"instance {i}")
    if np.size(value) == 0:
        return np.zeros((0, 2), np.int64)
    pairs = checks.integers("edges", value, 0, shape=(None, 2), place=place)
    for end, count in enumerate(counts):
        beyond = pairs[:, end] >= count
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ArgumentError(
                f"must be below {count}, the number of nodes.",
                parameter="edges",
                value=int(pairs[row, end]),
                where=place((row, end)),
            )
    return pairs


def _tables(name: str, instances: Sequence[list[Any]], widths: Any) -> tuple[Any, ...]:
    """Return the tables of all instances, CSR, by type."""
    count = len(instances[0]) if widths is None else len(widths)
    for i, tables in enumerate(instances):
        if len(tables) != count:
            raise ArgumentError(
                f"has {len(tables)} arrays, and other instances have {count}: one per type.",
                parameter="edges" if name == "edge_features" else name,
                where=f"instance {i}",
            )
    return tuple(
        _table(name, [tables[t] for tables in instances], None if widths is None else widths[t])
        for t in range(count)
    )


def _table(name: str, tables: Sequence[Any], width: int | None) -> Any:
    """Return the rows of one type of all instances, CSR, of so many columns."""
    rows = []
    for i, one in enumerate(tables):
        if not issparse(one) and np.ndim(one) < 2:
            continue  # an empty list
        own = np.shape(one)[1]
        width = own if width is None else width
        if own != width:
            raise ArgumentError(
                f"has {own} features, and other instances have {width}.",
                parameter=name,
                where=f"instance {i}",
            )
        if issparse(one):
            matrix = csr_array(one, dtype=np.float64)
            checks.floats(name, matrix.data)
        else:
            matrix = csr_array(checks.floats(name, one, place=checks.in_instance(i)))
        rows.append(matrix)
    return (
        csr_array(vstack(rows, format="csr"))
        if rows
        else csr_array((0, 1 if width is None else width))
    )


def _by_blocks(tables: Sequence[Any], types: Array) -> Any:
    """Return the tables of several types as one, CSR, with a row per element."""
    if len(tables) == 1:
        return tables[0]
    blocks = csr_array(block_diag(tables, format="csr"))
    return _in_order(blocks, np.argsort(types, kind="stable"))


def _in_order(table: Any, order: Array) -> Any:
    """Return the table whose row order[r] is row r of the given one."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return table[place]


def _are_lists(values: Iterable[Any]) -> bool:
    """Whether all values are sequences or arrays, and none is text."""
    return all(
        isinstance(one, (Sequence, np.ndarray)) and not isinstance(one, str) for one in values
    )


@dataclass(frozen=True)
class Classes:
    """The labels of nodes, by node type.

    Attributes
    ----------
    of_types : tuple of arrays
        The labels of each node type. Ids number them, one type after the other.
    """

    of_types: tuple[Array, ...]

    @classmethod
    def of(cls, classes: Any, y: Sequence[Array], graphs: Graphs) -> Self:
        """Return the classes that a parameter names, or else the known labels.

        Raises
        ------
        ArgumentError
            For fewer than two classes of a node type, and for one that is listed twice.
        """
        types = len(graphs.nodes)
        if classes is None:
            values, known = _flat(y, graphs)
            listed = [np.unique(values[(graphs.node_types == t) & known]) for t in range(types)]
        else:
            lists = [classes] if types == 1 else classes
            if not _are_lists([lists]) or not _are_lists(lists) or len(lists) != types:
                what = "a list of labels" if types == 1 else f"a list per node type: {types}"
                raise ArgumentError(f"must be {what}.", parameter="classes", value=classes)
            listed = [np.array(list(one)) for one in lists]
        for one in listed:
            if one.ndim != 1 or len(np.unique(one)) < len(one):
                problem = "must be different labels."
                raise ArgumentError(problem, parameter="classes", value=one.tolist())
            if len(one) < 2:
                raise ArgumentError(
                    "must be at least two labels per node type.",
                    parameter="classes",
                    value=one.tolist(),
                    remedy="Name all labels: classes=range(11).",
                )
            if one.dtype.kind in "iuf" and (one == UNKNOWN).any():
                raise ArgumentError(
                    "must not be -1, which is an unknown label.",
                    parameter="classes",
                    value=one.tolist(),
                )
        return cls(tuple(listed))

    @property
    def offsets(self) -> Array:
        """The first id of each node type, and the number of ids."""
        return ends_of(np.array(list(map(len, self.of_types))))

    @property
    def values(self) -> Array:
        """The labels by id."""
        kinds = {one.dtype.kind for one in self.of_types}
        return np.concatenate(
            [one if len(kinds) == 1 else one.astype(object) for one in self.of_types]
        )

    def states(self, types: Array) -> Array:
        """Return which ids a node may have, bool, shape (nodes, ids), given the types of nodes."""
        owners = np.repeat(np.arange(len(self.of_types)), np.diff(self.offsets))
        return np.asarray(types[:, None] == owners)

    def ids(self, y: Sequence[Array], graphs: Graphs) -> Array:
        """Return the id of the label of each node, int64; `UNKNOWN` or `UNSEEN` of others."""
        values, known = _flat(y, graphs)
        ids = np.full(len(values), UNKNOWN)
        for t, (own, begin) in enumerate(zip(self.of_types, self.offsets.tolist(), strict=False)):
            number = {value: begin + k for k, value in enumerate(own.tolist())}
            chosen = np.flatnonzero(known & (graphs.node_types == t))
            different, places = np.unique(values[chosen], return_inverse=True)
            ids[chosen] = np.array([number.get(v, UNSEEN) for v in different.tolist()], int)[places]
        return ids


def label_arrays(y: Any, graphs: Graphs) -> list[Array]:
    """Return the outputs of users as arrays, one per graph.

    Raises
    ------
    ArgumentError
        For another number of them, and for nested lists of different lengths.
    """
    y = read_once("y", y)
    checks.same_length("y", y, "X", graphs.lengths)
    arrays = []
    for i, one in enumerate(y):
        try:
            labels = np.asarray(one)
        except ValueError as error:
            raise ArgumentError(
                "must have a label per node.", parameter="y", where=f"instance {i}"
            ) from error
        if labels.dtype.kind in "US" and not isinstance(one, np.ndarray):
            labels = np.asarray(one, object)  # numbers among text stay numbers
        arrays.append(labels)
    return arrays


def are_sets(y: Sequence[Array]) -> bool:
    """Return whether outputs are booleans: the labels that are right of each node."""
    return any(one.ndim == 2 and one.dtype == bool for one in y)


def _flat(y: Sequence[Array], graphs: Graphs) -> tuple[Array, Array]:
    """Return the labels of all nodes, and which of them are known.

    Raises
    ------
    ArgumentError
        For outputs that are not a label per node.
    """
    flat = []
    for i, (labels, length) in enumerate(zip(y, graphs.lengths.tolist(), strict=True)):
        if labels.shape != (length,) and (labels.size or length):
            raise ArgumentError(
                f"must have a label per node, so the shape ({length},), and has the shape "
                f"{labels.shape}.",
                parameter="y",
                where=f"instance {i}",
            )
        if length:
            flat.append(labels)
    numeric = [one.dtype.kind in "biuf" for one in flat]
    if all(numeric):
        values = np.concatenate(flat or [np.zeros(0, np.int64)])
        return values, (values == values) & (values != UNKNOWN)
    values = np.concatenate([one.astype(object) for one in flat])
    known = np.array([not (is_missing(one) or one == UNKNOWN) for one in values], bool)
    texts = {isinstance(one, str) for one in values[known]}
    if len(texts) > 1:
        raise ArgumentError("has text and numbers as labels.", parameter="y")
    return values, known
