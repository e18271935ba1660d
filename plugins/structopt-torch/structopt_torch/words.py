"""Words as numbers: a vocabulary, and the character n-grams that words are made of, hashed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from zlib import crc32

import numpy as np

from structopt.plugin import Array

UNKNOWN = 0
"""The number of words that are in no vocabulary; known ones are numbered from 1."""


def vocabulary(words: Sequence[str], min_count: int, lower: bool) -> list[str]:
    """Words that occur so often, the most frequent first, equally frequent ones in the order of
    their characters.
    """
    counts = Counter(map(str.lower, words) if lower else words)
    kept = [(-count, word) for word, count in counts.items() if count >= min_count]
    return [word for _, word in sorted(kept)]


def word_numbers(words: Sequence[str], known: Sequence[str], lower: bool) -> Array:
    """The number of every word, int64: its place in the vocabulary from 1, or `UNKNOWN`."""
    numbers = {word: number for number, word in enumerate(known, 1)}
    return np.array(
        [numbers.get(word.lower() if lower else word, UNKNOWN) for word in words], np.int64
    )


def spelling_numbers(words: Sequence[str]) -> tuple[Array, list[str]]:
    """The number of every word among the distinct ones, int64; and these, in the order in which
    they first occur.
    """
    distinct: dict[str, int] = {}
    numbers = np.array([distinct.setdefault(word, len(distinct)) for word in words], np.int64)
    return numbers, list(distinct)


def hashed_ngrams(words: Sequence[str], longest: int, buckets: int) -> tuple[Array, Array]:
    """Rows of the n-grams of every word, and where those of each word begin: int64, of shapes
    (n-grams,) and (words + 1,).

    They are the runs of 1 to `longest` characters of the word between the marks < and >, and the
    word's shape: runs of capital letters, of small letters, of digits and of others as one
    character each. The row of an n-gram is its CRC-32 modulo `buckets`, so that different ones may
    share a row. Every word has some.
    """
    rows: list[int] = []
    offsets = [0]
    for word in words:
        marked = f"<{word}>"
        spans = (
            marked[i : i + n]
            for n in range(1, longest + 1)
            for i in range(n == 1, len(marked) - n + 1 - (n == 1))
        )
        rows += [
            crc32(one.encode("utf8", "surrogatepass")) % buckets
            for one in (*spans, f"shape {shape(word)}")
        ]
        offsets.append(len(rows))
    return np.array(rows, np.int64), np.array(offsets, np.int64)


def shape(word: str) -> str:
    """A word's runs of characters of one kind, a character each: ``McDonald's`` is XxXx'x."""
    kinds = (
        "X" if one.isupper() else "x" if one.isalpha() else "0" if one.isdigit() else one
        for one in word
    )
    return "".join(kind for kind, _ in groupby(kinds))
