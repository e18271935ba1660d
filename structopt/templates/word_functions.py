"""Views of columns: functions of words, their values as integer codes, and the matching of word lists.

Code 0 of a view is the padding beyond the sentence, codes from 1 are its values in order of their first appearance, and -1
stands for no value: a prefix longer than the word, a word outside the list, a value that training has not seen.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from structopt.errors import DataError
from structopt.kernels.waist.record import Array
from structopt.templates.syntax import Argument, View

NONE, PADDING = -1, 0
POSITIONS = ("B", "I")
"""The values of a view that looks up a word list: the first token of a matched entry, and the tokens after it."""


class _Characters(dict[int, str]):
    """A table for `str.translate` that asks `classify` about a character when it first meets it."""

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
    """Upper case as X, lower case as x, digits as d; other characters stay: ``McDonald-95`` is ``XxXxxxxx-dd``."""
    return word.translate(_SHAPE)


def collapsed(word: str) -> str:
    """The shape with runs of one character squeezed: ``McDonald-95`` is ``XxXx-d``."""
    return _RUN.sub(r"\1", word.translate(_SHAPE))


def digits(word: str) -> str:
    """The word with every digit replaced by 0: ``1996-08-22`` is ``0000-00-00``."""
    return word.translate(_ZEROS)


def kind(word: str) -> str:
    """A coarse class: number, has-digit, punctuation, initial, acronym, all-caps, initial-cap, mixed-case, lower or other."""
    if _NUMBER.fullmatch(word):
        return "number"
    if any(map(str.isdigit, word)):
        return "has-digit"
    if not any(map(str.isalpha, word)):
        return "punctuation"
    return _case(word)


def _case(word: str) -> str:
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
    """Values of a function on words; None stays None, and so becomes a word too short for its prefix or suffix."""
    if function in _PLAIN:
        plain = _PLAIN[function]
        return [None if word is None else plain(word) for word in words]
    length = int(argument or 0)
    part = slice(length) if function == "prefix" else slice(-length, None)
    return [None if word is None or len(word) < length else word[part] for word in words]


class Vocabulary:
    """The values of one view in training, numbered from 1.

    Parameters
    ----------
    values : iterable of str or None
        The distinct values in order; None and repetitions are left out.
    """

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        distinct = dict.fromkeys(values)
        distinct.pop(None, None)
        self.values = [value for value in distinct if value is not None]
        self.codes: dict[str | None, int] = {value: code for code, value in enumerate(self.values, 1)}

    def __len__(self) -> int:
        """Number of codes, the padding's included."""
        return len(self.values) + 1

    def look_up(self, values: Sequence[str | None]) -> Array:
        """Codes of values, int32; -1 where a value is None or unknown."""
        get = self.codes.get
        return np.fromiter((get(value, NONE) for value in values), np.int32, len(values))


class Phrases:
    """The entries of a word list as a trie, in which all positions of a corpus are looked up at once.

    Parameters
    ----------
    entries : iterable of sequences of str
        The tokens of each entry.
    """

    def __init__(self, entries: Iterable[Sequence[str]]) -> None:
        entries = list(entries)
        self.vocabulary = Vocabulary(token for entry in entries for token in entry)
        nodes, ends = self._grow(entries)
        keys = np.fromiter(nodes, np.int64, len(nodes))
        order = np.argsort(keys)
        self.keys = keys[order]
        self.children = np.fromiter(nodes.values(), np.int64, len(nodes))[order]
        self.final = np.zeros(len(nodes) + 1, dtype=bool)
        self.final[ends] = True

    def _grow(self, entries: list[Sequence[str]]) -> tuple[dict[int, int], list[int]]:
        nodes: dict[int, int] = {}
        ends, codes, radix = [], self.vocabulary.codes, len(self.vocabulary)
        for entry in entries:
            node = 0
            for token in entry:
                node = nodes.setdefault(node * radix + codes[token], len(nodes) + 1)
            if node:
                ends.append(node)
        return nodes, ends

    def longest(self, codes: Array, ends: Array) -> Array:
        """Length of the longest entry that begins at each position, 0 where none does.

        Parameters
        ----------
        codes : int32, shape (tokens,)
            Codes of the tokens in the vocabulary of the list; -1 for others.
        ends : int64, shape (tokens,)
            Where the sentence of each token ends.
        """
        lengths = np.zeros(len(codes), dtype=np.int64)
        starts = np.flatnonzero(codes > PADDING) if len(self.keys) else np.empty(0, dtype=np.intp)
        node, depth = np.zeros(len(starts), dtype=np.int64), 0
        while len(starts):
            key = node * len(self.vocabulary) + codes[starts + depth]
            at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
            hit = (self.keys[at] == key) & (codes[starts + depth] > PADDING)
            starts, node, depth = starts[hit], self.children[at[hit]], depth + 1
            lengths[starts[self.final[node]]] = depth
            inside = starts + depth < ends[starts]
            starts, node = starts[inside], node[inside]
        return lengths

    def match(self, codes: Array, ends: Array) -> Array:
        """Codes of "B" and "I" (1 and 2) for entries matched from left to right, the longest first; -1 elsewhere. int32."""
        lengths, covered = self.longest(codes, ends), 0
        found = np.full(len(codes), NONE, dtype=np.int32)
        starts = np.flatnonzero(lengths)
        for start, length in zip(starts.tolist(), lengths[starts].tolist(), strict=True):
            if start >= covered:
                covered = start + length
                found[start], found[start + 1 : covered] = 1, 2
        return found


def read_list(path: str) -> list[str]:
    """The entries of a word list, one a line, plain or .gz; their tokens end up separated by single blanks.

    Raises
    ------
    DataError
        If the file is missing, or is not UTF-8 text.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(Path(path), "rt", encoding="utf-8-sig") as lines:
            entries = [" ".join(line.split()) for line in lines]
    except (OSError, EOFError) as error:
        reason = "there is no such word list" if isinstance(error, FileNotFoundError) else f"cannot read the word list: {error}"
        raise DataError(path, None, f"{reason}; correct its path under 'lists'.") from error
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"the word list is not UTF-8 text ({error}); convert it, for example with iconv.") from error
    return list(dict.fromkeys(filter(None, entries)))


class ColumnViews:
    """The columns of one corpus, and views of them as codes; every view is derived from the distinct values of its column.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        Columns over all tokens.
    offsets : int64, shape (sentences + 1,)
        Where the sentences begin.
    missing : collection of str
        Columns that are absent: padding everywhere.
    """

    def __init__(self, columns: Mapping[str, Sequence[str]], offsets: Array, missing: Collection[str] = ()) -> None:
        self.columns, self.missing = columns, missing
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self.tokens = int(self.offsets[-1])
        self._interned: dict[str, tuple[list[str], Array]] = {}
        self._derived: dict[View, list[str | None]] = {}
        self._positions: dict[int, Array] = {}

    def interned(self, column: str) -> tuple[list[str], Array]:
        """The distinct values of a column, and the number of each token's value among them."""
        if column not in self._interned:
            values = self.columns[column]
            if len(values) != self.tokens:
                raise ValueError(f"column '{column}' has {len(values)} values for {self.tokens} tokens")
            table = {value: number for number, value in enumerate(dict.fromkeys(values))}
            self._interned[column] = list(table), np.fromiter(map(table.__getitem__, values), np.intp, self.tokens)
        return self._interned[column]

    def derived(self, view: View) -> list[str | None]:
        """Values of a view (not of a word list) for the distinct values of its column."""
        if not view.steps:
            return list(self.interned(view.column)[0])
        if view not in self._derived:
            self._derived[view] = apply(*view.steps[-1], self.derived(view.inner))
        return self._derived[view]

    def codes(self, view: View, vocabulary: Vocabulary, phrases: Phrases | None) -> Array:
        """Codes of a view, int32, shape (tokens + 1,); the last is what lies outside the sentences."""
        outside = PADDING if phrases is None else NONE
        codes = np.full(self.tokens + 1, outside, dtype=np.int32)
        if view.column in self.missing:
            return codes
        distinct = self.interned(view.column)[1]
        if phrases is None:
            codes[:-1] = vocabulary.look_up(self.derived(view))[distinct]
            return codes
        words = phrases.vocabulary.look_up(self.derived(view.inner))[distinct]
        codes[:-1] = phrases.match(words, np.repeat(self.offsets[1:], np.diff(self.offsets)))
        return codes

    def positions(self, offset: int) -> Array:
        """For each token, the position `offset` tokens further; the number of tokens where that is outside its sentence."""
        if offset not in self._positions:
            lengths = np.diff(self.offsets)
            there = np.arange(self.tokens, dtype=np.intp) + offset
            inside = (there >= np.repeat(self.offsets[:-1], lengths)) & (there < np.repeat(self.offsets[1:], lengths))
            self._positions[offset] = np.where(inside, there, self.tokens)
        return self._positions[offset]
