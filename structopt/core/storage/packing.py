"""Records whose arrays come in pieces, packed where a corpus is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.core.storage.arrays import Storage
from structopt.kernels.waist.record import BUFFERS, Array, Record

if TYPE_CHECKING:  # it is compiled where it is declared
    from structopt.kernels.waist.layout import RecordLayout

Pieces = Iterable[Array]
"""The pieces of an array, in a list or a generator: one after the other they are the array."""


def packed(
    layout: RecordLayout[Any],
    storage: Storage,
    values: Mapping[str, Any],
    pieces: Mapping[str, Pieces],
) -> Record:
    """Pack a record as its layout does; in files no array of it is ever in memory as a whole.

    Parameters
    ----------
    layout : RecordLayout
        Without fields that are read in another form than they are kept in.
    storage : Storage
    values : mapping of field name to number or array
    pieces : mapping of field name to arrays
        The fields whose arrays come in pieces.
    """
    if not storage.in_files:
        return layout.pack(**values, **{name: list(arrays) for name, arrays in pieces.items()})
    buffers, offsets = [], []
    for buffer, dtype in BUFFERS.items():
        numbers = np.array([values[field.name] for field in layout.singles[buffer]], dtype)
        ends, growing = [len(numbers)], storage.growing(dtype)
        growing.add(numbers)
        for field in layout.arrays[buffer]:
            ends.append(ends[-1])
            for piece in _pieces(field.name, values, pieces):
                growing.add(piece)
                ends[-1] += np.size(piece)
        buffers.append(growing.array())
        offsets.append(np.array(ends, np.int64))
    ints, longs, floats = buffers
    return layout.borrow(ints, longs, floats, np.concatenate(offsets))


def _pieces(name: str, values: Mapping[str, Any], pieces: Mapping[str, Pieces]) -> Iterator[Array]:
    if name in pieces:
        yield from pieces[name]
    else:
        yield np.asarray(values[name])
