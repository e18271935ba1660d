"""Bits of words."""

import numpy as np
import pytest

from structopt.kernels.waist.bits import bits_from, lowest_bit
from structopt.kernels.waist.signatures import inlined


@inlined
def compiled(word):
    return lowest_bit(word)


@pytest.mark.parametrize(
    "word, want", [(1, 0), (6, 1), (1 << 31, 31), (1 << 63, 63), ((1 << 64) - 8, 3)]
)
def test_lowest_bit(word, want):
    assert compiled(np.uint64(word)) == want
    assert lowest_bit(np.uint64(word)) == want


@inlined
def compiled_from(words, first):
    return bits_from(words, first)


@pytest.mark.parametrize("first", [0, 1, 63, 64, 65, 127])
def test_bits_from_any_bit_on(first):
    bits = np.random.default_rng(0).integers(0, 2, 192)
    words = np.packbits(bits.astype(bool), bitorder="little").view("<u8").astype(np.uint64)
    want = sum(int(bit) << j for j, bit in enumerate(bits[first : first + 64].tolist()))
    assert int(compiled_from(words, first)) == int(bits_from(words, first)) == want
