"""One type for every record of flat arrays, so that compiled drivers see the same type whatever is
composed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BUFFERS: dict[str, Any] = {"ints": np.int32, "longs": np.int64, "floats": np.float64}


class Record(NamedTuple):
    """Flat arrays of three types in one buffer each, and where every array begins.

    A record is packed, borrowed and opened by the layout that declares it:
    `structopt.kernels.waist.layout.RecordLayout`.

    Attributes
    ----------
    ints, longs, floats : int32, int64 and float64 arrays, contiguous
        Single numbers of one type, and then its arrays, one after the other.
    at : int64 array
        Offsets: for the ints one more entry than there are arrays, then likewise for the longs and
        the floats.
    """

    ints: Array
    longs: Array
    floats: Array
    at: Array


EMPTY = Record(
    *(np.zeros(0, dtype) for dtype in BUFFERS.values()), at=np.zeros(len(BUFFERS), np.int64)
)
