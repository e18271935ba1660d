"""Classes of rare and unknown words: by capitals, digits, hyphens and English suffixes."""

from __future__ import annotations

SUFFIXES = ("ing", "ion", "ity", "est", "ed", "er", "ly", "al", "s", "y")
"""The longest of these that ends the word counts; ``s`` not after s, i or u."""
SHORTEST = 3
"""Letters before a suffix, at least."""


def word_class(word: str, first: bool) -> str:
    """The class of a word: ``<cap-ed>``.

    Parameters
    ----------
    word : str
    first : bool
        Whether it begins its sentence, where a capital says little.

    Notes
    -----
    The classes follow those of the Berkeley parser (Petrov et al. 2006) in what they look at.
    """
    signs = []
    if word[:1].isupper():
        signs.append("first" if first else "caps" if len(word) > 1 and word.isupper() else "cap")
    if any(map(str.isdigit, word)):
        signs.append("number" if not any(map(str.isalpha, word)) else "digit")
    if "-" in word[1:]:
        signs.append("hyphen")
    if not any(map(str.isalnum, word)):
        signs.append("sign")
    if suffix := _suffix(word.lower()):
        signs.append(suffix)
    return f"<{'-'.join(signs) or 'word'}>"


def _suffix(word: str) -> str:
    for suffix in SUFFIXES:
        if word.endswith(suffix) and word.isalpha() and len(word) >= len(suffix) + SHORTEST:
            return "" if suffix == "s" and word[-2] in "siu" else suffix
    return ""
