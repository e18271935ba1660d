"""Hashes of template features: partial hashes of the tokens, their sums for the parts, and the
indices of weights.

All numbers are unsigned and wrap at 2^64. With the mixing function of SplitMix64, `mix`, an atom k
= 1, 2, ... of template t that meets the value x has the partial hash ``mix(STEP * (64 t + k) +
x)``; the template itself has ``mix(STEP * 64 t)``. The hash of a feature is `finish` of the sum of
them. Partial hashes are made once a sentence for every template and token, so that the hash of a
part costs an addition a token of the part, and one multiplication.

The highest b bits of the hash are the index, among 2^b, of the feature's plain weight: its
*variant* 0. Variants v > 0 (with direction and distance, say) have their weights in the same
aligned group of 16 (of rows of label weights: 4), v further round. So the variants of one feature
never share a weight, and lie in one or two cache lines.

A token of a part is written as a *slot*: 0 for no token, 1 for the root, p + 2 for the token at
position p.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.waist.bits import mix
from structopt.kernels.waist.signatures import inlined

STEP = np.uint64(0x9E3779B97F4A7C15)
LAST = np.uint64(0xD6E8FEB86659FD93)
ATOMS = 64
"""More than the atoms of a template."""
START, END, ROOT_CODE, NONE_CODE = -1, -2, -3, -4
"""Values beyond the sentence's edges, of the root, and of no token; those of tokens are 0 and
more.
"""
NONE_SLOT, ROOT_SLOT, TOKENS = 0, 1, 2


@inlined
def finish(z):
    """Make the highest bits depend on all bits of a sum of partial hashes."""
    return (z ^ (z >> np.uint64(32))) * LAST


@inlined
def partial(template, atom, value):
    """Partial hash of an atom of a template (0: of the template itself) that meets a value."""
    return mix(STEP * (np.uint64(ATOMS) * np.uint64(template) + np.uint64(atom)) + np.uint64(value))


@inlined
def value_at(codes, column, slot, offset):
    """Value of a column `offset` tokens from a slot; `codes` are those of the sentence, shape (n,
    columns).
    """
    if slot == NONE_SLOT:
        return np.int64(NONE_CODE)
    if slot == ROOT_SLOT and offset == 0:
        return np.int64(ROOT_CODE)
    q = slot - TOKENS + offset
    if q < 0:
        return np.int64(START)
    if q >= len(codes):
        return np.int64(END)
    return np.int64(codes[q, column])


@inlined
def add_hashes(sums, t, a, b, c, out):
    """out = hashes of the features of template t at parts whose slots are a, b, c."""
    first, second, third, constant = (
        sums.partials[0, t],
        sums.partials[1, t],
        sums.partials[2, t],
        sums.constants[t],
    )
    for k in range(len(a)):
        out[k] = first[np.uint64(a[k])] + second[np.uint64(b[k])] + third[np.uint64(c[k])]
    for k in range(len(a)):
        out[k] = finish(out[k] + constant)


@inlined
def rotated(index, variant, size):
    """Index of a variant of the feature whose variant 0 has `index`, in groups of `size` (a power
    of 2).
    """
    low = size - np.uint64(1)
    return (index & ~low) | ((index + variant) & low)
