"""The order of the visits of a pass: shuffled over the whole corpus, or block after block, shuffled
in windows of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class VisitOrder:
    """How a pass orders its visits, given a seed and the number of the pass.

    Attributes
    ----------
    blocks : bool
        False: any permutation of all instances. True: a permutation of blocks of consecutive
        instances, of which some at a time, a window, are shuffled together; so that only a window
        of the corpus is read at a time.
    block : int
        Instances a block; the last block may have fewer.
    window : int
        Blocks a window; the last window may have fewer.
    """

    blocks: bool = False
    block: int = 256
    window: int = 64

    def count(self, m: int) -> int:
        """Windows of a pass over m instances; 1 where all are shuffled."""
        return max(1, -(-self._blocks(m) // self.window)) if self.blocks else 1

    def windows(self, m: int, seed: int, number: int) -> list[Array]:
        """Numbers of the instances in the order of their visits in a pass, window by window; int64.

        They depend on the seed and the number of the pass alone.
        """
        generator = np.random.default_rng([seed, number])
        if not self.blocks:
            return [generator.permutation(m)]
        permuted = generator.permutation(self._blocks(m))
        chosen = (
            permuted[first : first + self.window]
            for first in range(0, max(1, len(permuted)), self.window)
        )
        return [generator.permutation(self._instances(blocks, m)) for blocks in chosen]

    def _blocks(self, m: int) -> int:
        return -(-m // self.block)

    def _instances(self, blocks: Array, m: int) -> Array:
        """The instances of some blocks."""
        numbers: Array = (blocks[:, np.newaxis] * self.block + np.arange(self.block)).ravel()
        return numbers[numbers < m]


@lru_cache(maxsize=1)
def windows_of_pass(order: VisitOrder, m: int, seed: int, number: int) -> list[Array]:
    """Return the `VisitOrder.windows` of a pass; those of one pass are remembered, for its steps
    ask one after the other.
    """
    return order.windows(m, seed, number)


SHUFFLED = VisitOrder()
