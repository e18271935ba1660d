"""Records of a model's corpora: most fields are equal for all corpora and are packed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.kernels.waist.record import BUFFERS, Array, Record

if TYPE_CHECKING:  # it is compiled where it is declared
    from structopt.kernels.waist.layout import RecordLayout

CACHE_LINE = 64
"""Bytes."""
SMALL = 1 << 14
"""Numbers of a buffer that stay in the first caches, however they are aligned."""


class RecordFrame:
    """The constant fields of a record, packed; `pack` adds arrays of one corpus.

    `RecordLayout.pack` checks each value of each field, which takes longer than inference on one
    sentence.

    Parameters
    ----------
    layout : RecordLayout
    constants : mapping of field name to number or array
        As `RecordLayout.pack` takes them; all numbers of the record are among them.
    """

    def __init__(self, layout: RecordLayout[Any], constants: Mapping[str, Any]) -> None:
        names = {name: [f.name for f in layout.arrays[name]] for name in BUFFERS}
        given = {name for each in names.values() for name in each} - constants.keys()
        record = layout.pack(**constants, **dict.fromkeys(given, 0))
        self._pieces: list[list[Array | str]] = []
        self._fields: list[list[tuple[str, int]]] = []
        at = iter(record.at.tolist())
        for buffer, fields in names.items():
            numbers, ends = getattr(record, buffer), [next(at) for _ in range(len(fields) + 1)]
            pieces: list[Array | str] = [numbers[: ends[0]]]
            for name, begin, end in zip(fields, ends, ends[1:], strict=False):
                pieces.append(name if name in given else numbers[begin:end])
            sizes = (end - begin for begin, end in zip(ends, ends[1:], strict=False))
            # the first piece, even if it is empty, gives the buffer its type
            self._pieces.append(pieces[:1] + [one for one in pieces[1:] if len(one)])
            self._fields.append([("", ends[0]), *zip(fields, sizes, strict=True)])
        self._given = frozenset(given)

    def pack(self, **arrays: Array | list[Array]) -> Record:
        """Pack the arrays of the other fields, or their pieces, by name: vectors of the type of
        their buffer, which are not checked.
        """
        assert arrays.keys() == self._given, arrays.keys() ^ self._given
        given = {n: one if isinstance(one, list) else [one] for n, one in arrays.items()}
        offsets = []
        for fields in self._fields:
            end = 0
            for name, size in fields:
                end += sum(map(len, given[name])) if name in given else size
                offsets.append(end)
        ints, longs, floats = (
            _joined([a for one in pieces for a in (given[one] if isinstance(one, str) else [one])])
            for pieces in self._pieces
        )
        return Record(ints, longs, floats, np.array(offsets, np.int64))


def _joined(arrays: list[Array]) -> Array:
    """Return one array after the other; of a large corpus aligned to cache lines."""
    size, dtype = sum(map(len, arrays)), arrays[0].dtype
    if size <= SMALL:
        return np.concatenate(arrays, dtype=dtype)
    room = np.empty(size * dtype.itemsize + CACHE_LINE, np.uint8)
    begin = -room.__array_interface__["data"][0] % CACHE_LINE
    return np.concatenate(arrays, out=room[begin : begin + room.size - CACHE_LINE].view(dtype))
