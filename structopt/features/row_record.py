"""The attributes of a corpus as kernels read them: which weights the positions of each instance
have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.structure import Structure
from structopt.core.storage.arrays import IN_MEMORY, Storage
from structopt.core.storage.packing import Pieces, packed
from structopt.core.storage.record_frame import RecordFrame
from structopt.features.row_places import Places
from structopt.kernels.waist.record import Array, Record

FEW = 4
"""A corpus is small if it has less than one entry per so many attributes of the model."""


class _Lists(NamedTuple):
    """What tables have of some instances.

    Attributes
    ----------
    listed, starts : int32 and int64 vectors
        The attributes of each instance, each once, and where they begin.
    ids, begins : int32 and int64 vectors
        Where the attributes occur, and where those of each position begin.
    values : float64 vector
    """

    listed: Array
    starts: Array
    ids: Array
    begins: Array
    values: Array


class _Table:
    """One table of the record: the rows, or the singles, of a group.

    Parameters
    ----------
    places : Places
        Of the group.
    table : AttributeTable
        The attributes of its positions.
    positions : int64 vector
        Where those of each instance begin.
    dense : sequence of DenseTable
        The numbers of the positions, whose attributes are the last that have rows.
    singles : bool
        Whether it is the table of the singles.
    """

    def __init__(
        self,
        places: Places,
        table: AttributeTable,
        positions: Array,
        dense: Sequence[DenseTable],
        singles: bool,
    ) -> None:
        self.width, self.length = places.group.width, 1 if singles else places.group.width
        self.start, self.size = (
            (places.behind_rows, len(places.singles))
            if singles
            else (places.start, places.row_count)
        )
        self.positions = np.arange(len(positions)) if singles else positions
        self.count, self.dense = len(self.positions) if singles else len(table.offsets), dense
        self._table, self._positions = table, positions
        self.singles, self._configurations = singles, places.configuration_ids
        # attribute a becomes the numbers from begins[a] to begins[a + 1]
        self._begins = places.single_begins if singles else places.row_begins

    def lists(self, first: int, last: int, valued: bool) -> _Lists:
        """List the attributes of the instances first <= i < last, and their values if the record
        has any.
        """
        from structopt.kernels.features.attributes import lists as kernels

        positions, none = self._positions[first : last + 1], np.zeros(0)
        # of a group without features, whose table has no positions either
        if len(self._table.offsets) == 1:
            return _Lists(
                self._table.ids,
                np.zeros(len(positions), np.int64),
                self._table.ids,
                np.zeros(1, np.int64),
                none,
            )
        some = self._table.subset(int(positions[0]), int(positions[-1]))
        positions, ids, offsets, values = (
            positions - positions[0],
            np.asarray(some.ids),
            some.offsets,
            none,
        )
        if valued:
            values = np.ones(len(ids)) if some.values is None else np.asarray(some.values)
        if self._begins is not None:
            counts = self._begins[ids + 1] - self._begins[ids]
            room = int(counts.sum()) if self.singles else len(ids)
            every = ids, values, some.offsets, self._begins
            ids, offsets = np.empty(room, np.int32), np.zeros_like(offsets)
            values = np.empty(room if valued else 0)
            count = kernels.replace_each(*every, ids, values, offsets)
            ids, values = ids[:count], values[:count]
        size, distinct = self.size, None
        if FEW * len(ids) < size and not self.singles:  # an entry per attribute takes longer
            distinct, ids = np.unique(ids, return_inverse=True)
            size, ids = len(distinct), ids.astype(np.int32)
        listed, seen, starts = (
            np.empty_like(ids),
            np.full(size, -1, np.int64),
            np.empty(len(positions), np.int64),
        )
        if not self.singles:
            indices = np.empty_like(ids)
            count = kernels.list_once(ids, offsets, positions, seen, listed, starts, indices)
            own = listed[:count] if distinct is None else distinct[listed[:count]]
            return _Lists(own, starts, indices, offsets, values)
        numbers, own_values, begins = (
            np.empty(2 * len(ids), np.int32),
            np.empty(2 * len(values)),
            np.empty_like(starts),
        )
        count, end = kernels.list_singles(
            ids,
            values,
            offsets,
            positions,
            self._configurations,
            self.width,
            seen,
            listed,
            starts,
            begins,
            numbers,
            own_values,
        )
        return _Lists(listed[:count], starts, numbers[:end], begins, own_values[:end])


def pack_rows(
    places: Sequence[Places],
    support: Array | None,
    tables: Sequence[AttributeTable],
    structure: Structure,
    dense: Sequence[Sequence[DenseTable]] = (),
    storage: Storage = IN_MEMORY,
) -> Record:
    """Pack the attributes of a corpus for the kernels of
    `structopt.kernels.features.attributes.rows`.

    Parameters
    ----------
    places : sequence of Places
        One a group of parts, one behind the other.
    support : int64 vector, or None
        The weights that may move (`Supported.support_words`); None: all.
    tables : sequence of AttributeTable
        One a group: the attributes of its positions.
    structure : Structure
    dense : sequence of sequences of DenseTable
        One a group: the numbers of its positions, whose attributes stand behind those of its table;
        none where it is empty.
    storage : Storage
        Of the record.
    """
    from structopt.kernels.features.attributes.record import ROWS

    own, valued = (
        list(_split(places, tables, structure, dense or [()] * len(places))),
        any(t.values is not None for t in tables),
    )
    lists = lru_cache(maxsize=len(own))(lambda t, first, last: own[t].lists(first, last, valued))
    starts = np.cumsum([0, *(table.count for table in own)], dtype=np.int64)[:-1]
    fields: dict[str, Array] = {
        "widths": np.array([table.width for table in own], np.int32),
        "lengths": np.array([table.length for table in own], np.int32),
        "weights": np.array(
            [*(table.start for table in own), places[-1].end if places else 0], np.int64
        ),
        "attributes": np.cumsum([0, *(table.size for table in own)], dtype=np.int64),
        "starts": starts,
        "support": np.zeros(0, np.int64) if support is None else support,
        **_blocks(own),
    }
    ranges = [(t, *bounds) for t in range(len(own)) for bounds in storage.ranges(len(structure))]
    pieces: dict[str, Pieces] = {
        "listed": (lists(*one).listed for one in ranges),
        "ids": (lists(*one).ids for one in ranges),
        "positions": [table.positions for table in own],
        "lists": _joined(
            ((some.starts, len(some.listed)) for some in (lists(*one) for one in ranges)),
            ranges,
            len(structure),
        ),
        "offsets": _joined(
            ((some.begins, len(some.ids)) for some in (lists(*one) for one in ranges)),
            ranges,
            len(structure),
        ),
        "values": (lists(*one).values for one in ranges),
    }
    if storage.in_files:
        return packed(ROWS, storage, fields, pieces)
    return _frame().pack(**fields, **{name: list(arrays) for name, arrays in pieces.items()})


@cache
def _frame() -> RecordFrame:
    """Return the frame of the record; all its fields depend on the corpus."""
    from structopt.kernels.features.attributes.record import ROWS

    return RecordFrame(ROWS, {})


def _split(
    places: Sequence[Places],
    tables: Sequence[AttributeTable],
    structure: Structure,
    dense: Sequence[Sequence[DenseTable]],
) -> Iterator[_Table]:
    """Yield the tables of each group: of its rows, and behind it of its singles where it has
    some.
    """
    for place, table, group, numbers in zip(places, tables, structure.groups, dense, strict=True):
        yield _Table(place, table, group.offsets, numbers, False)
        if len(place.singles):
            yield _Table(place, table, group.offsets, (), True)


def _joined(
    begins: Iterable[tuple[Array, int]], ranges: Sequence[tuple[int, int, int]], m: int
) -> Iterator[Array]:
    """Where entries begin, given where they begin in each range, and how many it has; behind those
    of a table, where they end.
    """
    end = 0
    for (_, _, last), (starts, count) in zip(ranges, begins, strict=True):
        yield starts[:-1] + end
        end += count
        if last == m:
            yield np.array([end])


def _blocks(tables: Sequence[_Table]) -> dict[str, Array]:
    """The fields of the dense tables; of their matrices the rows that some position has."""
    if not any(table.dense for table in tables):
        none, no_slots = np.zeros(0, np.int64), np.zeros(0, np.int32)
        begins = np.zeros(len(tables) + 1, np.int64)
        return {"dense": begins, "blocks": none, "slots": no_slots, "bits": no_slots}
    compact = [[one.compact() for one in table.dense] for table in tables]
    rows, slots, matrix = [], 0, 0
    for table, group in zip(tables, compact, strict=True):
        attribute = table.size - sum(one.size for one in group)
        for one in group:
            rows.append([attribute, one.matrix.shape[1], one.rows.shape[1], slots, matrix])
            attribute, slots, matrix = (
                attribute + one.size,
                slots + one.rows.size,
                matrix + one.matrix.size,
            )
    flat = [one for group in compact for one in group]
    bits = [np.ascontiguousarray(one.matrix, np.float32).view(np.int32).ravel() for one in flat]
    return {
        "dense": np.cumsum([0, *map(len, compact)]),
        "blocks": np.array(rows, np.int64).ravel(),
        "slots": np.concatenate([np.zeros(0, np.int32), *(one.rows.ravel() for one in flat)]),
        "bits": np.concatenate([np.zeros(0, np.int32), *bits]),
    }
