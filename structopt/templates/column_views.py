"""Views of the columns of a corpus, which are functions of its cells and matches of word lists, as
integer codes.

Code 0 of a view is the padding beyond the sentence, codes from 1 are its values in order of their
first appearance, and -1 means no value: a prefix longer than the word, a word outside the list, a
value that the training data lack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.templates.syntax import View
from structopt.templates.vocabulary import NONE, PADDING, Vocabulary
from structopt.templates.word_functions import apply
from structopt.templates.word_lists import Phrases


class ColumnViews:
    """The columns of one corpus, and views of them as codes; every view is computed on the distinct
    values of its column.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        Columns over all tokens.
    offsets : int64, shape (sentences + 1,)
        Where the sentences begin.
    missing : collection of str
        Columns that are absent: padding everywhere.
    """

    def __init__(
        self, columns: Mapping[str, Sequence[str]], offsets: Array, missing: Collection[str] = ()
    ) -> None:
        self.columns, self.missing = columns, missing
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self.tokens = int(self.offsets[-1])
        self._interned: dict[str, tuple[list[str], Array]] = {}
        self._derived: dict[View, list[str | None]] = {}
        self._shifted: dict[int, Array] = {}

    def interned(self, column: str) -> tuple[list[str], Array]:
        """Return the distinct values of a column, and the number of each token's value among
        them.
        """
        if column not in self._interned:
            values = self.columns[column]
            if len(values) != self.tokens:
                raise ValueError(
                    f"column '{column}' has {len(values)} values for {self.tokens} tokens"
                )
            table = {value: number for number, value in enumerate(dict.fromkeys(values))}
            self._interned[column] = (
                list(table),
                np.fromiter(map(table.__getitem__, values), np.intp, self.tokens),
            )
        return self._interned[column]

    def derived(self, view: View) -> list[str | None]:
        """Return the values of a view (not of a word list) for the distinct values of its
        column.
        """
        if not view.steps:
            return list(self.interned(view.column)[0])
        if view not in self._derived:
            self._derived[view] = apply(*view.steps[-1], self.derived(view.inner))
        return self._derived[view]

    def codes(self, view: View, vocabulary: Vocabulary, phrases: Phrases | None) -> Array:
        """Return the codes of a view, int32, shape (tokens + 1,); the last is that of tokens
        outside the sentence.
        """
        rows, codes = self.values(view, vocabulary, phrases)
        outside = PADDING if phrases is None else NONE
        return np.append(np.asarray(codes, np.int32)[rows], np.int32(outside))

    def values(
        self, view: View, vocabulary: Vocabulary, phrases: Phrases | None
    ) -> tuple[Array, Array | list[int]]:
        """Return the codes of a view as numbers of values, and a code per value.

        A value is one of the column; of a word list, each token has a value of its own.
        """
        if view.column in self.missing:
            outside = PADDING if phrases is None else NONE
            return np.zeros(self.tokens, np.intp), [outside]
        distinct = self.interned(view.column)[1]
        if phrases is None:
            return distinct, vocabulary.look_up(self.derived(view))
        words = np.array(phrases.vocabulary.look_up(self.derived(view.inner)), np.int32)[distinct]
        ends = np.repeat(self.offsets[1:], np.diff(self.offsets))
        return np.arange(self.tokens), phrases.match(words, ends)

    def shifted(self, offset: int) -> Array:
        """Return, for each token, the token `offset` tokens further; the number of tokens where
        that is outside its sentence.
        """
        if offset not in self._shifted:
            lengths = np.diff(self.offsets)
            shifted = np.arange(self.tokens, dtype=np.intp) + offset
            inside = (shifted >= np.repeat(self.offsets[:-1], lengths)) & (
                shifted < np.repeat(self.offsets[1:], lengths)
            )
            self._shifted[offset] = np.where(inside, shifted, self.tokens)
        return self._shifted[offset]
