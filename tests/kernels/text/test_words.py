"""Words of texts, compiled and as plain Python."""

import numpy as np
import pytest

from structopt.kernels.text import words
from structopt.kernels.waist.signatures import inlined

TEXT = b"an attribute\tof:thirty one bytes"


def bytes_of(text):
    return np.frombuffer(text, np.uint8).copy()


def word_of(text):
    return int.from_bytes(text.ljust(8, b"\n")[:8], "little")


@inlined
def read(text, q):
    return words.word_at(text, q)


@inlined
def write(text, q, word):
    words.write_word(text, q, word)


@inlined
def first(word, byte):
    places = words.places_of(word, byte)
    return words.first_place(places) if places != 0 else -1


@inlined
def are_equal(text, a, other, b, length):
    return words.equal(text, a, other, b, length)


@inlined
def copied(source, a, target, b, length):
    words.copy(source, a, target, b, length)


@inlined
def hashed(text, begin, end):
    return words.hash_of(text, begin, end, words.SEED)


@pytest.mark.parametrize("q", range(len(TEXT)))
def test_words_at_any_place_and_line_ends_behind_the_text(q):
    text = bytes_of(TEXT)
    assert int(read(text, q)) == word_of(TEXT[q:])
    assert int(words.last_word.py_func(text, q)) == word_of(TEXT[q:])
    if q + 8 <= len(TEXT):
        assert int(words.whole_word(text, q)) == word_of(TEXT[q:])


@pytest.mark.parametrize("q", [0, 1, 3, len(TEXT) - 8, len(TEXT) - 5, len(TEXT) - 1])
def test_a_word_is_written_as_far_as_there_is_room(q):
    want = TEXT[:q] + b"12345678"[: len(TEXT) - q] + TEXT[q + 8 :]
    for write_one in (write, write.py_func):
        text = bytes_of(TEXT)
        write_one(text, q, np.uint64(word_of(b"12345678")))
        assert text.tobytes() == want
    if q + 8 <= len(TEXT):
        text = bytes_of(TEXT)
        words.write_whole_word(text, q, np.uint64(word_of(b"12345678")))
        assert text.tobytes() == want


@pytest.mark.parametrize(
    "text, byte, want",
    [
        (b"abc:def:", ":", 3),
        (b":bcdefgh", ":", 0),
        (b"abcdefg:", ":", 7),
        (b"abcdefgh", ":", -1),
        (b"\x0a\x0b\x09\x09defg", "\t", 2),
        (b"\xff\x80\x3b\x39\x3a___", ":", 4),
        (b"\x3b\x3b\x3b\x3b\x3b\x3b\x3b\x3b", ":", -1),
    ],
)
def test_the_first_place_of_a_byte(text, byte, want):
    assert first(np.uint64(word_of(text)), np.uint8(ord(byte))) == want


@pytest.mark.parametrize("length", range(20))
def test_equality_looks_at_every_byte_and_at_none_behind(length):
    text, other = bytes_of(b"-" + TEXT), bytes_of(TEXT[:length] + b"?" * (30 - length))
    assert are_equal(text, 1, other, 0, length)
    for q in range(length):
        changed = other.copy()
        changed[q] ^= 0x80
        assert not are_equal(text, 1, changed, 0, length)


@pytest.mark.parametrize("length", range(20))
def test_copies_and_hashes(length):
    source, target = bytes_of(b"--" + TEXT), np.zeros(length + 3, np.uint8)
    copied(source, 2, target, 3, length)
    assert target[3:].tobytes() == TEXT[:length]
    assert target[:3].tolist() == [0, 0, 0]
    assert hashed(source, 2, 2 + length) == hashed(target, 3, 3 + length)


def test_hashes_tell_strings_apart():
    strings = {b"x" * n + end for n in range(40) for end in (b"", b"\0")}
    strings |= {b"%d=%d" % (a, b) for a in range(90) for b in range(90)}
    strings |= {
        b"feature" + bytes([c]) + b"feature" + bytes([d]) for c in range(64) for d in range(64)
    }
    halves = {int(hashed(bytes_of(string), 0, len(string))) >> 32 for string in strings}
    assert len(halves) >= len(strings) - 1  # of 2^32: two that are equal are a rare chance
