"""Rows of weights, one an attribute, group by group of parts: their layout, and the record that kernels open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.structure import Structure
from structopt.core.storage.arrays import IN_MEMORY, Storage
from structopt.core.storage.packing import Pieces, packed
from structopt.features.support import support_words
from structopt.kernels.waist.record import Array, Record


@dataclass(frozen=True)
class RowGroup:
    """Rows of weights of one part group: `size` attributes, each with `width` weights."""

    name: str
    width: int
    size: int


def starts_of(groups: Sequence[RowGroup]) -> list[int]:
    """Where the weights of each group begin, and where the last one's end."""
    return [0, *np.cumsum([group.width * group.size for group in groups]).tolist()]


def pack_rows(
    groups: Sequence[RowGroup],
    support: Array | None,
    tables: Sequence[AttributeTable],
    structure: Structure,
    dense: Sequence[Sequence[DenseTable]] = (),
    storage: Storage = IN_MEMORY,
) -> Record:
    """Pack the attributes of a corpus for the kernels of `structopt.kernels.features.attributes.rows`.

    Parameters
    ----------
    groups : sequence of RowGroup
    support : bool vector over the weights, or None
        Which of them may move; None: all.
    tables : sequence of AttributeTable
        One a group: the attributes of its positions.
    structure : Structure
    dense : sequence of sequences of DenseTable
        One a group: the numbers of its positions, whose attributes stand behind those of its table; none where it is empty.
    storage : Storage
        Of the record.
    """
    from structopt.kernels.features.attributes.record import ROWS

    entries = np.cumsum([0, *(len(table.ids) for table in tables)])
    valued = any(table.values is not None for table in tables)
    values = [np.ones(len(t.ids)) if t.values is None else t.values for t in tables] if valued else []
    lists = _listing(tables, structure)
    fields: dict[str, Any] = {
        "widths": [group.width for group in groups],
        "weights": np.array(starts_of(groups)),
        "attributes": np.cumsum([0, *(group.size for group in groups)]),
        "starts": np.cumsum([0, *(len(table.offsets) for table in tables)])[:-1],
        "support": np.zeros(0, np.int64) if support is None else _bits(support),
        **_blocks(tables, dense or [()] * len(groups)),
    }
    ranges = [(g, *bounds) for g in range(len(tables)) for bounds in storage.ranges(len(structure))]
    pieces: dict[str, Pieces] = {
        "listed": (lists(*one).listed for one in ranges),
        "ids": (lists(*one).indices for one in ranges),
        "positions": [group.offsets for group in structure.groups],
        "lists": _starts(lists, ranges, len(structure)),
        "offsets": (table.offsets + start for table, start in zip(tables, entries[:-1], strict=True)),
        "values": [*values, np.zeros(0)],
    }
    return packed(ROWS, storage, fields, pieces)


class _Lists(NamedTuple):
    """The attributes of each of some instances, each once; where the lists begin; and occurrences as indices into their list."""

    listed: Array
    starts: Array
    indices: Array


def _listing(tables: Sequence[AttributeTable], structure: Structure) -> Callable[[int, int, int], _Lists]:
    """Return the function that lists the attributes of a group's instances first <= i < last; it remembers what it made last."""

    @lru_cache(maxsize=len(tables))
    def listing(g: int, first: int, last: int) -> _Lists:
        from structopt.kernels.features.attributes.lists import list_once

        table, positions = tables[g], structure.groups[g].offsets[first : last + 1]
        if len(table.ids) == 0:  # of a group without features, whose table has no positions either
            return _Lists(table.ids, np.zeros(len(positions), np.int64), table.ids)
        some = table.subset(int(positions[0]), int(positions[-1]))
        ids, seen = np.asarray(some.ids), np.full(table.size, -1, np.int64)
        listed, indices, starts = np.empty_like(ids), np.empty_like(ids), np.empty(len(positions), np.int64)
        count = list_once(ids, some.offsets, positions - positions[0], seen, listed, starts, indices)
        return _Lists(listed[:count], starts, indices)

    return listing


def _starts(lists: Callable[[int, int, int], _Lists], ranges: Sequence[tuple[int, int, int]], m: int) -> Iterator[Array]:
    """Where all lists begin, one after the other, range by range; behind those of a group, where its last one ends."""
    begin = 0
    for one in ranges:
        some = lists(*one)
        yield some.starts[:-1] + begin
        begin += len(some.listed)
        if one[2] == m:
            yield np.array([begin])


def _blocks(tables: Sequence[AttributeTable], dense: Sequence[Sequence[DenseTable]]) -> dict[str, Array]:
    """The fields of the dense tables; of their matrices the rows that some position has."""
    compact = [[one.compact() for one in group] for group in dense]
    rows, slots, matrix = [], 0, 0
    for table, group in zip(tables, compact, strict=True):
        attribute = table.size
        for one in group:
            rows.append([attribute, one.matrix.shape[1], one.rows.shape[1], slots, matrix])
            attribute, slots, matrix = attribute + one.size, slots + one.rows.size, matrix + one.matrix.size
    flat = [one for group in compact for one in group]
    bits = [np.ascontiguousarray(one.matrix, np.float32).view(np.int32).ravel() for one in flat]
    return {
        "dense": np.cumsum([0, *map(len, compact)]),
        "blocks": np.array(rows, np.int64).reshape(-1, 5),
        "slots": np.concatenate([np.zeros(0, np.int32), *(one.rows.ravel() for one in flat)]),
        "bits": np.concatenate([np.zeros(0, np.int32), *bits]),
    }


def _bits(support: Array) -> Array:
    """A mask as bits, with a word behind them: kernels read 64 bits from any bit on."""
    return support_words(np.append(support, np.zeros(128 - len(support) % 64, bool)))
