"""What pictures of trees share: colours, sizes, the width of texts, and text that XML can hold."""

from __future__ import annotations

import unicodedata
from html import escape

MARGIN, TEXT = 16, 15  # pixels: around all, size of letters
RIGHT, WRONG, MISSED, OTHER = "#1f4e79", "#c0392b", "#2e8b57", "#8a8a8a"
WIDE = ("W", "F")


def opening(width: float, height: float) -> list[str]:
    """The first lines of a picture: its size in pixels, its letters, and a white ground."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{TEXT}" '
        'text-anchor="middle">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]


def word_lines(middle: float, top: float, word: str, tag: str) -> list[str]:
    """A word and its tag below it, under the height `top`."""
    return [
        f'<text x="{middle:.1f}" y="{top + 1.4 * TEXT:.1f}">{clean(word)}</text>',
        f'<text x="{middle:.1f}" y="{top + 2.6 * TEXT:.1f}" font-size="{TEXT - 4}" '
        f'fill="{OTHER}">{clean(tag)}</text>',
    ]


def width_of(text: str, size: int) -> float:
    """Width of a text in pixels, about."""
    return size * sum(
        1.05 if unicodedata.east_asian_width(letter) in WIDE else 0.6 for letter in text
    )


def clean(text: str) -> str:
    """Text that XML can hold."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
