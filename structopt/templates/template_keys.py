"""Keys of attributes: the codes of a template's terms, joined into one integer in mixed radix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.kernels.waist.record import Array
from structopt.templates.vocabulary import NONE

LARGEST_KEY = 1 << 62
"""Bound on the keys of a template; where they would exceed it, the keys of its first terms are
renumbered.
"""
DENSE = 1 << 21
"""Keys below this are counted and looked up in an array over all of them, larger ones by sorting
and bisection.
"""
FEW = 8
"""Keys are looked up by bisection, too, if the array would have more entries per key than this."""


@dataclass
class TemplateKeys:
    """The keys of the attributes that one template has in the training data.

    Attributes
    ----------
    widths : list of int
        Number of codes of each term.
    keys : int64, sorted
        The keys of the attributes.
    prefixes : dict of int to int64 array
        For a term before which keys are renumbered: the keys of the terms before it, sorted.
    """

    widths: list[int]
    keys: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    prefixes: dict[int, Array] = field(default_factory=dict)

    def learn(
        self, terms: Iterable[Array], tokens: int, min_count: int, kept: Sequence[Array] | None
    ) -> tuple[Array, int]:
        """Take the keys that occur often enough; return the keys of all tokens, and a bound above
        them.

        Parameters
        ----------
        terms : iterable of int32 arrays, shape (tokens,)
            The codes of each term.
        tokens : int
        min_count : int
            Rarer keys are left out.
        kept : sequence of int32 arrays, or None
            Codes of attributes that are taken however rare they are, one array a term.
        """
        rows = tokens
        if kept is not None:
            terms = (np.concatenate(pair) for pair in zip(terms, kept, strict=False))
            rows += len(kept[0])
        keys, radix = self.joined(iter(terms), rows, learn=True)
        self.keys = distinct_keys(keys[:tokens], radix, min_count)
        if kept is not None:
            self.keys = np.union1d(self.keys, keys[tokens:])
        return keys[:tokens], radix

    def joined(self, terms: Iterator[Array], rows: int, learn: bool = False) -> tuple[Array, int]:
        """Return the keys of rows of codes, int64, -1 where a term has none, and a bound above
        them.

        With `learn`, keys are renumbered where they would exceed `LARGEST_KEY`; else where they
        were in training.
        """
        if not self.widths:
            return np.zeros(rows, dtype=np.int64), 1
        keys, radix = next(terms), self.widths[0]
        for term, width in enumerate(self.widths[1:], 1):
            if learn and radix * width > LARGEST_KEY:
                self.prefixes[term] = distinct_keys(keys, radix, 1)
            if term in self.prefixes:
                known = self.prefixes[term]
                keys, radix = numbers_at(keys, known, radix, np.arange(len(known))), len(known)
            codes = next(terms)
            none = (keys < 0) | (codes < 0)
            keys = keys.astype(np.int64) * width + codes
            keys[none] = NONE
            radix *= width
        return keys, radix

    def bounds(self) -> dict[int, int]:
        """Bounds above the keys of the terms before each term with prefixes; and, of all terms,
        above `keys`.
        """
        bounds, radix = {}, 1
        for term, width in enumerate(self.widths):
            if term in self.prefixes:
                bounds[term], radix = radix, len(self.prefixes[term])
            radix *= width
        return bounds | {len(self.widths): radix}

    def codes(self) -> list[Array]:
        """Return the codes of the terms of all attributes, int32, one array a term; for a bias,
        which has no terms, zeros.
        """
        keys, codes = self.keys, []
        for term in range(len(self.widths) - 1, 0, -1):
            keys, last = np.divmod(keys, self.widths[term])
            codes.append(last.astype(np.int32))
            if term in self.prefixes:
                keys = self.prefixes[term][keys]
        return [keys.astype(np.int32), *codes[::-1]]

    def codes_of(self, key: int) -> list[int]:
        """Return the codes of the terms of one attribute."""
        codes = []
        for term in range(len(self.widths) - 1, -1, -1):
            key, code = divmod(key, self.widths[term]) if term else (0, key)
            codes.append(code)
            if term in self.prefixes:
                key = int(self.prefixes[term][key])
        return codes[::-1]


def restored_keys(state: SavedState, widths: Sequence[list[int]]) -> list[TemplateKeys]:
    """The keys of templates, given how many codes each term of each has: ascending, and below the
    products of these.

    Raises
    ------
    ModelError
        If the saved arrays ``keys``, ``starts`` and ``prefix_keys`` are not such keys.
    """
    keys = state.array("keys", np.int64)
    starts = state.offsets("starts", len(keys))
    if len(starts) != len(widths) + 1:
        state.refuse_array(
            "starts", f"{len(widths) + 1} offsets, one more than there are templates"
        )
    split = (keys[begin:end] for begin, end in pairwise(starts.tolist()))
    tables = [TemplateKeys(own, array) for own, array in zip(widths, split, strict=True)]
    _restore_prefixes(state, tables)
    for table in tables:
        bounds = table.bounds()
        if max(bounds.values()) > np.iinfo(np.int64).max:
            state.refuse("prefixes", "such that all keys of a template are below 2^63")
        state.ascending("keys", table.keys, bounds[len(table.widths)])
        for term, prefixes in table.prefixes.items():
            state.ascending("prefix_keys", prefixes, bounds[term])
    return tables


def restored_numbers(state: SavedState, size: int) -> Array:
    """The numbers of so many attributes, template by template; models that were saved before there
    were any have 0, 1, 2, ...

    Raises
    ------
    ModelError
        If the saved array ``numbers`` is no permutation.
    """
    if "numbers" not in state.arrays:
        return np.arange(size, dtype=np.int32)
    numbers = state.array("numbers", np.int32, (size,))
    if not np.array_equal(np.sort(numbers), np.arange(size)):
        state.refuse_array("numbers", f"the numbers from 0 to {size - 1}, each once")
    return numbers


def _restore_prefixes(state: SavedState, tables: Sequence[TemplateKeys]) -> None:
    """Restore the keys of first terms that keys were renumbered from."""
    prefix_keys, first = state.array("prefix_keys", np.int64), 0
    for row, term, count in state.triples("prefixes"):
        if row >= len(tables) or not 0 < term < len(tables[row].widths):
            state.refuse(
                "prefixes",
                "lists of a template, one of its terms but the first, and how many prefix_keys "
                "it has",
            )
        tables[row].prefixes[term] = prefix_keys[first : first + count]
        first += count
    if first != len(prefix_keys):
        state.refuse_array("prefix_keys", f"{first} numbers, as many as prefixes counts")


def distinct_keys(keys: Array, radix: int, min_count: int) -> Array:
    """Return the keys (other than -1, below `radix`) that occur at least `min_count` times, sorted;
    int64.
    """
    if radix <= DENSE:
        return np.flatnonzero(np.bincount(keys + 1, minlength=radix + 1)[1:] >= min_count)
    keys = np.sort(keys[keys >= 0])
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], len(keys) > 0))
    return keys[last[np.diff(last, prepend=-1) >= min_count]]


def numbers_at(keys: Array, known: Array, radix: int, numbers: Array) -> Array:
    """Return the numbers of keys, given those of the `known` keys, which ascend; -1 where a key is
    not known.
    """
    if radix <= min(DENSE, FEW * len(keys)):
        table = np.full(radix + 1, NONE, dtype=numbers.dtype)
        table[known] = numbers
        return table.take(keys, mode="wrap")
    if not len(known):
        return np.full(len(keys), NONE, dtype=numbers.dtype)
    index = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[index] == keys, numbers[index], NONE)
