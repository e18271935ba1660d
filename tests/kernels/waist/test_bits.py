"""Bits of words."""

import numpy as np
import pytest

from structopt.kernels.waist.bits import lowest_bit
from structopt.kernels.waist.signatures import inlined


@inlined
def compiled(word):
    return lowest_bit(word)


@pytest.mark.parametrize("word, want", [(1, 0), (6, 1), (1 << 31, 31), (1 << 63, 63), ((1 << 64) - 8, 3)])
def test_lowest_bit(word, want):
    assert compiled(np.uint64(word)) == want
    assert lowest_bit(np.uint64(word)) == want
