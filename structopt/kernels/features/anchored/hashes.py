"""Hashes of features, and the weights that they have.

The hash of a feature is `finish` of the sum of its template's partial hashes
(`structopt.kernels.features.hashing`) and of 64 bits of the name of a rule, a step or a label. Its
highest bits are a place. A feature whose place is that of a gold feature has the weight of that
place; any other one falls into a bin.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.anchored.record import (
    AFTER,
    BEFORE,
    EVERY_WORD,
    LAST_WORD,
    LEFT_LENGTH,
    LEFT_WORD,
    LENGTH_OF,
)
from structopt.kernels.features.hashing import END, START, finish, partial
from structopt.kernels.waist.bits import mix
from structopt.kernels.waist.signatures import inlined

FIRST_PART, LAST_PART = 4, 3
"""How many words count at the beginning and at the end of a span, where a template looks at all of
them.
"""
LOW = np.uint64(0xFFFFFFFF)
ONES, PAIRS, FOURS, EIGHTS = (np.uint64(k * (2**64 - 1) // 255) for k in (0x55, 0x33, 0x0F, 0x01))


@inlined
def bits_of(word):
    """How many bits of 64 are set."""
    word = word - ((word >> np.uint64(1)) & ONES)
    word = (word & PAIRS) + ((word >> np.uint64(2)) & PAIRS)
    word = (word + (word >> np.uint64(4))) & FOURS
    return np.int64((word * EIGHTS) >> np.uint64(56))


@inlined
def fill_weights(x, z, weights):
    """Write the numbers of the weights of features, given their hashes; -1 for those that have
    none.
    """
    seen, shift, gold = x.seen, np.uint64(64 - x.hash_bits), np.int64(x.gold)
    others = np.uint64(x.others)
    for q in range(len(z)):
        place = z[q] >> shift
        word, before, bit = (
            seen[place >> np.uint64(6), 0],
            seen[place >> np.uint64(6), 1],
            place & np.uint64(63),
        )
        if (word >> bit) & np.uint64(1) == np.uint64(1):
            weights[q] = np.int64(before) + bits_of(word & ((np.uint64(1) << bit) - np.uint64(1)))
        else:
            weights[q] = (
                gold + np.int64(((z[q] & LOW) * others) >> np.uint64(32)) if others > 0 else -1
            )


@inlined
def joined(template, name):
    """The hash of a feature, given the partial hash of its template and a name."""
    return finish(template + np.uint64(name))


@inlined
def value_of_words(codes, column, b, e):
    """Value of a sequence of codes: those of the first four words and of the last three, runs as
    one code and a mark.
    """
    value, last, repeated = np.uint64(0), np.int64(-1), False
    for q in range(b, e):
        if q == b + FIRST_PART and e - q > LAST_PART:
            value, last, repeated = mix(value + np.uint64(1)), np.int64(-1), False
        if q >= b + FIRST_PART and e - q > LAST_PART:
            continue
        if codes[q, column] == last:
            if not repeated:
                value, repeated = mix(value + np.uint64(2)), True
        else:
            last, repeated = np.int64(codes[q, column]), False
            value = mix(value + np.uint64(last + 3))
    return np.int64(value >> np.uint64(1))


@inlined
def value_of(bins, codes, role, column, offset, b, e, k):
    """The value of an atom."""
    if role == EVERY_WORD:
        return value_of_words(codes, column, b, e)
    if role >= LENGTH_OF:
        length = e - b if role == LENGTH_OF else k - b if role == LEFT_LENGTH else e - k
        return np.int64(bins[min(length, len(bins) - 1)])
    position = b
    if role == LAST_WORD:
        position = e - 1
    elif role == BEFORE:
        position = b - 1
    elif role == AFTER:
        position = e
    elif role == LEFT_WORD:
        position = k - 1
    elif role > LEFT_WORD:
        position = k if role < EVERY_WORD else b
    position += offset
    if position < 0:
        return np.int64(START)
    return np.int64(END) if position >= len(codes) else np.int64(codes[position, column])


@inlined
def template_hash(templates, atoms, bins, codes, t, b, e, k):
    """Partial hash of template t at the words b <= q < e of a sentence, with a split k; of a tag,
    at the word b.
    """
    number, first, last = templates[t, 0], np.int64(templates[t, 1]), np.int64(templates[t, 2])
    total = partial(number, 0, 0)
    for a in range(first, last):
        role, column, offset = np.int64(atoms[a, 0]), np.int64(atoms[a, 1]), np.int64(atoms[a, 2])
        total += partial(
            number, a - first + 1, value_of(bins, codes, role, column, offset, b, e, k)
        )
    return total
