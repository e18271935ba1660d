"""Features attribute x configuration: rows of weights, one an attribute of a part group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.memory import NUMBER
from structopt.core.scorer import BatchMap, FeatureKernels, FeatureScratch, Matches, Scorer
from structopt.errors import ConfigError
from structopt.features.row_places import Places, RowGroup, lay_out, starts_of
from structopt.features.row_record import pack_rows
from structopt.features.support import (
    OTHER_FEATURES,
    Supported,
    moved,
    packed_support,
    refuse_masks,
    restored_support,
)
from structopt.kernels.waist.record import Array, Record

Dense = Sequence[tuple[DenseTable, ...]]
"""The dense tables of every part group."""
Tables = tuple[list[AttributeTable], Dense]
"""The attributes of every part group, and its dense tables."""


class AttributeRows(Supported):
    """Features *attribute x configuration*: a linear operator from weights to part scores, with
    sparse columns.

    With support ``seen`` an (attribute, configuration) pair has a weight only if it occurs in a
    gold output. Weights that belong to no attribute of the task (tied tables, the constant
    attribute of anchored ones) always have one, and so have the numbers of dense tables, which are
    attributes behind the others. Most attributes of a large corpus occur with one configuration,
    and have one weight instead of a row (`structopt.features.row_places`); the order of saved
    weights knows nothing of that.

    Parameters
    ----------
    support : str
        ``seen``: attributes with the labels that they occur with in training; ``all``: with all
        labels.

    Attributes
    ----------
    groups : tuple of RowGroup
    places : tuple of Places
        Where their weights stand.
    pairs : int64 vector, or None
        Which pairs may move, group by group, of the number attribute * width + configuration in
        each; None: all.
    """

    groups: tuple[RowGroup, ...] = ()
    places: tuple[Places, ...] = ()
    pairs: Array | None = None

    def __init__(self, support: Literal["seen", "all"] = "seen") -> None:
        super().__init__(support)

    @classmethod
    def of(cls, groups: Sequence[RowGroup], support: Array | None) -> AttributeRows:
        """Lay out the weights of groups, given the (attribute, configuration) pairs that may move
        as a mask (None: all).
        """
        rows = cls()
        rows.groups, rows.places = tuple(groups), tuple(lay_out(groups, support))
        rows.dimension = rows.places[-1].end if rows.places else 0
        if support is not None:
            pairs = np.split(support, starts_of(groups)[1:-1])
            tables = {
                g.name: block.reshape(g.size, g.width)
                for g, block in zip(groups, pairs, strict=True)
            }
            rows.pairs, rows.support = np.flatnonzero(support), rows.vector_of(tables)
        return rows

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> AttributeRows:
        """Lay out the weights for a training corpus."""
        tables, dense = _tables(encoded, structure)
        groups = _layout(structure, tables, dense)
        refuse_masks(sum(group.width * group.size for group in groups))
        if not self.seen:
            return self.of(groups, None)
        masks = []
        for index, (table, numbers) in enumerate(zip(tables, dense, strict=True)):
            all_of_dense = np.ones(
                structure.groups[index].width * sum(one.size for one in numbers), bool
            )
            masks += [_seen(index, structure, table, gold, encoded), all_of_dense]
        return self.of(groups, np.concatenate(masks))

    def dense_groups(self, structure: Structure) -> list[str]:
        """Those of scored groups; a group that stands for several reads none."""
        return [group.name for group in structure.groups if _reads_dense(group)]

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack the attributes of a corpus for the kernels of
        `structopt.kernels.features.attributes.rows`.
        """
        return self._packed(encoded, structure, self.support_words)

    def scores_record(self, encoded: Encoded, structure: Structure) -> Record:
        """See `structopt.core.scorer.SparseFeatures`: scores do not read the support."""
        return self._packed(encoded, structure, None)

    def _packed(self, encoded: Encoded, structure: Structure, support: Array | None) -> Record:
        tables, dense = self.tables(encoded, structure)
        return pack_rows(
            self._record_places(structure, tables),
            support,
            tables,
            structure,
            dense,
            encoded.storage,
        )

    def row_places(self, encoded: Encoded, structure: Structure) -> list[Places]:
        """See `structopt.core.scorer.Scorer`."""
        return self._record_places(structure, self.tables(encoded, structure)[0])

    def tables(self, encoded: Encoded, structure: Structure) -> Tables:
        """Attributes of the positions of every group, and their dense tables.

        Raises
        ------
        ConfigError
            If the groups, their configurations or the numbers of their attributes are not those
            that have weights.
        """
        tables, dense = _tables(encoded, structure)
        groups = tuple(_layout(structure, tables, dense))
        allowed = (
            not own.singles or group.singles
            for own, group in zip(self.groups, groups, strict=False)
        )
        # of damaged models too, whose attributes of dense tables have no rows
        if groups != self.groups or not all(allowed):
            raise ConfigError(
                f"features: there are weights for {_counted(self.groups)}, but this corpus "
                f"and its graphs have {_counted(groups)}.",
                remedy="Take the task and the factor graph that the weights were trained with.",
            )
        return tables, dense

    @property
    def kernels(self) -> FeatureKernels:
        """The compiled operations, of `structopt.kernels.features.attributes.rows`."""
        from structopt.kernels.features.attributes import rows as k
        from structopt.kernels.features.attributes.ahead import prefetch_instances

        return FeatureKernels(
            k.scores,
            k.pullback,
            k.add,
            k.add_both,
            k.dot,
            k.flatten,
            k.accumulate,
            k.spans,
            prefetch=prefetch_instances,
        )

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """The features for evaluations over all instances: attributes in bundles, tables read by
        attribute.
        """
        from structopt.features.batch.attribute_rows import BatchFeatures

        tables, dense = self.tables(encoded, structure)
        groups = _record_groups(structure, tables, dense)
        return BatchFeatures(self.pairs, self.pool, groups, tables, dense, structure)

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """Bytes of what occurs: rows of weights, their indices among all and among these; scores of
        the rows of dense tables.
        """
        rows = scores = 0
        for group, table, dense in zip(structure.groups, *_tables(encoded, structure), strict=True):
            rows += group.width * (len(table.occurring()) + sum(one.size for one in dense))
            scores += group.width * sum(one.rows.shape[1] * len(one.matrix) for one in dense)
        return NUMBER * (rows + 2 * min(rows, self.count) + 2 * scores)

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate an empty sparse gradient, large enough for any instance of the corpus."""
        from structopt.kernels.features.attributes.record import GRADIENT

        tables, dense = _tables(encoded, structure)
        numbers = [sum(one.size for one in group) for group in dense]
        pairs = zip(structure.groups, tables, numbers, strict=True)
        entries = [_most_entries(group, table) + number for group, table, number in pairs]
        rows = sum(n * group.width for n, group in zip(entries, structure.groups, strict=True))
        places = self._record_places(structure, tables)
        touched = sum(
            n * max(1, place.most_singles) for n, place in zip(entries, places, strict=True)
        )
        counts = len(places) + sum(place.most_singles > 0 for place in places)
        gradient = GRADIENT.pack(
            slot=np.full(max(entries, default=0), -1), touched=touched, counts=counts, rows=rows
        )
        return FeatureScratch(gradient, touched, rows)

    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """See `structopt.core.scorer.Scorer`: rows by the names of attributes, weights of a row by
        those of labels.
        """
        return self.vector_of(self._carried_tables(earlier, matches, array))

    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> AttributeRows:
        """See `structopt.core.scorer.Scorer`."""
        if self.pairs is None:
            return self
        support = self._mask()
        for array in moved(earlier, weights):
            support |= _nonzero(self._carried_tables(earlier, matches, array))
        return self.of(self.groups, support)

    def tables_of(self, array: Array, absent: float = 0) -> dict[str, Array]:
        """See `structopt.core.scorer.SparseFeatures`."""
        return {place.group.name: place.table(array, absent) for place in self.places}

    def vector_of(self, tables: Mapping[str, Array]) -> Array:
        """See `structopt.core.scorer.SparseFeatures`."""
        array = np.zeros(self.dimension, np.result_type(*tables.values()) if tables else np.float64)
        for place in self.places:
            if place.group.name in tables:
                place.fill(array, tables[place.group.name])
        return array

    def pruned(self, weights: Array, kept: Mapping[str, Array]) -> tuple[AttributeRows, Array]:
        """See `structopt.core.scorer.Scorer`: rows of attributes that are left out, and weights
        that are 0.
        """
        masks = [kept.get(group.name, np.ones(group.size, bool)) for group in self.groups]
        rest = {
            place.group.name: place.table(weights)[mask]
            for place, mask in zip(self.places, masks, strict=True)
        }
        groups = [replace(group, size=len(rest[group.name])) for group in self.groups]
        smaller = self.of(groups, _nonzero(rest))
        return smaller, smaller.vector_of(rest)

    @cached_property
    def moving(self) -> Array | None:
        """Indices of the weights that may move, in the order of `pairs`; None when all may."""
        if self.pairs is None or all(place.rows is None for place in self.places):
            return self.pairs
        begins, every, found = (
            starts_of(self.groups),
            np.arange(self.dimension),
            [np.zeros(0, np.int64)],
        )
        cuts = np.searchsorted(self.pairs, begins)
        for place, begin, own in zip(self.places, begins, pairwise(cuts.tolist()), strict=False):
            found.append(place.table(every).ravel()[self.pairs[slice(*own)] - begin])
        return np.concatenate(found)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The groups as JSON values, and the pairs that may move as packed bits (empty when all
        may).
        """
        groups = [
            {"name": g.name, "width": g.width, "size": g.size, "singles": g.singles}
            for g in self.groups
        ]
        return {"groups": groups}, packed_support(None if self.pairs is None else self._mask())

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> AttributeRows:
        """Undo `state`."""
        state = SavedState(layout, arrays)
        groups = [
            RowGroup(
                g.string("name"),
                g.whole("width", 1),
                g.whole("size"),
                "singles" in g.values and g.flag("singles"),
            )
            for g in state.each("groups")
        ]
        return cls.of(groups, restored_support(state, starts_of(groups)[-1]))

    def _mask(self) -> Array:
        """The pairs that may move, as a mask."""
        mask = np.zeros(starts_of(self.groups)[-1], bool)
        mask[self.pairs] = True
        return mask

    def _carried_tables(self, earlier: Scorer, matches: Matches, array: Array) -> dict[str, Array]:
        """What an array over an earlier scorer's weights has of these attributes and
        configurations.
        """
        if not isinstance(earlier, AttributeRows):
            raise ConfigError(OTHER_FEATURES)
        carried, tables = {}, earlier.tables_of(array)
        for group in self.groups:
            carried[group.name] = new = np.zeros((group.size, group.width), array.dtype)
            if (old := tables.get(group.name)) is not None:
                rows = matches.attributes(group.name, len(old), group.size)
                columns = matches.configurations(group.name, old.shape[1], group.width)
                new[np.ix_(rows[1], columns[1])] = old[np.ix_(rows[0], columns[0])]
        return carried

    def _record_places(
        self, structure: Structure, tables: Sequence[AttributeTable]
    ) -> list[Places]:
        """Where the weights of each part group begin; of one that stands for several, those of one
        after the other.
        """
        places, own = [], iter(self.places)
        for group, table in zip(structure.groups, tables, strict=True):
            if group.scored and not group.weights:
                places.append(next(own))
                continue
            start = places[-1].end if places else 0
            places.append(Places.of(RowGroup(group.name, group.width, table.size), start, None))
            for _ in group.weights if group.scored else ():
                next(own)
        return places


def _nonzero(tables: Mapping[str, Array]) -> Array:
    """The pairs at which tables, one a group in their order, are not 0, as a mask."""
    return np.concatenate([np.zeros(0, bool), *(table.ravel() != 0 for table in tables.values())])


def _counted(groups: Sequence[RowGroup]) -> str:
    """Groups in words, such as ``label (12 attributes x 9)``."""
    return (
        ", ".join(f"{group.name} ({group.size} attributes x {group.width})" for group in groups)
        or "nothing"
    )


def _record_groups(
    structure: Structure, tables: Sequence[AttributeTable], dense: Dense
) -> list[RowGroup]:
    """The rows as kernels read them, a group of parts each; without attributes, where parts are not
    scored.
    """
    groups = []
    for g, table, numbers in zip(structure.groups, tables, dense, strict=True):
        size = table.size + sum(one.size for one in numbers)
        groups.append(RowGroup(g.name, g.width, size, singles=not numbers))
    return groups


def _layout(structure: Structure, tables: Sequence[AttributeTable], dense: Dense) -> list[RowGroup]:
    """The rows by name: of scored groups; where a group stands for several, theirs."""
    rows: list[RowGroup] = []
    for part_group, group in zip(
        structure.groups, _record_groups(structure, tables, dense), strict=True
    ):
        if part_group.scored:
            rows += [RowGroup(*one) for one in part_group.weights] or [group]
    return rows


def _tables(encoded: Encoded, structure: Structure) -> Tables:
    """Attributes and dense tables of the positions of every group; a group that stands for several
    has no dense ones.
    """
    dense = [
        encoded.dense.get(group.name, ()) if _reads_dense(group) else ()
        for group in structure.groups
    ]
    return [_table(group, encoded, structure) for group in structure.groups], dense


def _reads_dense(group: PartGroup) -> bool:
    return group.scored and not group.weights


def _table(group: PartGroup, encoded: Encoded, structure: Structure) -> AttributeTable:
    """Attributes of a group's positions: the graph's, the task's, the one constant attribute, or it
    and the task's; or none.
    """
    positions = int(group.offsets[-1])
    if group.name in structure.attributes:
        return structure.attributes[group.name]
    if not group.scored:
        # of no position: there may be very many
        return AttributeTable(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    if group.tied or group.name not in encoded.tables:
        return AttributeTable(
            np.arange(positions + 1, dtype=np.int64), np.zeros(positions, np.int32), None, 1
        )
    table = encoded.tables[group.name]
    return table if group.name == "label" else _with_constant(table)


def _with_constant(table: AttributeTable) -> AttributeTable:
    """Add an attribute that every position has, numbered after the others."""
    ends = table.offsets[1:]
    ids = np.insert(table.ids, ends, table.size).astype(np.int32)
    values = None if table.values is None else np.insert(table.values, ends, 1.0)
    return AttributeTable(
        table.offsets + np.arange(len(table.offsets)), ids, values, table.size + 1
    )


def _seen(
    index: int, structure: Structure, table: AttributeTable, gold: SparseVectors, encoded: Encoded
) -> Array:
    """Which (attribute, configuration) pairs of one group occur in a gold output; all where the
    task gave no attributes.
    """
    from structopt.kernels.features.attributes.lists import mark_support

    group = structure.groups[index]
    support = np.zeros(table.size * group.width)
    if group.tied or not (group.weights or group.name in encoded.tables):
        return np.ones(len(support), bool)
    for bounds in encoded.storage.ranges(len(structure)):
        positions, configurations = _gold_positions(index, structure, gold, *bounds)
        mark_support(support, table.offsets, table.ids, positions, configurations, group.width)
    if group.weights:
        ends = np.cumsum([width * size for _, width, size in group.weights])
        for (name, width, size), end in zip(group.weights, ends.tolist(), strict=True):
            support[end - width * size : end] += name not in encoded.tables
    elif group.name != "label":
        support[-group.width :] = 1.0
    return support.astype(bool)


def _gold_positions(
    index: int, structure: Structure, gold: SparseVectors, first: int, last: int
) -> tuple[Array, Array]:
    """Positions of a group in the instances first <= i < last, and the gold configuration at
    each.
    """
    group, own = structure.groups[index], slice(first, last + 1)
    begin, end = gold.offsets[[first, last]]
    instance = np.repeat(np.arange(last - first), np.diff(gold.offsets[own]))
    before = (np.diff(g.offsets[own]) * g.width for g in structure.groups[:index])
    local = gold.parts[begin:end] - sum(before, np.zeros(last - first, np.int64))[instance]
    inside = (local >= 0) & (local < (np.diff(group.offsets[own]) * group.width)[instance])
    position = group.offsets[own][instance[inside]] + local[inside] // group.width
    return position, local[inside] % group.width


def _most_entries(group: PartGroup, table: AttributeTable) -> int:
    """The most attributes that an instance has in this group, counted at each position."""
    if not group.scored:
        return 0
    ends = table.offsets[group.offsets]
    return int(np.diff(ends).max(initial=0))
