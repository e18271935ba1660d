"""Sizes of the instances of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from structopt.core import checks
from structopt.core.parts.ragged import ends_of
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Sizes:
    """How many positions each instance has, and their columns in padded arrays.

    Attributes
    ----------
    lengths : int64, shape (instances,)
    mask : bool, shape (instances, width), or None
        True at positions in padded arrays; None: at the first columns.
    """

    lengths: Array
    mask: Array | None = None

    @classmethod
    def of(cls, lengths: Any, mask: Any = None) -> Self:
        """Take lengths, or a mask of any pattern, shape (instances, width).

        Raises
        ------
        ArgumentError
        """
        if (lengths is None) == (mask is None):
            raise ArgumentError("Give lengths or a mask, and not both.", parameter="lengths")
        if mask is not None:
            array = np.asarray(mask)
            if array.ndim != 2 or array.dtype.kind not in "bui":
                raise ArgumentError(
                    f"must be booleans of shape (instances, width), not {array.dtype} of shape "
                    f"{array.shape}.",
                    parameter="mask",
                )
            array = array.astype(bool)
            return cls(array.sum(axis=1), array)
        return cls(checks.integers("lengths", lengths, 0, shape=(None,)))

    @cached_property
    def columns(self) -> Array:
        """Columns of the positions in padded arrays, int64, shape (positions,)."""
        return numbers_within(self.lengths) if self.mask is None else np.nonzero(self.mask)[1]

    @property
    def width(self) -> int:
        """Number of columns of padded arrays."""
        return int(self.lengths.max(initial=0)) if self.mask is None else self.mask.shape[1]

    @cached_property
    def kept(self) -> Array:
        """The instances that are not empty."""
        return np.flatnonzero(self.lengths)

    @property
    def offsets(self) -> Array:
        """Begin of the positions of the instances that are not empty."""
        return ends_of(self.lengths[self.kept])

    def repeated(self, times: int) -> Sizes:
        """Return the sizes of so many copies."""
        mask = None if self.mask is None else np.tile(self.mask, (times, 1))
        return Sizes(np.tile(self.lengths, times), mask)


def numbers_within(lengths: Array) -> Array:
    """Return 0, 1, ... within each of several ranges of given lengths, int64."""
    offsets = ends_of(lengths)
    return np.asarray(np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], lengths))
