"""Slots of attributes by a stable hash of their names, where no vocabulary is kept: equal on every
machine, in every version.

The hash of a string is its BLAKE2b digest of 64 bits; that of an attribute of a template mixes the
hashes of the template and of the values of its terms, one after the other. The upper `bits` bits
are the slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

LEAST, MOST = 10, 28
"""Bits of the smallest and of the largest table."""
PADDING_VALUE = "\0padding"
"""What is hashed for the value beyond a sentence: no cell of a file is this."""
ODD, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def check_bits(bits: int | None, min_count: int) -> None:
    """Refuse tables that are too small or too large, and counts of names, which are not kept."""
    if bits is None:
        return
    if not LEAST <= bits <= MOST:
        raise ConfigError(
            f"must be from {LEAST} to {MOST}, or null for a vocabulary.",
            parameter="features.hash_bits",
            value=bits,
        )
    if min_count > 1:
        raise ConfigError(
            f"counts attributes by name, and features.hash_bits={bits} stores no names.",
            parameter="features.min_count",
            value=min_count,
            remedy="Set features.min_count=1 or features.hash_bits=null.",
        )


def hash_of(text: str) -> int:
    """64 bits of a string."""
    return int.from_bytes(
        blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def hashes_of(texts: Iterable[str]) -> Array:
    """64 bits of every string, uint64."""
    return np.array([hash_of(text) for text in texts], np.uint64)


def mixed(hashes: Array, more: Array | np.uint64) -> Array:
    """Hashes of pairs of what two arrays are hashes of, uint64; their order matters."""
    values = (hashes ^ more) * ODD
    values ^= values >> SHIFT
    return np.asarray(values * ODD)


def slots_of(hashes: Array, bits: int) -> Array:
    """The slots of hashes among 2^bits, int32."""
    return np.asarray(hashes >> np.uint64(64 - bits)).astype(np.int32)


def slot_names(bits: int) -> list[str]:
    """What the slots are called, where the names of their attributes are not known."""
    return [f"hash{bits}={slot}" for slot in range(1 << bits)]


def hashed_table(slots: Sequence[Array] | Array, bits: int) -> AttributeTable:
    """The table of positions given one array of slots a template, -1 for none; slots of a row
    ascend, and none stands twice.
    """
    ids = np.sort(np.asarray(slots, np.int32).reshape(len(slots), -1), axis=0)
    kept = ids >= 0
    kept[1:] &= ids[1:] != ids[:-1]
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=0))]).astype(np.int64)
    return AttributeTable(
        offsets, np.ascontiguousarray(ids.T)[np.ascontiguousarray(kept.T)], None, 1 << bits
    )


def hashed_rows(offsets: Array, slots: Array, values: Array | None, bits: int) -> AttributeTable:
    """The table of rows of slots: one entry for each slot of a row, in ascending order, with the
    sum of its values.

    Parameters
    ----------
    offsets : int64, shape (rows + 1,)
    slots : int32, shape (entries,)
    values : float64, shape (entries,), or None
        None: all are 1, and so is an entry of several attributes.
    bits : int
    """
    row_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((slots, row_of))
    rows, ids = row_of[order], slots[order]
    first = np.ones(len(ids), bool)
    first[1:] = (ids[1:] != ids[:-1]) | (rows[1:] != rows[:-1])
    begins = np.flatnonzero(first)
    sums = (
        None
        if values is None
        else np.add.reduceat(values[order], begins)
        if len(begins)
        else np.zeros(0)
    )
    ends = np.searchsorted(rows[begins], np.arange(len(offsets))).astype(np.int64)
    return AttributeTable(ends, ids[begins].astype(np.int32), sums, 1 << bits)
