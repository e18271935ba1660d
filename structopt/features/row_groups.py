"""Rows of weights, one an attribute, group by group of parts: their layout, and the record that kernels open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.structure import Structure
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
) -> Record:
    """Pack the attributes of a corpus for the kernels of `structopt.kernels.features.attribute_rows`.

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
    """
    from structopt.kernels.features.attribute_rows import ROWS

    entries = np.cumsum([0, *(len(table.ids) for table in tables)])
    offsets = [table.offsets + start for table, start in zip(tables, entries[:-1], strict=True)]
    valued = any(table.values is not None for table in tables)
    values = [np.ones(len(t.ids)) if t.values is None else t.values for t in tables] if valued else []
    masks, words = _support_words(groups, support)
    lists = [_lists(table, group.offsets) for table, group in zip(tables, structure.groups, strict=True)]
    listed = np.cumsum([0, *(len(one.listed) for one in lists)])
    return ROWS.pack(
        widths=[group.width for group in groups],
        listed=np.concatenate([one.listed for one in lists]),
        ids=np.concatenate([one.indices for one in lists]),
        weights=np.array(starts_of(groups)),
        attributes=np.cumsum([0, *(group.size for group in groups)]),
        positions=np.concatenate([group.offsets for group in structure.groups]),
        lists=np.concatenate([one.starts + start for one, start in zip(lists, listed[:-1], strict=True)]),
        starts=np.cumsum([0, *(len(o) for o in offsets)])[:-1],
        offsets=np.concatenate(offsets),
        values=np.concatenate([*values, np.zeros(0)]),
        masks=masks,
        support=words,
        **_blocks(tables, dense or [()] * len(groups)),
    )


class _Lists(NamedTuple):
    """The attributes of each instance, each once; where each list begins; and every occurrence as an index into its list."""

    listed: Array
    starts: Array
    indices: Array


def _lists(table: AttributeTable, positions: Array) -> _Lists:
    """List the attributes of the instances of a group, whose positions begin at `positions`."""
    from structopt.kernels.features.attribute_rows import list_once

    if len(table.ids) == 0:  # of a group without features, whose table has no positions either
        return _Lists(table.ids, np.zeros(len(positions), np.int64), table.ids)
    listed, indices, starts = np.empty_like(table.ids), np.empty_like(table.ids), np.empty(len(positions), np.int64)
    last = np.full(table.size, -1, np.int64)
    return _Lists(listed[: list_once(table.ids, table.offsets, positions, last, listed, starts, indices)], starts, indices)


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


def _support_words(groups: Sequence[RowGroup], support: Array | None) -> tuple[Array, Array]:
    """Support as bits, ceil(width / 64) words an attribute, and where the words of each group begin."""
    if support is None:
        return np.zeros(len(groups), np.int64), np.zeros(0, np.int64)
    blocks = [_words(block, g.width) for block, g in zip(np.split(support, starts_of(groups)[1:-1]), groups, strict=True)]
    return np.cumsum([0, *(len(block) for block in blocks[:-1])]), np.concatenate(blocks)


def _words(support: Array, width: int) -> Array:
    """Bits of rows of a given width, each row in whole int64 words, lowest bit first."""
    rows = support.reshape(-1, width)
    padded = np.zeros((len(rows), -(-width // 64) * 64), bool)
    padded[:, :width] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<i8").astype(np.int64).ravel()
