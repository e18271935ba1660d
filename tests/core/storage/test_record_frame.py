"""Records that are packed from constant fields and arrays equal those of the layout."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from structopt.core.storage.record_frame import SMALL, RecordFrame
from structopt.kernels.waist.fields import Float, Floats, Int, Ints, Longs, Wide
from structopt.kernels.waist.layout import RecordLayout


class Fields(NamedTuple):
    """Numbers and arrays of each type."""

    count: Int
    share: Float
    constant: Annotated[Ints, Wide(2)]
    ids: Ints
    ends: Longs
    values: Floats


LAYOUT = RecordLayout(Fields)
CONSTANTS = {"count": 3, "share": 0.5, "constant": [[1, 2], [3, 4]]}


def packed_alike(size: int) -> bool:
    ids, ends = np.arange(size, dtype=np.int32), np.arange(size + 1)
    values = np.linspace(0.0, 1.0, size)
    record = RecordFrame(LAYOUT, CONSTANTS).pack(ids=[ids[:1], ids[1:]], ends=ends, values=values)
    expected = LAYOUT.pack(**CONSTANTS, ids=ids, ends=ends, values=values)
    pairs = list(zip(record, expected, strict=True))
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


def test_records_equal_those_of_the_layout() -> None:
    assert packed_alike(0) and packed_alike(5) and packed_alike(2 * SMALL)
