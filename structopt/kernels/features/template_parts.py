"""The record of hashed templates, and what scores and gradients share: partial hashes, variants,
tokens in between.

Every *kind* of part has templates: labels on arcs, arcs, siblings, grandparents. The tokens of a
part are slots (`structopt.kernels.features.hashing`), each in a role: head and modifier of an arc;
head, nearer and farther modifier of siblings; head's head, head and modifier of grandparents.
Templates of arcs, and of labels on them, differ in *shape*: the tokens that they look at.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from structopt.kernels.features.hashing import NONE_SLOT, ROOT_SLOT, TOKENS, partial, value_at
from structopt.kernels.waist.fields import Int, Ints, Longs, Wide, Words
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined

LABEL, ARC, SIBLING, GRANDPARENT = np.arange(4)
HEAD, MODIFIER, BOTH, BETWEEN = np.arange(4)
"""They have the type int64. Each Python integer in a call has a type of its own, for which Numba
compiles the function again.
"""
SHAPES = 4
GROUP, ROWS = np.uint64(16), np.uint64(4)
"""Sizes of groups: variants of a weight, and of a row of label weights."""
CHUNK = 512  # parts at a time: their hashes and scores stay in the first cache


class Hashed(NamedTuple):
    """The record of the features, opened. m sentences, G part groups, T templates.

    Attributes
    ----------
    hash_bits, label_bits : 2^hash_bits weights stand before 2^label_bits rows of label weights
    labels : L, weights of such a row; 0 where arcs have no labels
    columns : of the codes
    groups : (G,) the kind of each part group
    bounds : (4 * 4 + 1,) where the templates of each kind and shape begin (siblings and
    grandparents have all in the third) templates : (T, 4) number in the hash, first atom, last atom
    + 1, column of its ``between`` atom atoms : (atoms, 3) role (which token of the part; 2:
    between), column, offset bins : distance bin of each distance, the last for all greater ones
    codes : (tokens, columns) slots : slots of the tokens of the parts, one array after the other
    starts : (4 * 3,) where the slots of each kind and role begin in `slots`; arcs have their heads
    in the third role, too tokens : (m + 1,) where the tokens of each sentence begin positions : (G
    * (m + 1),) where the parts of each sentence begin, group by group support : one bit a weight,
    set when it may move; or empty when all may row_support : the same of label weights, ceil(L /
    64) words a row
    """

    hash_bits: Int
    label_bits: Int
    labels: Int
    columns: Int
    groups: Ints
    bounds: Ints
    templates: Annotated[Ints, Wide(4)]
    atoms: Annotated[Ints, Wide(3)]
    bins: Ints
    codes: Annotated[Ints, Wide("columns")]
    slots: Ints
    starts: Longs
    tokens: Longs
    positions: Longs
    support: Words
    row_support: Words


HASHED = RecordLayout(Hashed)
open_hashed = HASHED.compiled


class Sums(NamedTuple):
    """Partial hashes of the tokens of a sentence for T templates of one kind.

    Attributes
    ----------
    constants : (T,) of the templates themselves
    partials : (3, T, slots) sums over the atoms of each role
    bounds : (5,) where the templates of each shape begin
    """

    constants: np.ndarray
    partials: np.ndarray
    bounds: np.ndarray


@inlined
def parts_of(x, kind, first, last):
    """Slots of the tokens of the parts first <= e < last of a kind, an array a role."""
    a, b, c = x.starts[kind * 3], x.starts[kind * 3 + 1], x.starts[kind * 3 + 2]
    return (
        x.slots[a + first : a + last],
        x.slots[b + first : b + last],
        x.slots[c + first : c + last],
    )


@inlined
def cells_of_tokens(codes):
    """How many sums over parts with one token and of one variant there are: for heads, and for
    modifiers.
    """
    return 2 * (len(codes) + TOKENS) * np.int64(GROUP)


@inlined
def sums_of(x, kind, codes):
    """Partial hashes of the templates of one kind, in a sentence with these codes."""
    first, last = x.bounds[kind * SHAPES], x.bounds[(kind + 1) * SHAPES]
    constants = np.zeros(last - first, np.uint64)
    partials = np.zeros((3, last - first, len(codes) + TOKENS), np.uint64)
    for t in range(first, last):
        constants[t - first] = add_partials(x, t, codes, partials[:, t - first])
    return Sums(constants, partials, x.bounds[kind * SHAPES : (kind + 1) * SHAPES + 1] - first)


@inlined
def add_partials(x, t, codes, out):
    """Add the partial hashes of template t to `out`, shape (3, slots); return that of the template
    itself.
    """
    number, begin, end = x.templates[t, 0], x.templates[t, 1], x.templates[t, 2]
    for j in range(begin, end):
        row, column, offset = out[x.atoms[j, 0]], np.int64(x.atoms[j, 1]), np.int64(x.atoms[j, 2])
        for slot in range(len(row)):
            row[slot] += partial(number, j - begin + 1, value_at(codes, column, slot, offset))
    return partial(number, 0, 0)


@inlined
def variants_of(x, kind, a, b, c):
    """Return the variant of every part of a kind: the directions and distance between its tokens.
    The root is left of all.

    Labels: 1 where the head is on the right, 2 where it is on the left, 3 where it is the root.
    Arcs: 1 + 2 * distance bin + whether the head is on the left; from the root the number after
    these. Siblings: 1 + 3 * side(nearer) + side(farther) with side 0 for no token, 1 left and 2
    right of the head. Grandparents: 1 + 2 * [head's head left of the head] + [head left of the
    modifier].
    """
    out, last = np.empty(len(a), np.uint64), len(x.bins) - 1
    for e in range(len(a)):
        p, q, r = np.int64(a[e]), np.int64(b[e]), np.int64(c[e])
        if kind == LABEL:
            v = 3 if p == ROOT_SLOT else 1 + (p < q)
        elif kind == ARC:
            v = 1 + 2 * np.int64(x.bins[min(abs(p - q), last)]) + (p < q)
            v = 3 + 2 * np.int64(x.bins[last]) if p == ROOT_SLOT else v
        elif kind == SIBLING:
            v = (
                1
                + 3 * (0 if q == NONE_SLOT else 1 + (q > p))
                + (0 if r == NONE_SLOT else 1 + (r > p))
            )
        else:
            v = 1 + 2 * (p < q) + (q < r)
        out[e] = np.uint64(v)
    return out


class Entries(NamedTuple):
    """What templates look at: the parts, or for templates that look between, each distinct value
    between the tokens of an arc.

    Attributes
    ----------
    parts : number of the part
    a, b, c : slots; a value's is that of its nearest token to the modifier
    """

    parts: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


@inlined
def entries_of(x, kind, codes, sums, t, a, b, c):
    """Return what template t of a kind looks at in the parts with slots a, b, c, and where
    templates begin that do not.
    """
    if t < sums.bounds[BETWEEN]:
        return Entries(np.arange(len(a)), a, b, c), sums.bounds[BETWEEN]
    first = x.bounds[kind * SHAPES]
    column, end = x.templates[first + t, 3], t
    while end < sums.bounds[SHAPES] and x.templates[first + end, 3] == column:
        end += 1
    return between(codes, np.int64(column), a, b), end


@inlined
def between(codes, column, heads, modifiers):
    """List the entries of the arcs (modifier by modifier) of a sentence. O(n^2 + entries)."""
    n, size = len(codes), 0
    same, chain, count = (
        first_alike(codes, column),
        np.zeros((2, n), np.int32),
        np.zeros(n + TOKENS, np.int64),
    )
    stamp, stamps = np.zeros(n, np.int64), np.int64(0)
    arcs, slots = np.empty(0, np.int64), np.empty((3, 0), np.int32)
    for filling in range(2):  # after counting
        if filling:
            arcs, slots = np.empty(size, np.int64), np.empty((3, size), np.int32)
        e = size = 0
        while e < len(heads):
            m = modifiers[e]
            outwards(same, m, stamp, stamps, chain, count)
            stamps += 2
            while e < len(heads) and modifiers[e] == m:
                values = chain[0 if heads[e] < m else 1]
                if filling:
                    for q in range(count[heads[e]]):
                        arcs[size + q], slots[2, size + q] = e, values[q]
                        slots[0, size + q], slots[1, size + q] = heads[e], m
                size += count[heads[e]]
                e += 1
    return Entries(arcs, slots[0], slots[1], slots[2])


@inlined
def first_alike(codes, column):
    """Return the first position that has the value of each position."""
    same = np.arange(len(codes))
    for p in range(len(codes)):
        for q in range(p):
            if codes[q, column] == codes[p, column]:
                same[p] = q
                break
    return same


@inlined
def outwards(same, modifier, stamp, stamps, chain, count):
    """List the slots where values appear first, going from a modifier to the left (chain[0]) and to
    the right (chain[1]).

    count[slot] becomes how many of its chain stand between the modifier and that slot. Of `stamp`
    (n,) none is above `stamps`.
    """
    for side in range(2):
        length, p, step = 0, modifier - TOKENS, 2 * side - 1
        while True:
            p += step
            if p < 0 or p == len(same):
                break
            count[p + TOKENS] = length
            if stamp[same[p]] != stamps + side + 1:
                stamp[same[p]] = stamps + side + 1
                chain[side, length] = p + TOKENS
                length += 1
        if side == 0:
            count[ROOT_SLOT] = length
