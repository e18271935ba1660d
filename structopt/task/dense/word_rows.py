"""Rows of word vectors: those of words that some data have shown, read from a file when they are
first needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.kernels.waist.record import Array


class WordRows:
    """The vectors of words, a row each.

    Parameters
    ----------
    path : str or None
        The file; None: no further words have vectors.
    lower : bool
        Whether words that the file lacks are looked up in lower case.
    unknown : str or None
        A word of the file whose vector the others get; None: they have none.

    Attributes
    ----------
    numbers : dict of str to int
    matrix : float32, shape (words, dimensions)
    """

    def __init__(
        self, path: str | None = None, lower: bool = True, unknown: str | None = None
    ) -> None:
        self.path, self.lower, self.unknown = path, lower, unknown
        self.numbers: dict[str, int] = {}
        self.matrix = np.zeros((0, 0), np.float32)
        self._absent: set[str] = set()

    def rows(self, words: Sequence[str]) -> Array:
        """The row of every word, int32; -1 where it has none. Reads the file once for all words
        that are new.
        """
        distinct = set(words)
        self._read({word for word in distinct if word not in self.numbers})
        found = {word: self._row(word) for word in distinct}
        return np.fromiter(map(found.__getitem__, words), np.int32, len(words))

    def keep(self, earlier: WordRows) -> None:
        """Begin with the words of an earlier model."""
        self.numbers, self.matrix = dict(earlier.numbers), earlier.matrix

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the words and their vectors; no path."""
        packed, offsets = pack_strings(self.numbers)
        values = {"lower": self.lower, "unknown": [] if self.unknown is None else [self.unknown]}
        return values, {"word_bytes": packed, "word_offsets": offsets, "matrix": self.matrix}

    @classmethod
    def restore(cls, state: SavedState) -> WordRows:
        """Undo `state`."""
        unknown = state.strings("unknown")
        rows = cls(None, state.flag("lower"), unknown[0] if unknown else None)
        rows.numbers = {
            word: number for number, word in enumerate(restored_strings(state, "word_"))
        }
        rows.matrix = state.array("matrix", np.float32, (len(rows.numbers), None))
        return rows

    def _row(self, word: str) -> int:
        for form in self._forms(word):
            if form in self.numbers:
                return self.numbers[form]
        return -1

    def _forms(self, word: str) -> list[str]:
        """What a word is looked up as, in this order."""
        return [
            word,
            *([word.lower()] if self.lower else []),
            *([] if self.unknown is None else [self.unknown]),
        ]

    def _read(self, words: Collection[str]) -> None:
        """Read the vectors of new words; of each the first of its forms that the file has."""
        wanted = (
            {form for word in words for form in self._forms(word)}
            - self.numbers.keys()
            - self._absent
        )
        if self.path is None or not wanted:
            return
        from structopt.formats.vectors.word_vectors import read_word_vectors

        found = read_word_vectors(self.path, wanted)
        self._absent |= wanted - found.numbers.keys()
        if self.unknown is not None and self.unknown in self._absent:
            raise ConfigError(
                f"is no word of {self.path}.",
                parameter="features.vectors_unknown",
                value=self.unknown,
            )
        if len(self.numbers) and found.matrix.shape[1] != self.matrix.shape[1]:
            one, other = found.matrix.shape[1], self.matrix.shape[1]
            raise ConfigError(
                f"features.vectors: {self.path} has vectors of {one} numbers, and the model "
                f"knows {other}."
            )
        known = self.numbers.keys() | found.numbers.keys()
        first = (
            next((form for form in self._forms(word) if form in known), None)
            for word in sorted(words)
        )
        used = sorted({form for form in first if form is not None and form not in self.numbers})
        rows = np.ascontiguousarray(
            found.matrix[[found.numbers[form] for form in used]], np.float32
        )
        self.matrix = rows if not len(self.numbers) else np.concatenate([self.matrix, rows])
        self.numbers |= {form: len(self.numbers) + k for k, form in enumerate(used)}
