"""What travels between components: attribute tables, encoded corpora, part layouts; ragged data as buffers and offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from structopt.core.structure_kind import StructureKind
from structopt.errors import ConfigError
from structopt.kernels.record import EMPTY, Array, Record


@dataclass(frozen=True)
class AttributeTable:
    """Sparse attributes of positions, as compressed rows.

    Attributes
    ----------
    offsets : int64, shape (positions + 1,)
        Where the attributes of each position begin and end in `ids`.
    ids : int32, shape (entries,)
        Attribute numbers, 0 <= id < size.
    values : float64, shape (entries,), or None
        Values of the attributes; None when every value is 1.
    size : int
        Number of distinct attributes.
    """

    offsets: Array
    ids: Array
    values: Array | None
    size: int

    def subset(self, first: int, last: int) -> AttributeTable:
        """The rows first <= p < last; ids and values are views."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        values = None if self.values is None else self.values[begin:end]
        return AttributeTable(self.offsets[first : last + 1] - begin, self.ids[begin:end], values, self.size)


@dataclass(frozen=True)
class Encoded:
    """A corpus as arrays, made by the task: what the factor graph and the scorer are built from.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
        Where the variables (for sequences: the tokens) of each instance begin.
    tables : mapping of part group name to AttributeTable
        One row a position of that group: ``label`` has one position a variable; ``transition`` one a pair of neighbours.
    labels : tuple of str
        The label set.
    gold : int32, shape (variables,), or None
        Gold label numbers; -1 where the gold label was not seen in training; None for unlabelled input.
    allowed : bool, shape (variables, labels), or None
        Which labels each variable may take in any output (predictions that keep given labels).
    forbidden_starts, forbidden_ends, forbidden_transitions : label numbers, and pairs of them
        Hard constraints that the task asks for (valid BIO, say).
    gold_sets : bool, shape (variables, labels), or None
        Which labels the gold output may have, where training data say it in part only; `gold` is then one of them.
    """

    offsets: Array
    tables: Mapping[str, AttributeTable]
    labels: tuple[str, ...]
    gold: Array | None = None
    allowed: Array | None = None
    forbidden_starts: tuple[int, ...] = ()
    forbidden_ends: tuple[int, ...] = ()
    forbidden_transitions: tuple[tuple[int, int], ...] = ()
    gold_sets: Array | None = None

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> Self:
        """The instances first <= i < last, in arrays that are views where they can be. A class with more data extends it."""
        return replace(self, **self._sliced(Encoded, first, last))

    def _sliced(self, known: type[Encoded], first: int, last: int) -> dict[str, Any]:
        """The fields of this class as they are for a subset; `known` is the class whose fields the caller knows to slice.

        Raises
        ------
        ConfigError
            Where there are others, or tables of which it is not known how many rows an instance has.
        """
        if len(fields(self)) > len(fields(known)):
            raise ConfigError(
                f"{type(self).__name__} has data beyond those of {known.__name__} and does not tell how to take some of the "
                "instances: give it a method subset(first, last)."
            )
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return {
            "offsets": self.offsets[first : last + 1] - begin,
            "tables": {name: table.subset(*self._rows(name, first, last)) for name, table in self.tables.items()},
            "gold": None if self.gold is None else self.gold[begin:end],
            "gold_sets": None if self.gold_sets is None else self.gold_sets[begin:end],
            "allowed": None if self.allowed is None else self.allowed[begin:end],
        }

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        """The rows of a table that belong to the instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if name == "label":
            return begin, end
        if name == "transition":  # no instance is without a token
            return begin - first, end - last
        raise ConfigError(f"{type(self).__name__} does not tell which rows of its table {name} belong to which instance.")


@dataclass(frozen=True, kw_only=True)
class EncodedTrees(Encoded):
    """A corpus of dependency trees as arrays: one variable a token, its head.

    `labels` are the relations and `gold` the gold relation of every token; `tables` is empty.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns of `codes`.
    codes : int32, shape (tokens, columns)
        Interned values of the columns; 0 where the value was not seen in training, 1 where the cell is empty.
    heads : int32, shape (tokens,), or None
        Position of the gold head within the sentence, from 0; a token's own position stands for the root.
    free_heads : bool, shape (tokens,), or None
        Which tokens may have any head, where training data do not say it; `heads` is then one of them.
    candidates : (int64 of shape (tokens + 1,), int32 of shape (arcs,)), or None
        Heads that a token may take, ascending, in the same numbering, and where those of each token begin; None when it
        may take all.
    """

    columns: tuple[str, ...]
    codes: Array
    heads: Array | None = None
    free_heads: Array | None = None
    candidates: tuple[Array, Array] | None = None

    def subset(self, first: int, last: int) -> Self:
        """The sentences first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        kept = None
        if self.candidates is not None:
            starts, heads = self.candidates
            kept = starts[begin : end + 1] - starts[begin], heads[starts[begin] : starts[end]]
        given, free = (None if one is None else one[begin:end] for one in (self.heads, self.free_heads))
        known = self._sliced(EncodedTrees, first, last)
        return replace(self, **known, codes=self.codes[begin:end], heads=given, free_heads=free, candidates=kept)


@dataclass(frozen=True, kw_only=True)
class EncodedGraphs(Encoded):
    """A corpus of graphs as arrays: variables that all have the same states, `labels`, and edges between them.

    The table ``label`` has one row a variable, whose weights all variables share; or, where the graphs are *wide*, one row an
    instance: all graphs then have the same variables and edges, each with weights of its own (with one row a variable, only
    the edges have). The table ``edge``, where there is one, has likewise one row an edge, or an instance; without it an edge
    has one weight for every pair of states.

    Attributes
    ----------
    edges : (int64 of shape (instances + 1,), int32 of shape (edges, 2))
        Where the edges of each instance begin, and the variables they join, numbered within the instance, the lower first;
        none, where the factor graph is to say.
    wide : bool
    """

    edges: tuple[Array, Array]
    wide: bool = False

    def subset(self, first: int, last: int) -> Self:
        """The graphs first <= i < last."""
        return replace(self, **self._sliced(EncodedGraphs, first, last))

    def _sliced(self, known: type[Encoded], first: int, last: int) -> dict[str, Any]:
        starts, pairs = self.edges
        edges = starts[first : last + 1] - starts[first], pairs[starts[first] : starts[last]]
        return {**super()._sliced(known, first, last), "edges": edges}

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        if name not in ("label", "edge"):
            return super()._rows(name, first, last)
        if self.wide and len(self.tables[name].offsets) == len(self) + 1:
            return first, last
        starts = self.offsets if name == "label" else self.edges[0]
        return int(starts[first]), int(starts[last])


ROOT = -1
"""The root, where places name tokens by their position in the sentence."""
NONE = -2
"""No token: before the first modifier of a head, and after the last."""


@dataclass(frozen=True)
class PartGroup:
    """A run of parts of every instance: `positions` of them, each with `width` configurations.

    The part vector of an instance is the concatenation, over the groups in order, of its positions x width parts.
    A *tied* group has one position an instance, whose parts stand for all the factors that share their scores, and
    whose marginals are expected counts.

    Attributes
    ----------
    name : str
    width : int
        Configurations of one position (labels, or pairs of labels).
    offsets : int64, shape (instances + 1,)
        Where the positions of each instance begin.
    tied : bool
    """

    name: str
    width: int
    offsets: Array
    tied: bool = False


@dataclass(frozen=True)
class Structure:
    """The factor graphs of a corpus: their layout of parts, and the record that the inference kernels open.

    Attributes
    ----------
    record : Record
    groups : tuple of PartGroup
    parts : int64, shape (instances + 1,)
        Offsets of the instances in a vector over all parts of the corpus.
    kind : StructureKind
        How `record` reads, and the algorithms that are exact on it.
    memory : int64, shape (instances + 1,)
        Offsets of what a stateful inference keeps for each instance; all zero when it is stateless.
    work : Record
        Scratch for one thread, large enough for the largest instance.
    active : int or None
        The most parts that an output has; None: all of its instance.
    places : mapping of part group name to int32 array, shape (positions, tokens a part)
        Positions in the sentence of the tokens that a part joins, where features are computed from them: ``arc``: head,
        modifier; ``sibling``: head, nearer modifier, farther modifier; ``grandparent``: head's head, head, modifier.
        `ROOT` and `NONE` are -1 and -2.
    """

    record: Record
    groups: tuple[PartGroup, ...]
    parts: Array
    kind: StructureKind
    memory: Array
    work: Record = field(default=EMPTY)
    active: int | None = None
    places: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.parts) - 1

    @property
    def most_active(self) -> int:
        """The most parts that an output of any instance has."""
        return int(np.diff(self.parts).max(initial=0)) if self.active is None else self.active

    def spans(self, name: str) -> tuple[Array, Array]:
        """Where the parts of a group begin within each instance, and where those of each begin in a vector over the group's."""
        begins = np.zeros(len(self), np.int64)
        for group in self.groups:
            if group.name == name:
                return begins, group.offsets * group.width
            begins = begins + np.diff(group.offsets) * group.width
        raise KeyError(name)

    def numbered_in(self, name: str, outputs: SparseVectors) -> tuple[Array, Array]:
        """Numbers of all parts of outputs in a vector over the parts of a group, and which of them belong to the group."""
        begins, offsets = self.spans(name)
        instance = np.repeat(np.arange(len(self)), np.diff(outputs.offsets))
        within = outputs.parts - begins[instance]
        return within + offsets[instance], (within >= 0) & (within < np.diff(offsets)[instance])

    def active_in(self, name: str, outputs: SparseVectors) -> tuple[Array, Array]:
        """The parts of outputs that belong to a group: their numbers in a vector over the group's, ascending, and how often."""
        numbers, inside = self.numbered_in(name, outputs)
        return numbers[inside], outputs.values[inside]


@dataclass(frozen=True)
class SparseVectors:
    """One sparse vector over the parts of every instance: outputs and how often they have each part, or costs.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
    parts : int32, shape (entries,)
        Part numbers within the instance.
    values : float64, shape (entries,)
    """

    offsets: Array
    parts: Array
    values: Array

    def subset(self, first: int, last: int) -> SparseVectors:
        """Those of the instances first <= i < last."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return SparseVectors(self.offsets[first : last + 1] - begin, self.parts[begin:end], self.values[begin:end])


def part_offsets(groups: tuple[PartGroup, ...]) -> Array:
    """Offsets of the instances in the vector over all parts: the sum of positions x width over the groups."""
    return np.asarray(sum(group.offsets * group.width for group in groups), dtype=np.int64)


Config = Mapping[str, Any]
