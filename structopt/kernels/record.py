"""One type for every record of flat arrays, so that compiled drivers see the same type whatever is composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Record(NamedTuple):
    """Flat arrays of three types in one buffer each, and where every array begins.

    Attributes
    ----------
    ints, longs, floats : int32, int64 and float64 arrays, contiguous
        The arrays of one type, one after the other.
    at : int64 array
        Offsets: for the ints one more entry than there are arrays, then likewise for the longs and the floats.
    """

    ints: Array
    longs: Array
    floats: Array
    at: Array


def pack(ints: Sequence[Any] = (), longs: Sequence[Any] = (), floats: Sequence[Any] = ()) -> Record:
    """Pack arrays into a `Record`; a kernel opens it again with a function that knows the order of the arrays."""
    buffers: list[Array] = []
    offsets: list[Array] = []
    for group, dtype in ((ints, np.int32), (longs, np.int64), (floats, np.float64)):
        flat = [np.asarray(a, dtype=dtype).ravel() for a in group]
        buffers.append(np.ascontiguousarray(np.concatenate([*flat, np.zeros(0, dtype)])))
        offsets.append(np.cumsum([0, *(a.size for a in flat)]))
    int_buffer, long_buffer, float_buffer = buffers
    return Record(int_buffer, long_buffer, float_buffer, np.concatenate(offsets).astype(np.int64))


EMPTY = pack()
