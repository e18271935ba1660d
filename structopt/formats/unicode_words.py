"""Words of texts in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby

UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x3005, 0x3007),  # Han: iteration mark, zero
    (0x3021, 0x3035),
    (0x3040, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Kana
    (0x20000, 0x3FFFF),  # Han
)
"""The first and the last character of scripts that are written without spaces between words."""

FIRST_MARK, LAST_MARK = 0x300, 0xE01EF
"""The first and the last combining mark of Unicode."""


def words_of(text: str) -> list[str]:
    """Return the words of a text.

    A word is a run of letters, digits and combining marks. In scripts without spaces, each
    character is a word, with its combining marks. Underscores belong to no word.
    """
    if text.isascii():
        return re.findall(r"[^\W_]+", text)
    return _pattern("_").findall(unicodedata.normalize("NFC", text))


def tokens() -> re.Pattern[str]:
    """Return the pattern of tokens: words, which may have underscores, and each other character
    that is not white space.
    """
    return _pattern("")


@cache
def _pattern(excluded: str) -> re.Pattern[str]:
    """The pattern of words; of all tokens if no character is excluded."""
    unspaced = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)
    marks = _marks()
    one = rf"(?=\w)[{unspaced}][{marks}]*"
    run = rf"(?:[^\W{excluded}{unspaced}][{marks}]*)+"
    return re.compile(f"{one}|{run}" if excluded else rf"{one}|{run}|\S")


def _marks() -> str:
    """All combining marks, as ranges of a character class."""
    codes = [
        code
        for code in range(FIRST_MARK, LAST_MARK + 1)
        if unicodedata.category(chr(code)).startswith("M")
    ]
    runs = [list(run) for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)
