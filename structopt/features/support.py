"""Which weights of a feature map may move, and vectors of weights without the others."""

from __future__ import annotations

import numpy as np

from structopt.kernels.record import Array


class Supported:
    """Base of the feature maps.

    Parameters
    ----------
    dimension : int
        Number of weights.
    support : bool, shape (dimension,), or None
        Which weights may move; None when all may.
    """

    def __init__(self, dimension: int, support: Array | None) -> None:
        self.dimension, self.support = dimension, support

    @property
    def count(self) -> int:
        """Number of weights that may move."""
        return self.dimension if self.support is None else int(self.support.sum())

    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""
        return weights if self.support is None else weights[self.support]

    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing: the array is as long as the weights, and zero wherever one may not move."""
        if array.shape != (self.dimension,):
            return False
        return self.support is None or np.count_nonzero(array) == np.count_nonzero(array[self.support])

    def expand(self, compressed: Array) -> Array:
        """Undo `compress`: zeros where a weight may not move."""
        if self.support is None:
            return compressed
        weights = np.zeros(self.dimension)
        weights[self.support] = compressed
        return weights

    def with_more(self, more: Array) -> Array | None:
        """Return the support and the weights that a mask names."""
        return None if self.support is None else self.support | more

    def packed_support(self) -> Array:
        """Return the support as packed bits, empty when all weights may move."""
        return np.zeros(0, np.uint8) if self.support is None else np.packbits(self.support)


def unpacked(bits: Array, dimension: int) -> Array | None:
    """Undo `Supported.packed_support`."""
    return np.unpackbits(bits, count=dimension).astype(bool) if len(bits) else None
