"""Hash tables of names in files of CRFsuite (constant databases, "CQDB").

A name with the NUL byte behind it has a hash h of 32 bits: Bob Jenkins, lookup3.c (2006),
``hashlittle`` with the seed 0. It belongs to the table h & 255, and its search begins at slot
(h >> 8) mod slots. A slot is the pair (hash, offset of the record); the offset 0 marks an empty
one.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.waist.signatures import LONGS, inlined, kernel

TABLES = 256
INITIAL = 0xDEADBEEF  # a constant of lookup3
LOW = 0xFFFFFFFF  # 32 bits; sums and shifts are of 64, so that no operation can overflow
BLOCK = 12  # bytes that are mixed together

TEXT = types.Array(types.uint8, 1, "C", readonly=True)
BYTES = types.uint8[::1]


@inlined
def rotated(x, k):
    """Rotate 32 bits to the left by k."""
    return ((x << k) | (x >> (32 - k))) & LOW


@inlined
def number_at(data, q, end):
    """Return the little-endian number of the four bytes at place q; those from `end` on count as
    0.
    """
    number = 0
    for j in range(min(4, end - q)):
        number |= np.int64(data[q + j]) << (8 * j)
    return number


@inlined
def lookup3(data, begin, length):
    """Return the hash of bytes, at least one."""
    a = b = c = (INITIAL + length) & LOW
    q, end = begin, begin + length
    while end - q > BLOCK:
        a = (a + number_at(data, q, end)) & LOW
        b = (b + number_at(data, q + 4, end)) & LOW
        c = (c + number_at(data, q + 8, end)) & LOW
        a = ((a - c) & LOW) ^ rotated(c, 4)
        c = (c + b) & LOW
        b = ((b - a) & LOW) ^ rotated(a, 6)
        a = (a + c) & LOW
        c = ((c - b) & LOW) ^ rotated(b, 8)
        b = (b + a) & LOW
        a = ((a - c) & LOW) ^ rotated(c, 16)
        c = (c + b) & LOW
        b = ((b - a) & LOW) ^ rotated(a, 19)
        a = (a + c) & LOW
        c = ((c - b) & LOW) ^ rotated(b, 4)
        b = (b + a) & LOW
        q += BLOCK
    a = (a + number_at(data, q, end)) & LOW
    b = (b + number_at(data, q + 4, end)) & LOW
    c = (c + number_at(data, q + 8, end)) & LOW
    c = ((c ^ b) - rotated(b, 14)) & LOW
    a = ((a ^ c) - rotated(c, 11)) & LOW
    b = ((b ^ a) - rotated(a, 25)) & LOW
    c = ((c ^ b) - rotated(b, 16)) & LOW
    a = ((a ^ c) - rotated(c, 4)) & LOW
    b = ((b ^ a) - rotated(a, 14)) & LOW
    return ((c ^ b) - rotated(b, 24)) & LOW


@kernel(types.void(TEXT, LONGS, LONGS, LONGS))
def hash_names(data, begins, lengths, hashes):
    """Write the hashes of names, given where they begin, and their lengths, each with its NUL."""
    for i in range(len(begins)):
        hashes[i] = lookup3(data, begins[i], lengths[i])


@kernel(types.void(TEXT, LONGS, LONGS, LONGS, BYTES))
def copy_names(data, begins, lengths, targets, out):
    """Copy runs of bytes to their targets."""
    for i in range(len(begins)):
        for j in range(lengths[i]):
            out[targets[i] + j] = data[begins[i] + j]


@kernel(types.void(LONGS, LONGS, LONGS, LONGS, LONGS))
def fill_tables(hashes, records, firsts, slot_hashes, slot_records):
    """Enter names into their tables, in their order.

    Parameters
    ----------
    hashes, records : int64, shape (names,)
        The hash of each name, and the offset of its record.
    firsts : int64, shape (TABLES + 1,)
        The first slot of each table; twice as many slots as names.
    slot_hashes, slot_records : int64, shape (slots,)
        Receive the slots; zeros before.
    """
    for i in range(len(hashes)):
        table = hashes[i] & (TABLES - 1)
        first, slots = firsts[table], firsts[table + 1] - firsts[table]
        slot = (hashes[i] >> 8) % slots
        while slot_records[first + slot] != 0:
            slot = (slot + 1) % slots
        slot_hashes[first + slot], slot_records[first + slot] = hashes[i], records[i]


@kernel(types.int64(TEXT, LONGS, LONGS, LONGS, LONGS))
def first_lost(data, hashes, records, begins, slots):
    """Return the first name whose record a search of the tables of a file does not find; -1 if all
    are found.

    Parameters
    ----------
    data : uint8
        The database, in which all tables lie.
    hashes, records : int64, shape (names,)
    begins, slots : int64, shape (TABLES,)
        The offset and the number of slots of each table; at least one slot for each name in it.
    """
    for i in range(len(hashes)):
        table = hashes[i] & (TABLES - 1)
        slot, found = (hashes[i] >> 8) % slots[table], False
        for _ in range(slots[table]):
            q = begins[table] + 8 * slot
            record = number_at(data, q + 4, q + 8)
            if record == 0:
                break
            if record == records[i] and number_at(data, q, q + 4) == hashes[i]:
                found = True
                break
            slot = (slot + 1) % slots[table]
        if not found:
            return i
    return -1
