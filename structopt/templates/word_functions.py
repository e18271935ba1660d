"""Functions of words in templates: lower, prefix, suffix, shape, collapsed, length, digits,
kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from structopt.templates.syntax import Argument


class _Characters(dict[int, str]):
    """A table for `str.translate`, filled by `classify` as characters are looked up."""

    def __init__(self, classify: Callable[[str], str]) -> None:
        super().__init__()
        self.classify = classify

    def __missing__(self, code: int) -> str:
        self[code] = self.classify(chr(code))
        return self[code]


def _letter_class(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    return "d" if character.isdigit() else character


_SHAPE = _Characters(_letter_class)
_ZEROS = _Characters(lambda character: "0" if character.isdigit() else character)
_RUN = re.compile(r"(.)\1+", re.DOTALL)
_NUMBER = re.compile(r"[^\w]*\d[\d\W]*")


def shape(word: str) -> str:
    """Return the word with upper case as X, lower case as x, digits as d: ``McDonald-95`` is
    ``XxXxxxxx-dd``.
    """
    return word.translate(_SHAPE)


def initial(word: str) -> str:
    """Return the class of the first character: X, x, d, or the character itself; ``McDonald`` is
    ``X``.
    """
    return word[:1].translate(_SHAPE)


def collapsed(word: str) -> str:
    """Return the shape with each run of a character as one: ``McDonald-95`` is ``XxXx-d``."""
    return _RUN.sub(r"\1", word.translate(_SHAPE))


def digits(word: str) -> str:
    """Return the word with every digit replaced by 0: ``1996-08-22`` is ``0000-00-00``."""
    return word.translate(_ZEROS)


def kind(word: str) -> str:
    """Return a coarse class of the word.

    One of number, has-digit, punctuation, initial, acronym, all-caps, capital, lower, initial-cap,
    mixed-case and other.
    """
    if _NUMBER.fullmatch(word):
        return "number"
    if any(map(str.isdigit, word)):
        return "has-digit"
    if not any(map(str.isalpha, word)):
        return "punctuation"
    return _case(word)


def _case(word: str) -> str:
    """The class of a word with letters and without digits."""
    if word.isupper():
        if "." in word:
            return "initial" if len(word) == 2 else "acronym"
        return "all-caps" if len(word) > 1 else "capital"
    if word.islower():
        return "lower"
    if word[0].isupper():
        return "initial-cap" if word[1:].islower() else "mixed-case"
    return "mixed-case" if any(map(str.isupper, word)) else "other"


_PLAIN: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "shape": shape,
    "collapsed": collapsed,
    "length": lambda word: str(len(word)),
    "digits": digits,
    "kind": kind,
}


def apply(function: str, argument: Argument, words: Iterable[str | None]) -> list[str | None]:
    """Return the values of a function on words: None for None, and for a word too short for its
    prefix or suffix.
    """
    if function in _PLAIN:
        plain = _PLAIN[function]
        return [None if word is None else plain(word) for word in words]
    length = int(argument or 0)
    characters = slice(length) if function == "prefix" else slice(-length, None)
    return [None if word is None or len(word) < length else word[characters] for word in words]
