"""Graphs of any shape: variables with states, and factors over pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedGraphs
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts
from structopt.core.factor_graph import FactorGraph, GraphTraits
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.ragged import Ragged, ends_of, interleaved
from structopt.core.parts.sizes import Sizes
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.batches import (
    NO_EDGES,
    LabelBatch,
    counted_layout,
    encoded_edges,
    label_layout,
    label_names,
    read_states,
    state_layouts,
)
from structopt.factor_graph.edges import Edges, check_edges, complete_edges, same_graph
from structopt.factor_graph.kinds import TABLES
from structopt.factor_graph.label_parts import (
    LABEL_ROLES,
    States,
    allowed_labels,
    chosen_labels,
    kept_labels,
)
from structopt.kernels.waist.record import Array, Record

EDGE_BYTES = 100
"""About what an edge takes while its factor and its gold part are laid out, beside 8 bytes for each
of its parts.
"""


class Pairwise(FactorGraph):
    r"""Variables y_1..y_d with K states each, or fewer, and edges between them, loops and all.

        score(y) = sum_i s_i(y_i) + sum_{ij in E} s_ij(y_i, y_j)

    The parts of an instance are the K states of every variable, and then the K x K pairs of states
    of every edge, the row being the state of its first variable: d K + |E| K^2 parts. Building them
    costs as much. In a batch each variable may have states of its own, which are some of the labels.

    Parameters
    ----------
    edges : str
        ``task``: the edges that the task gives; ``complete``: between every two variables of an
        instance, which `Multilabel` and `Synthetic` choose; ``none``: the variables are
        independent, which is the baseline of all others.

    Notes
    -----
    Finley and Joachims (2008); Meshi et al. (2010), equation (2). Inference: `MPLP`, `AD3`,
    `LP`, `ILP`, `LoopyBP` or `TRWBP`; `Exact` on graphs of small tree-width.

    Examples
    --------
    Two graphs, a triangle and a pair of variables; states ``off`` and ``on``; two attributes of
    variables, with values; one weight for every pair of states, which all edges share:

    >>> import numpy as np
    >>> from structopt.core.data.attribute_table import AttributeTable
    >>> from structopt.core.data.encoded import EncodedGraphs
    >>> from structopt.factor_graph.pairwise import Pairwise
    >>> from structopt.features.attribute_rows import AttributeRows
    >>> from structopt.inference.ad3 import AD3
    >>> from structopt.loss.family import LossFamily
    >>> from structopt.optimizer.dca import DCA
    >>> from structopt.objective.problem import Problem, Settings
    >>> x = np.array([[1.0, 0.9], [1.0, 0.2], [1.0, -0.5], [1.0, -0.8], [1.0, 0.1]])  # a row for each variable
    >>> table = AttributeTable(np.arange(0, 11, 2), np.tile(np.arange(2, dtype=np.int32), 5), x.ravel(), 2)
    >>> edges = np.array([0, 3, 4]), np.array([[0, 1], [0, 2], [1, 2], [0, 1]], np.int32)
    >>> gold = np.array([1, 1, 1, 0, 0], np.int32)
    >>> encoded = EncodedGraphs(np.array([0, 3, 5]), {"label": table}, ("off", "on"), gold, edges=edges)

    The graph, the inference, the weights' layout and the loss make a problem, which optimizers step
    through:

    >>> graph, inference, loss = Pairwise(), AD3(), LossFamily(beta=float("inf"), gamma=1.0)
    >>> problem = Problem.of(encoded, graph, loss, inference, AttributeRows("all").fit, Settings(C=10.0))
    >>> optimizer = DCA()
    >>> state = optimizer.init(problem, np.zeros(problem.dimension))
    >>> for _ in range(20):
    ...     state, _ = optimizer.step(problem, state)

    And its weights decode any corpus of such graphs; outputs are sparse vectors over the parts, of
    which a view is read:

    >>> from structopt.objective.decoding import best_outputs
    >>> from structopt.executor.serial import Serial
    >>> outputs = best_outputs(problem.examples, problem.kernels, optimizer.weights(state), Serial())
    >>> graph.view("labels", encoded, problem.structure, outputs).tolist()
    [1, 1, 1, 0, 0]
    """

    traits = GraphTraits(TABLES, anchored=True, pairs_only=True)
    views = MappingProxyType({"labels": "label"})
    roles = LABEL_ROLES

    def __init__(self, edges: Literal["task", "complete", "none"] = "task") -> None:
        self.edges = edges

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the states of every variable and edge; no part is tied, whether `positional` or
        not.

        Where the graphs are wide, a part group has one position an instance; but that of the labels
        has one a variable where the table ``label`` has.

        Raises
        ------
        ConfigError
            For what is no corpus of graphs; fewer than two states; edges that join no two
            variables, or the same one twice; wide graphs that differ, or whose edges the task is to
            give and does not; features on edges that the task gives, with other edges; and more
            edges than fit into memory.
        """
        graphs = _graphs_of(encoded)
        self._check_room(graphs)
        edges = self._edges(graphs)
        groups = self._groups(graphs, edges)
        return Structure(
            record=_record(graphs, edges),
            groups=groups,
            parts=part_offsets(groups),
            kind=self.kind,
            memory=np.zeros(len(graphs) + 1, np.int64),
            active=int((np.diff(graphs.offsets) + np.diff(edges[0])).max(initial=0)),
        )

    def batch(
        self,
        sizes: Any,
        edges: Sequence[Any] | None = None,
        *,
        labels: int | Sequence[str],
        states: Sequence[Any] | None = None,
    ) -> LabelBatch:
        """Return a batch of graphs.

        Parameters
        ----------
        sizes : array-like of int, shape (instances,)
            Variables of each graph.
        edges : sequence of array-like of int, shape (edges, 2), or None
            Pairs of variables of each graph, in either order. An ``edge`` has a table of scores,
            whose rows are the labels of the first variable. None: the graph has ``edges=complete``
            or ``none``.
        labels : int, or sequence of str
        states : sequence of array-like of bool, shape (variables, labels), or None
            The labels that are states of each variable of each graph, at least two. Arrays of a
            graph keep the shape (variables, labels); numbers of other labels are ignored in input,
            -inf in scores and 0 in marginals. None: all labels.

        Raises
        ------
        ArgumentError
            For loops, duplicates, variables that there are not, and variables with one state.
        """
        if (self.edges == "task") != (edges is not None):
            raise ArgumentError(
                "must be given if the graph has edges=task, and only then.", parameter="edges"
            )
        chosen = Sizes.of(sizes)
        listed = [NO_EDGES] * len(chosen.lengths) if edges is None else list(edges)
        own = None if states is None else list(states)
        return self.batch_of(chosen, labels=label_names(labels), edges=listed, states=own)

    def batch_of(self, sizes: Sizes, **options: Any) -> LabelBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        encoded, flipped = encoded_edges(sizes, options["edges"], options["labels"])
        if options["states"] is not None:
            states = read_states(sizes, options["states"], len(options["labels"]))
            encoded = replace(encoded, states=states)
        self._check_room(_graphs_of(encoded))
        turned = flipped if self.edges == "task" else None
        return LabelBatch(self, encoded, sizes, options, partial(self._layouts, turned=turned))

    def _layouts(self, batch: LabelBatch, turned: Array | None) -> dict[str, GroupLayout]:
        """Layouts of labels and edges; `turned` edges have the higher variable first."""
        structure, sizes, graphs = batch.structure, batch.sizes, _graphs_of(batch.encoded)
        edges = self._edges(graphs)
        if graphs.states is not None:
            return state_layouts(structure, sizes, graphs.states, edges, turned)
        layouts = {"label": label_layout(structure, sizes)}
        for group in structure.groups[1:]:
            cells, joined = (len(graphs.labels),) * 2, edges[1]
            if turned is not None:
                joined = np.where(turned[:, None], joined[:, ::-1], joined)
            layouts[group.name] = counted_layout(structure, group, sizes, cells, joined, turned)
        return layouts

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold states of every variable, and of every edge."""
        graphs = _graphs_of(encoded)
        edges, states = self._edges(graphs), States.of(graphs)
        assert graphs.gold is not None
        chosen, (one, other) = states.ranks(graphs.gold), states.of_edges(edges)
        counts, before = np.diff(edges[0]), ends_of(states.pairs(edges))
        # the first pair of each edge, behind the label parts of its instance
        first = before[:-1] - np.repeat(before[edges[0][:-1]] - np.diff(states.begins), counts)
        pairs = first + states.counts[other] * chosen[one] + chosen[other]
        parts = interleaved(
            [Ragged(graphs.offsets, states.starts + chosen), Ragged(edges[0], pairs)]
        )
        ends = graphs.offsets + edges[0]
        return SparseVectors(ends, parts.astype(np.int32), np.ones(len(parts)))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Parts of the states that gold may have."""
        states = _own_states(encoded)
        if states is None or encoded.gold_sets is None:
            return allowed_labels(encoded)
        return states.kept(encoded.gold_sets)

    def restricted(self, encoded: Encoded, structure: Structure) -> AllowedParts | None:
        """Parts of the labels that are kept; None where none are."""
        states = _own_states(encoded)
        if states is None or encoded.allowed is None:
            return kept_labels(encoded)
        return states.kept(encoded.allowed)

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """A variable by its number, from 1; two of an edge; where all graphs are alike,
        configurations name them.
        """
        graphs = _graphs_of(encoded)
        if graphs.wide:
            return ""
        if group.name != "edge":
            return super().place(encoded, structure, group, position)
        first, second = self._edges(graphs)[1][position].tolist()
        return f"{first + 1} – {second + 1}"

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """The number of the label of every variable."""
        states = _own_states(encoded)
        if states is None:
            return chosen_labels(encoded, structure, outputs)
        return states.chosen(structure, outputs)

    @property
    def rounding(self) -> Any:
        """The kernel that takes the likeliest state of every variable."""
        from structopt.kernels.loopy.rounding import round_states

        return round_states

    def _edges(self, graphs: EncodedGraphs) -> Edges:
        """Edges of every instance."""
        if self.edges == "none":
            return np.zeros(len(graphs) + 1, np.int64), np.zeros((0, 2), np.int32)
        if self.edges == "complete":
            if "edge" in graphs.tables:
                raise ConfigError(
                    "makes edges of its own, but the task gives features on its edges.",
                    parameter="edges",
                    value="complete",
                    remedy="Set edges='task', or leave the features on edges out.",
                    kinds={"edges": "factor_graph"},
                )
            return complete_edges(graphs.offsets)
        check_edges(graphs)
        begin, joined = graphs.edges
        if graphs.wide and not len(joined) and np.diff(graphs.offsets).max(initial=0) > 1:
            raise ConfigError(
                "takes the edges that the task gives, and this task gives none.",
                parameter="edges",
                value="task",
                remedy="Set edges='complete' for an edge between every two variables, or `'none'` "
                "for independent variables.",
                kinds={"edges": "factor_graph"},
            )
        return np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(joined, np.int32)

    def _check_room(self, graphs: EncodedGraphs) -> None:
        """Refuse complete graphs that are too large, before any of their edges is made."""
        if self.edges != "complete":
            return
        lengths = np.diff(graphs.offsets).astype(np.int64)
        count, K = int((lengths * (lengths - 1) // 2).sum()), len(graphs.labels)
        refuse_what_does_not_fit(
            count * (EDGE_BYTES + 8 * K * K),
            f"`edges='complete'` makes {count:,} edges of {len(graphs):,} instances "
            "with up to "
            f"{int(lengths.max(initial=0))} variables, which",
            "Keep fewer variables (of Multilabel(): `most_frequent=30`) or instances (`limit`), or "
            "set edges='none'.",
            {"edges": "factor_graph", "most_frequent": "task", "limit": "task"},
        )

    def _groups(self, graphs: EncodedGraphs, edges: Edges) -> tuple[PartGroup, ...]:
        K, m = len(graphs.labels), len(graphs)
        if graphs.states is not None:
            states = States.of(graphs)
            ends = ends_of(states.pairs(edges))[edges[0]]
            labels, pairs = PartGroup("label", 1, states.begins), PartGroup("edge", 1, ends)
            return (labels,) if self.edges == "none" else (labels, pairs)
        once = np.arange(m + 1, dtype=np.int64)
        labels, pairs = PartGroup("label", K, graphs.offsets), PartGroup("edge", K * K, edges[0])
        if graphs.wide:
            variables, count = same_graph(graphs, edges)
            table = graphs.tables.get("label")
            if table is None or len(table.offsets) == m + 1:
                labels = PartGroup("label", variables * K, once)
            pairs = PartGroup("edge", count * K * K, once)
        return (labels, pairs) if self.edges != "none" and pairs.width else (labels,)


def _graphs_of(encoded: Encoded) -> EncodedGraphs:
    """Return the corpus, if the graph can represent it."""
    if not isinstance(encoded, EncodedGraphs):
        raise ConfigError(
            "needs Multilabel(), Grid() or Synthetic().",
            parameter="factor_graph",
            value="Pairwise",
            remedy="Use the factor graph of your task.",
        )
    if len(encoded.labels) < 2:
        raise ConfigError(
            "needs variables with at least 2 states, but the training data have "
            f"{len(encoded.labels)}.",
            parameter="factor_graph",
            value="Pairwise",
        )
    if encoded.forbidden_starts or encoded.forbidden_ends or encoded.forbidden_transitions:
        raise ConfigError(
            "has no hard constraints between labels",
            parameter="factor_graph",
            value="Pairwise",
            remedy="leave valid_tags=False.",
            kinds={"valid_tags": "task"},
        )
    return encoded


def _own_states(encoded: Encoded) -> States | None:
    """Return the states of variables that have states of their own; None: all have all labels."""
    if isinstance(encoded, EncodedGraphs) and encoded.states is not None:
        return States.of(encoded)
    return None


def _record(graphs: EncodedGraphs, edges: Edges) -> Record:
    """Pack the variables, and one TABLE factor an edge."""
    from structopt.kernels.loopy.factors import FACTORS, TABLE

    states, (begin, joined) = States.of(graphs), edges
    count = len(joined)
    return FACTORS.pack(
        variables=states.offsets,
        widths=states.counts.astype(np.int32),
        starts=states.starts,
        factors=begin,
        kinds=np.full(count, TABLE, np.int32),
        links=2 * np.arange(count + 1, dtype=np.int64),
        linked=joined.ravel(),
        privates=ends_of(states.pairs(edges)),
        extras=np.zeros(count + 1, np.int64),
        extra=np.zeros(0, np.int32),
        shared=np.diff(states.begins),
    )
