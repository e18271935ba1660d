"""Hashes of features, and the weights that they have.

The hash of a feature is `finish` of the sum of its template's partial hashes (`structopt.kernels.features.hashing`) and of 64
bits of the name of a rule, a step or a label. Its highest bits are a place. A feature whose place is that of a gold feature has
the weight of that place; any other one falls into a bin.
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
from structopt.kernels.features.hashing import END, START, finish, mix, partial
from structopt.kernels.waist.signatures import inlined, merged

FIRST_PART, LAST_PART = 4, 3
"""How many words count at the beginning and at the end of a span, where a template looks at all of them."""
LOW = np.uint64(0xFFFFFFFF)
ONES, PAIRS, FOURS, EIGHTS = (np.uint64(k * (2**64 - 1) // 255) for k in (0x55, 0x33, 0x0F, 0x01))


@merged
def weight_of(seen, ranks, shift, gold, others, z):
    """The number of the weight of a feature, given its hash; -1 where it has none. `shift` is 64 - hash_bits."""
    place = z >> shift
    word, bit = seen[place >> np.uint64(6)], place & np.uint64(63)
    if (word >> bit) & np.uint64(1) == np.uint64(1):
        return np.int64(ranks[place >> np.uint64(6)]) + bits_of(word & ((np.uint64(1) << bit) - np.uint64(1)))
    if others == 0:
        return np.int64(-1)
    return np.int64(gold) + np.int64(((z & LOW) * np.uint64(others)) >> np.uint64(32))


@inlined
def bits_of(word):
    """How many bits of 64 are set."""
    word = word - ((word >> np.uint64(1)) & ONES)
    word = (word & PAIRS) + ((word >> np.uint64(2)) & PAIRS)
    word = (word + (word >> np.uint64(4))) & FOURS
    return np.int64((word * EIGHTS) >> np.uint64(56))


@inlined
def joined(template, name):
    """The hash of a feature, given the partial hash of its template and a name."""
    return finish(template + np.uint64(name))


@inlined
def template_hash(x, codes, t, b, e, k):
    """Partial hash of template t at the words b <= q < e of a sentence, with a split k; of a tag, at the word b."""
    total = partial(x.templates[t, 0], 0, 0)
    for a in range(x.templates[t, 1], x.templates[t, 2]):
        value = value_of(x, codes, np.int64(x.atoms[a, 0]), np.int64(x.atoms[a, 1]), np.int64(x.atoms[a, 2]), b, e, k)
        total += partial(x.templates[t, 0], a - x.templates[t, 1] + 1, value)
    return total


@inlined
def value_of(x, codes, role, column, offset, b, e, k):
    """The value of an atom."""
    if role == EVERY_WORD:
        return value_of_words(codes[:, column], b, e)
    if role >= LENGTH_OF:
        length = e - b if role == LENGTH_OF else k - b if role == LEFT_LENGTH else e - k
        return np.int64(x.bins[min(length, len(x.bins) - 1)])
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
def value_of_words(codes, b, e):
    """Value of a sequence of codes: those of the first four words and of the last three, runs as one code and a mark."""
    value, last, repeated = np.uint64(0), np.int64(-1), False
    for q in range(b, e):
        if q == b + FIRST_PART and e - q > LAST_PART:
            value, last, repeated = mix(value + np.uint64(1)), np.int64(-1), False
        if q >= b + FIRST_PART and e - q > LAST_PART:
            continue
        if codes[q] == last:
            if not repeated:
                value, repeated = mix(value + np.uint64(2)), True
        else:
            last, repeated = np.int64(codes[q]), False
            value = mix(value + np.uint64(last + 3))
    return np.int64(value >> np.uint64(1))
