"""Hashes and hash tables of names, compared with Bob Jenkins's lookup3 in plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from structopt.kernels.text import name_tables

LOW = 0xFFFFFFFF


def rotated(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & LOW


def words(block: bytes) -> Iterator[int]:
    return (int.from_bytes(block[k : k + 4], "little") for k in (0, 4, 8))


def lookup3(key: bytes) -> int:
    """``hashlittle`` of lookup3.c with the seed 0; each of its lines has other names."""
    a = b = c = (0xDEADBEEF + len(key)) & LOW
    while len(key) > 12:
        a, b, c = ((x + word) & LOW for x, word in zip((a, b, c), words(key), strict=True))
        for shift in (4, 6, 8, 16, 19, 4):
            a, c = ((a - c) & LOW) ^ rotated(c, shift), (c + b) & LOW
            a, b, c = b, c, a
        key = key[12:]
    block = key.ljust(12, b"\0")
    a, b, c = ((x + word) & LOW for x, word in zip((a, b, c), words(block), strict=True))
    for shift in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, shift)) & LOW
        a, b, c = b, c, a
    return b


def hashes_of(names: list[bytes]) -> np.ndarray:
    lengths = np.array([len(name) for name in names])
    begins = np.cumsum(lengths) - lengths
    found = np.empty(len(names), np.int64)
    name_tables.hash_names(np.frombuffer(b"".join(names), np.uint8), begins, lengths, found)
    return found


def test_the_reference_has_the_values_of_lookup3_c() -> None:
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_names_of_each_length() -> None:
    numbers = random.Random(0)
    names = [
        bytes(numbers.randrange(256) for _ in range(length))
        for length in range(1, 41)
        for _ in range(5)
    ]
    assert hashes_of(names).tolist() == [lookup3(name) for name in names]


def test_tables_contain_each_name_in_the_order_of_insertion() -> None:
    names = [f"name {k}\0".encode() for k in range(600)]
    hashes = hashes_of(names)
    slots = 2 * np.bincount(hashes & 255, minlength=256)
    firsts = np.concatenate([[0], np.cumsum(slots)])
    records = 100 + 16 * np.arange(len(names))
    table = np.zeros((2, int(firsts[-1])), np.int64)
    name_tables.fill_tables(hashes, records, firsts, table[0], table[1])
    expected: dict[int, int] = {}
    for value, record in zip(hashes.tolist(), records.tolist(), strict=True):
        own = value & 255
        slot = (value >> 8) % int(slots[own])
        while int(firsts[own]) + slot in expected:
            slot = (slot + 1) % int(slots[own])
        expected[int(firsts[own]) + slot] = record
    assert {k: r for k, r in enumerate(table[1].tolist()) if r} == expected
    block = np.frombuffer(table.T.astype("<u4").tobytes(), np.uint8)
    found = [hashes, records, 8 * firsts[:-1], slots]
    assert name_tables.first_lost(block, *found) == -1
    assert name_tables.first_lost(block, hashes, records + 1, *found[2:]) == 0
