"""Bits of 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from structopt.kernels.waist.signatures import inlined

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix(word):
    """Mix the bits of a word: the finaliser of SplitMix64 (Steele et al., 2014)."""
    word = (word ^ (word >> np.uint64(30))) * FIRST
    word = (word ^ (word >> np.uint64(27))) * SECOND
    return word ^ (word >> np.uint64(31))


def lowest_bit(word):
    """The number of the lowest bit that is set in a word, which is not 0."""
    return (int(word) & -int(word)).bit_length() - 1


@register_jitable
def bits_from(words, first):
    """The 64 bits of a vector of uint64 words from bit `first` on; it must have a word behind that
    of `first`.
    """
    at, before = first >> 6, np.uint64(first & 63)
    return (words[at] >> before) | ((words[at + 1] << np.uint64(1)) << (np.uint64(63) - before))


@intrinsic
def _lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]  # Numba's form of an intrinsic
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), codegen


@overload(lowest_bit)
def _compiled_lowest_bit(word):  # type: ignore[no-untyped-def]
    return lambda word: _lowest_bit(word)
