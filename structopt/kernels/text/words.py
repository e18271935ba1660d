"""Eight bytes of a text at once: a 64-bit word, whose lowest bits are the first byte.

Strings are compared, copied and hashed by the words that they have from their first byte on; what
is left, 0 to 7 bytes, is the last one. Bytes behind the end of a text are line ends.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from structopt.kernels.waist.bits import lowest_bit, mix
from structopt.kernels.waist.signatures import inlined, merged
from structopt.kernels.waist.views import fields_of

NEWLINE = np.uint8(10)
SEED, TIMES = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
ONES, HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
HALF, LENGTH = np.uint64(32), np.uint64(56)
"""Bits of half a word, and where the number of bytes stands in the last word of a string."""


def whole_word(text, q):
    """The word at place q, of which the text has all eight bytes."""
    return np.uint64(int.from_bytes(text[q : q + 8].tobytes(), "little"))


def write_whole_word(text, q, word):
    """Write the word at place q, where the text has eight bytes."""
    text[q : q + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


@merged
def word_at(text, q):
    """The word at place q."""
    return whole_word(text, q) if q + 8 <= len(text) else last_word(text, q)


@inlined
def last_word(text, q):
    """The word at place q, byte by byte."""
    word = np.uint64(0)
    for j in range(8):
        byte = text[q + j] if q + j < len(text) else NEWLINE
        word |= np.uint64(byte) << np.uint64(8 * j)
    return word


@merged
def write_word(text, q, word):
    """Write those bytes of a word at place q that the text has room for."""
    if q + 8 <= len(text):
        write_whole_word(text, q, word)
    else:
        write_last_word(text, q, word)


@inlined
def write_last_word(text, q, word):
    """Write the bytes of a word until the text ends."""
    for j in range(len(text) - q):
        text[q + j] = np.uint8((word >> np.uint64(8 * j)) & np.uint64(255))


@merged
def places_of(word, byte):
    """Bits of which the lowest is set in the first byte of the word that is `byte`; 0: none is.

    A byte is 0 where subtracting 1 from it borrows; bytes above such a one may be set though they
    differ (Lamport, 1975).
    """
    x = word ^ (ONES * np.uint64(byte))
    return (x - ONES) & ~x & HIGHS


@merged
def first_place(places):
    """The first byte, 0 to 7, of those that `places_of` has found."""
    return lowest_bit(places) >> 3


@merged
def byte_of(word, n):
    """Byte n of a word."""
    return np.uint8((word >> np.uint64(8 * n)) & np.uint64(255))


@merged
def hash_with(h, word):
    """The hash of a string that goes on with eight bytes more."""
    h = (h ^ word) * TIMES
    return h ^ (h >> HALF)


@merged
def hash_to_end(h, word, n):
    """The hash of a string whose last n bytes, 0 to 7, are the first of the word."""
    rest = word & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))
    return mix(hash_with(h, rest | np.uint64(n) << LENGTH))


@inlined
def hash_of(text, begin, end, h):
    """The hash of text[begin:end], which begins with h."""
    q = begin
    while q + 8 <= end:
        h = hash_with(h, whole_word(text, q))
        q += 8
    return hash_to_end(h, word_at(text, q), end - q)


@merged
def equal(text, a, other, b, length):
    """Whether the strings of this length at place a of a text and at place b of another are
    equal.
    """
    q, differ = np.int64(0), np.uint64(0)
    while q + 8 <= length and differ == 0:
        differ = whole_word(text, a + q) ^ whole_word(other, b + q)
        q += 8
    if q < length and differ == 0:
        differ = (word_at(text, a + q) ^ word_at(other, b + q)) << np.uint64(8 * (8 - (length - q)))
    return differ == 0


@inlined
def copy(source, a, target, b, length):
    """Copy the string at place a of a text to place b of another, and perhaps some bytes behind it,
    up to the end of a word.
    """
    for q in range(0, length, 8):
        write_word(target, b + q, word_at(source, a + q))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of a word in a contiguous vector of bytes, on any boundary."""
    data = builder.gep(fields_of(context, builder, kind, array).data, [index])
    return builder.bitcast(data, ir.IntType(64).as_pointer())


def _ordered(builder: Any, word: Any) -> Any:
    """A word as memory has it, or is to have it, on machines whose first byte is the highest."""
    return builder.bswap(word) if sys.byteorder == "big" else word


@intrinsic
def _load(typingctx, text, q):  # type: ignore[no-untyped-def]  # Numba's form of an intrinsic
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _ordered(
            builder,
            builder.load(_pointer(context, builder, signature.args[0], *arguments), align=1),
        )

    return types.uint64(text, types.intp), codegen


@intrinsic
def _store(typingctx, text, q, word):  # type: ignore[no-untyped-def]
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *place, value = arguments
        builder.store(
            _ordered(builder, value), _pointer(context, builder, signature.args[0], *place), align=1
        )
        return context.get_dummy_value()

    return types.void(text, types.intp, types.uint64), codegen


@overload(whole_word)
def _compiled_whole_word(text, q):  # type: ignore[no-untyped-def]
    return lambda text, q: _load(text, q)


@overload(write_whole_word)
def _compiled_write_whole_word(text, q, word):  # type: ignore[no-untyped-def]
    return lambda text, q, word: _store(text, q, word)
