"""Ragged arrays: runs of values of each instance in one flat array, and the arithmetic of their
offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array


class Ragged(NamedTuple):
    """Values by instances: those of instance i are values[offsets[i] : offsets[i + 1]]."""

    offsets: Array
    values: Array


def interleaved(arrays: Sequence[Ragged]) -> Array:
    """Concatenate the values of several ragged arrays instance by instance."""
    out = np.empty(sum(len(array.values) for array in arrays), arrays[0].values.dtype)
    begin = np.sum([array.offsets[:-1] for array in arrays], axis=0)
    for array in arrays:
        counts = np.diff(array.offsets)
        indices = np.arange(len(array.values))
        indices += np.repeat(begin - array.offsets[:-1], counts)
        out[indices] = array.values
        begin = begin + counts
    return out


def numbers(offsets: Array) -> Array:
    """0, 1, ... anew for every instance, int32."""
    numbered: Array = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], np.diff(offsets))
    return numbered.astype(np.int32)


def ends_of(counts: Array) -> Array:
    """Offsets of runs of the given lengths."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.add.accumulate(counts, out=offsets[1:])
    return offsets
