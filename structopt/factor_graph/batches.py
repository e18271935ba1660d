"""Batches of the graphs of this package: sizes in, structures and layouts out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import EncodedGraphs
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.parts import Parts
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

UNKNOWN = -1
"""A label, head or relation that gold leaves open."""


def label_names(labels: int | Sequence[str]) -> tuple[str, ...]:
    """Return the names of labels, given their number or the names.

    Raises
    ------
    ArgumentError
    """
    if isinstance(labels, (int, np.integer)):
        return _numbered(labels)
    if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
        raise ArgumentError(
            "must be a number of labels, or their names.", parameter="labels", value=labels
        )
    return tuple(labels)


@lru_cache(maxsize=8, typed=True)
def _numbered(labels: int) -> tuple[str, ...]:
    return tuple(map(str, range(int(checks.integers("labels", labels, 1, shape=())))))


def transitions(forbidden: Iterable[Any], labels: int) -> tuple[Any, Any, Any]:
    """Return forbidden starts, ends and transitions of chains.

    Parameters
    ----------
    forbidden : iterable of pairs of int or None
        (i, j): label j after i; (None, j): j at the start; (i, None): i at the end.
    labels : int

    Raises
    ------
    ArgumentError
    """
    starts, ends, pairs = list[int](), list[int](), list[tuple[int, int]]()
    for index, pair in enumerate(forbidden):
        first, second = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else ("?", "?")
        known = all(one is None or _is_label(one, labels) for one in (first, second))
        if not known or (first is None and second is None):
            raise ArgumentError(
                f"must be a pair of labels from 0 to {labels - 1}; one of the two may be None.",
                parameter="forbidden",
                value=pair,
                where=f"index {index}",
            )
        if first is None:
            starts.append(int(second))
        elif second is None:
            ends.append(int(first))
        else:
            pairs.append((int(first), int(second)))
    return tuple(starts), tuple(ends), tuple(pairs)


def _is_label(value: Any, labels: int) -> bool:
    return isinstance(value, (int, np.integer)) and bool(0 <= value < labels)


@dataclass(frozen=True)
class Positions:
    """Places of the positions of a group in the instances that are not empty.

    Attributes
    ----------
    coordinates, padded_coordinates : int64, shape (positions, d)
    extents : int64, shape (instances that are not empty, d)
    sides : tuple of int
    """

    coordinates: Array
    padded_coordinates: Array
    extents: Array
    sides: tuple[int, ...]

    @classmethod
    def numbered(cls, lengths: Array) -> Self:
        """Return the places of positions that are numbered within each instance."""
        numbers = numbers_within(lengths)[:, None]
        return cls(numbers, numbers, lengths[:, None], (int(lengths.max(initial=0)),))


def layout_of(
    structure: Structure,
    group: PartGroup,
    sizes: Sizes,
    cells: tuple[int, ...],
    positions: Positions,
    flipped: Array | None = None,
) -> GroupLayout:
    """Return the layout of a group of parts, whose structure has no empty instances."""
    count, kept = len(sizes.lengths), sizes.kept
    lengths, begins = np.zeros(count, np.int64), np.zeros(count, np.int64)
    lengths[kept] = np.diff(group.offsets)
    begins[kept] = structure.parts[:-1] + structure.spans(group.name)[0]
    extents = np.zeros((count, len(positions.sides)), np.int64)
    extents[kept] = positions.extents
    return GroupLayout(
        group.name,
        cells,
        ends_of(lengths),
        begins,
        positions.coordinates,
        positions.padded_coordinates,
        extents,
        positions.sides,
        flipped,
    )


@dataclass(frozen=True, eq=False)
class LabelBatch(Batch):
    """Instances whose outputs are labels: of positions of chains, and of variables of graphs."""

    def constrained(self, scores: Parts) -> Parts:
        """See `structopt.core.parts.batch.Batch`."""
        own = self.encoded
        if not (own.forbidden_starts or own.forbidden_ends or own.forbidden_transitions):
            return scores
        label = np.ones(self.index("label").shape, bool)
        label[np.ix_(own.offsets[:-1], np.array(own.forbidden_starts, int))] = False
        label[np.ix_(own.offsets[1:] - 1, np.array(own.forbidden_ends, int))] = False
        transition = np.ones(self.index("transition").shape, bool)
        for first, second in own.forbidden_transitions:
            transition[:, first, second] = False
        return scores.restricted(label=label, transition=transition)

    def gold(self, labels: Any = None, allowed: Any = None) -> Gold:
        """Return gold outputs.

        Parameters
        ----------
        labels : array-like of int, or None
            Flat, padded, or an array per instance; -1 where any label is right.
        allowed : array-like of bool, or None
            In the forms of the scores of ``label``: the labels that are right, instead of `labels`.

        Raises
        ------
        ArgumentError
            For both or none of them, labels that there are not, and positions without a label.
        """
        if (labels is None) == (allowed is None):
            raise ArgumentError("or allowed is needed, and not both.", parameter="labels")
        L, encoded = len(self.encoded.labels), self.encoded
        layout = self.variable_layout
        states = encoded.states if isinstance(encoded, EncodedGraphs) else None
        if labels is not None:
            numbers = read_integers("labels", labels, layout, L)
            right = None if (numbers >= 0).all() else np.eye(L, dtype=bool)[numbers]
            if right is not None:
                right[numbers < 0] = True
        else:
            right = self.layout("label").read(allowed, floats=False)
            if states is not None:
                table = np.zeros(states.shape, bool)
                table[states] = right
                right = table
            refuse_rows("allowed", np.asarray(right.any(axis=1)), "no label.", layout)
            numbers = right.argmax(axis=1)
        if states is not None:
            known = states[np.arange(len(numbers)), numbers] | (numbers < 0)
            refuse_rows("labels", known, "a label that is not a state of the variable.", layout)
            right = None if right is None else right & states
        if right is not None:
            numbers = np.where(numbers < 0, right.argmax(axis=1), numbers)
        encoded = replace(encoded, gold=numbers.astype(np.int32), gold_sets=right)
        return Gold(self, encoded, self.graph.targets(encoded, self.structure))


def read_integers(name: str, value: Any, layout: GroupLayout, count: int | None) -> Array:
    """Return integers from -1 to count - 1, one per position of a layout, in the flat form.

    Raises
    ------
    ArgumentError
    """
    plain = replace(layout, name=name, cells=())
    numbers = plain.read(value)
    whole = numbers == np.floor(numbers)
    refuse_rows(
        name, whole & (numbers >= UNKNOWN), "a number that is neither an index nor -1.", plain
    )
    if count is not None:
        refuse_rows(name, numbers < count, f"a number above {count - 1}.", plain)
    return numbers.astype(np.int64)


def refuse_rows(name: str, right: Array, what: str, layout: GroupLayout) -> None:
    """Refuse the first position that is not right; it has `what`."""
    if right.all():
        return
    position = int(np.argmin(right))
    where = f"instance {int(layout.instances[position])}, position "
    where += str(layout.coordinates[position].tolist()[0])
    raise ArgumentError(f"has {what}", parameter=name, where=where)


def label_layout(structure: Structure, sizes: Sizes) -> GroupLayout:
    """Return the layout of the group ``label``, which has a position per variable."""
    lengths = sizes.lengths[sizes.kept]
    numbers, columns = numbers_within(lengths)[:, None], sizes.columns[:, None]
    places = Positions(numbers, columns, lengths[:, None], (sizes.width,))
    group = structure.groups[0]
    return layout_of(structure, group, sizes, (group.width,), places)


def tied_layout(
    structure: Structure, group: PartGroup, sizes: Sizes, cells: tuple[int, ...]
) -> GroupLayout:
    """Return the layout of a tied group."""
    none = np.zeros((len(sizes.kept), 0), np.int64)
    return layout_of(structure, group, sizes, cells, Positions(none, none, none, ()))


def counted_layout(
    structure: Structure,
    group: PartGroup,
    sizes: Sizes,
    cells: tuple[int, ...],
    joined: Array,
    flipped: Array | None = None,
) -> GroupLayout:
    """Return the layout of a group with numbered positions, such as edges, given the variables that
    each joins.
    """
    places = Positions.numbered(np.diff(group.offsets))
    layout = layout_of(structure, group, sizes, cells, places, flipped)
    return replace(layout, joined=joined.astype(np.int64))


def read_states(sizes: Sizes, states: Sequence[Any], labels: int) -> Array:
    """Return the labels that are states of each variable, bool, shape (variables, labels).

    Raises
    ------
    ArgumentError
        For another number of instances, other shapes, and variables with fewer than two states.
    """
    checks.same_length("states", states, "sizes", sizes.lengths)
    tables = checks.boolean_tables("states", states, sizes.lengths, labels)
    few = tables.sum(axis=1) < 2
    if few.any():
        raise ArgumentError(
            "must have at least two labels per variable.",
            parameter="states",
            where=checks.in_instances(ends_of(sizes.lengths))((int(np.argmax(few)),)),
        )
    return tables


def state_layouts(
    structure: Structure,
    sizes: Sizes,
    states: Array,
    edges: tuple[Array, Array],
    turned: Array | None,
) -> dict[str, GroupLayout]:
    """Return the layouts of labels and edges of graphs whose variables have states of their own.

    A position is a state of a variable, or a pair of states of an edge.

    Parameters
    ----------
    structure : Structure
    sizes : Sizes
    states : bool, shape (variables, labels)
    edges : (int64, int32)
        As of `EncodedGraphs.edges`.
    turned : bool, shape (edges,), or None
        Edges that users give with the higher variable first.
    """
    (begin, joined), L, lengths = edges, states.shape[1], sizes.lengths[sizes.kept]
    variable, label = np.nonzero(states)
    columns = numbers_within(lengths)[variable], sizes.columns[variable]
    own, padded = (np.stack([column, label], axis=1) for column in columns)
    extents = np.stack([lengths, np.full_like(lengths, L)], axis=1)
    places = Positions(own, padded, extents, (sizes.width, L))
    layouts = {"label": layout_of(structure, structure.groups[0], sizes, (), places)}
    if len(structure.groups) == 1:
        return layouts
    counts = np.diff(begin)
    first = np.repeat(ends_of(lengths)[:-1], counts)
    tables = states[first + joined[:, 0]][:, :, None] & states[first + joined[:, 1]][:, None, :]
    edge, one, other = np.nonzero(tables)
    given = np.stack([numbers_within(counts)[edge], one, other], axis=1)
    if turned is not None:
        given[turned[edge]] = given[turned[edge]][:, [0, 2, 1]]
        joined = np.where(turned[:, None], joined[:, ::-1], joined)
    extents = np.stack([counts, np.full_like(counts, L), np.full_like(counts, L)], axis=1)
    places = Positions(given, given, extents, (int(counts.max(initial=0)), L, L))
    layout = layout_of(structure, structure.groups[1], sizes, (), places)
    layouts["edge"] = replace(layout, joined=joined[edge].astype(np.int64))
    return layouts


def encoded_edges(
    sizes: Sizes, edges: Sequence[Any], names: tuple[str, ...]
) -> tuple[EncodedGraphs, Array]:
    """Return a corpus of graphs, and which edges were given with the higher variable first.

    Parameters
    ----------
    sizes : Sizes
    edges : sequence of array-like of int
        Pairs of variables of each instance, shape (edges, 2).
    names : tuple of str

    Raises
    ------
    ArgumentError
        For variables that there are not, loops and duplicates.
    """
    if len(edges) != len(sizes.lengths):
        raise ArgumentError(
            f"has edges of {len(edges)} instances, and there are {len(sizes.lengths)}.",
            parameter="edges",
        )
    joined = _concatenated(edges)
    if joined is None:
        edges = [_edges_of(one, i) for i, one in enumerate(edges)]
        joined = np.concatenate([NO_EDGES, *edges])
    counts = np.fromiter(map(len, edges), np.int64, len(edges))
    first, second = joined.T.copy()  # contiguous
    low, high = np.minimum(first, second), np.maximum(first, second)
    begins = ends_of(sizes.lengths)
    keys = (begins[:-1].repeat(counts) + low) * int(begins[-1]) + high
    keys.sort()
    wrong = (low < 0) | (low == high) | (high >= sizes.lengths.repeat(counts))
    if wrong.any() or (keys[1:] == keys[:-1]).any():
        for i, pairs in enumerate(edges):
            _check_edges(pairs, int(sizes.lengths[i]), i)
    ordered = np.array([low, high], np.int32).T
    kept = ends_of(counts[sizes.kept])
    return EncodedGraphs(sizes.offsets, {}, names, edges=(kept, ordered)), first > second


NO_EDGES = np.zeros((0, 2), np.int64)


def _concatenated(edges: Sequence[Any]) -> Array | None:
    """Return the edges of all instances, int64, shape (edges, 2), if these are arrays of them."""
    if set(map(type, edges)) != {np.ndarray}:
        return None
    try:
        joined = np.concatenate(edges, dtype=np.int64, casting="equiv")
    except (TypeError, ValueError):  # other types, or other numbers of axes
        return None
    return joined if joined.shape[1:] == (2,) else None


def _edges_of(value: Any, instance: int) -> Array:
    """Return the edges of an instance, int64, shape (edges, 2)."""
    if np.size(value) == 0:
        return NO_EDGES
    return checks.integers("edges", value, shape=(None, 2), place=checks.in_instance(instance))


def _check_edges(pairs: Array, length: int, instance: int) -> None:
    """Refuse variables that an instance does not have, loops and duplicates."""
    checks.integers("edges", pairs, 0, max(length - 1, 0), place=checks.in_instance(instance))
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any() or len(np.unique(np.sort(pairs, axis=1), axis=0)) < len(pairs):
        what = "a loop." if loops.any() else "the same edge twice."
        raise ArgumentError(f"has {what}", parameter="edges", where=f"instance {instance}")
