"""The support of sparse features: which weights may move, and vectors of these weights alone."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.scorer import Matches, Scorer, SparseFeatures
from structopt.features.vector_pool import VectorPool
from structopt.kernels.waist.record import Array

OTHER_FEATURES = (
    "warm_start: that model's features are not this one's; give the same features.* and task, or "
    "leave warm_start out."
)


def refuse_masks(dimension: int) -> None:
    """Refuse so many weights that the counts by which they are laid out do not fit into memory."""
    advice = (
        "Raise `min_count`, take fewer templates, a smaller `order`, or fewer bits of the hash."
    )
    refuse_what_does_not_fit(
        10.0 * dimension,
        f"features: {dimension:,} weights, before training,",
        advice,
        {"min_count": "features", "order": "factor_graph"},
    )


class Supported(SparseFeatures):
    """Base of sparse features whose support can be the weights of gold outputs.

    Parameters
    ----------
    support : str
        ``seen``: weights of features that occur with a gold output in training may move; ``all``:
        all weights may.

    Attributes
    ----------
    seen : bool
        Whether `support` was ``seen``.
    pool : VectorPool
        Vectors as long as the weights, which evaluations over all instances borrow.
    """

    def __init__(self, support: Literal["seen", "all"] = "seen") -> None:
        self.seen, self.pool = support == "seen", VectorPool()

    def lay_out(self, dimension: int, support: Array | None) -> None:
        """Set the number of weights, and the mask of those that may move (None: all)."""
        self.dimension, self.support = dimension, support

    @property
    def count(self) -> int:
        """Number of weights that may move."""
        return self.dimension if self.support is None else int(self.support.sum())

    @cached_property
    def moving(self) -> Array | None:
        """Indices of the weights that may move, int64, shape (count,); None when all may."""
        return None if self.support is None else np.flatnonzero(self.support)

    @cached_property
    def support_words(self) -> Array | None:
        """The mask of the weights that may move, as `support_words`; None if all may.

        Behind it is a word of zeros: kernels read 64 bits from any bit on.
        """
        if self.support is None:
            return None
        return support_words(np.append(self.support, np.zeros(128 - self.dimension % 64, bool)))

    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""
        return weights if self.moving is None else weights[self.moving]

    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing: the array is as long as the weights, and zero wherever
        one may not move.
        """
        if array.shape != (self.dimension,):
            return False
        return self.moving is None or np.count_nonzero(array) == np.count_nonzero(
            self.compress(array)
        )

    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """Undo `compress`, in `out` if it is given: zeros where a weight may not move."""
        if self.moving is None and out is None:
            return compressed
        weights = np.empty(self.dimension) if out is None else out
        weights[:] = 0.0
        weights[slice(None) if self.moving is None else self.moving] = compressed
        return weights

    def with_support_of(self, earlier: Scorer, matches: Matches, weights: Array) -> Array | None:
        """The support with what an earlier scorer could move, or has moved to these weights."""
        if self.support is None:
            return None
        support = self.support.copy()
        for array in moved(earlier, weights):
            support |= self.carried(earlier, matches, array)
        return support


def moved(earlier: Scorer, weights: Array) -> list[Array]:
    """Arrays over the weights of a scorer that are not 0 where it could move them, or has moved
    them to these weights.
    """
    return [weights != 0] if earlier.support is None else [weights != 0, earlier.support]


def support_words(support: Array) -> Array:
    """A mask as bits in int64 words, lowest bit first; it has a multiple of 64 entries."""
    return np.packbits(support, bitorder="little").view("<i8").astype(np.int64)


def packed_support(support: Array | None) -> dict[str, Array]:
    """The array ``support`` of a saved model: packed bits of a mask, none when there is no mask,
    and all may move.
    """
    return {"support": np.zeros(0, np.uint8) if support is None else np.packbits(support)}


def restored_support(state: SavedState, dimension: int) -> Array | None:
    """Undo `packed_support`; ModelError where the bits are not as many as there are weights."""
    bits = state.array("support", np.uint8)
    if len(bits) not in (0, -(-dimension // 8)):
        state.refuse_array(
            "support", f"a bit for each of {dimension} weights: {-(-dimension // 8)} bytes, or none"
        )
    return np.unpackbits(bits, count=dimension).astype(bool) if len(bits) else None
