"""Rows of weights, one an attribute, group by group of parts: their layout, and the record that kernels open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.packing import Pieces, packed
from structopt.core.data.storage import IN_MEMORY, Storage
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
    storage: Storage = IN_MEMORY,
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
    storage : Storage
        Of the record.
    """
    from structopt.kernels.features.attribute_rows import ROWS

    entries = np.cumsum([0, *(len(table.ids) for table in tables)])
    valued = any(table.values is not None for table in tables)
    values = [np.ones(len(t.ids)) if t.values is None else t.values for t in tables] if valued else []
    masks, words = _support_words(groups, support)
    fields: dict[str, Any] = {
        "widths": [group.width for group in groups],
        "weights": np.array(starts_of(groups)),
        "attributes": np.cumsum([0, *(group.size for group in groups)]),
        "starts": np.cumsum([0, *(len(table.offsets) for table in tables)])[:-1],
        "masks": masks,
        "support": words,
        **_blocks(tables, dense or [()] * len(groups)),
    }
    pieces: dict[str, Pieces] = {
        "ids": [table.ids for table in tables],
        "positions": [group.offsets for group in structure.groups],
        "offsets": (table.offsets + start for table, start in zip(tables, entries[:-1], strict=True)),
        "values": [*values, np.zeros(0)],
    }
    return packed(ROWS, storage, fields, pieces)


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
