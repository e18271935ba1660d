"""What networks read of the tokens of a corpus, and the part of it that some sentences have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from structopt.plugin import Array, ConfigError
from structopt.plugin.provisional import DenseTable, Encoded, SavedState
from structopt_torch.words import hashed_ngrams, spelling_numbers, vocabulary, word_numbers


class Batch(NamedTuple):
    """The tokens of some sentences, one sentence after the other.

    Attributes
    ----------
    lengths : int64, shape (sentences,)
        At least 1 each.
    words : int64, shape (tokens,)
        Numbers in the vocabulary.
    spellings : int64, shape (tokens,)
        Numbers among the distinct spellings of the batch.
    ngrams, begins : int64, shapes (n-grams,) and (spellings,)
        Rows of the n-grams of the distinct spellings, and where those of each begin.
    codes : int64, shape (tokens, columns)
    dense : float32, shape (tokens, numbers)
    """

    lengths: Array
    words: Array
    spellings: Array
    ngrams: Array
    begins: Array
    codes: Array
    dense: Array


class Tokens(NamedTuple):
    """The tokens of a corpus; arrays as of `Batch`, over all its sentences.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    words, spellings : int64, shape (tokens,)
    ngrams, begins : int64, shapes (n-grams,) and (spellings + 1,)
    codes : int64, shape (tokens, columns)
    dense : tuple of DenseTable
    """

    offsets: Array
    words: Array
    spellings: Array
    ngrams: Array
    begins: Array
    codes: Array
    dense: tuple[DenseTable, ...]

    def batch(self, sentences: Array) -> Batch:
        """The tokens of some sentences, in their order."""
        lengths = np.diff(self.offsets)[sentences]
        positions = runs(self.offsets[sentences], lengths)
        spellings, inverse = np.unique(self.spellings[positions], return_inverse=True)
        counts = np.diff(self.begins)[spellings]
        ngrams = self.ngrams[runs(self.begins[spellings], counts)]
        numbers = [table.values(positions) for table in self.dense] or [
            np.zeros((len(positions), 0), np.float32)
        ]
        return Batch(
            lengths,
            self.words[positions],
            inverse,
            ngrams,
            np.cumsum(counts) - counts,
            self.codes[positions],
            np.concatenate(numbers, axis=1),
        )


class TokenSizes(NamedTuple):
    """What a network learns of its tokens before it is built.

    Attributes
    ----------
    words : sequence of str
        The vocabulary.
    columns : mapping of str to int
        How many codes the column of each name has.
    dense : sequence of int
        Numbers of a token in each dense table.
    """

    words: Sequence[str]
    columns: Mapping[str, int]
    dense: Sequence[int]

    @classmethod
    def learn(
        cls, encoded: Encoded, who: str, min_count: int, lower: bool, columns: Sequence[str] = ()
    ) -> TokenSizes:
        """Take the words of a training corpus, and how many codes each of these columns has.

        Raises
        ------
        ConfigError
            Where the corpus has no words.
        """
        words = words_of(encoded, who)
        codes = {name: int(codes_of(encoded, [name]).max(initial=1)) + 1 for name in columns}
        return cls(
            vocabulary(words, min_count, lower), codes, [table.size for table in dense_of(encoded)]
        )

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {"words": list(self.words), "columns": dict(self.columns), "dense": list(self.dense)}

    @classmethod
    def of(cls, sizes: Mapping[str, Any]) -> TokenSizes:
        """Undo `state`."""
        return cls(sizes["words"], sizes["columns"], sizes["dense"])

    @staticmethod
    def check_saved(sizes: SavedState) -> None:
        """Raise `ModelError` where values are not as `state` gives them."""
        sizes.strings("words")
        sizes.numbered("columns", 1, 2**31)
        sizes.wholes("dense", 1)

    def read(self, encoded: Encoded, who: str, lower: bool, longest: int, buckets: int) -> Tokens:
        """Number the tokens of a corpus.

        Raises
        ------
        ConfigError
            Where it has no words, or other dense tables than the training corpus.
        """
        words, dense = words_of(encoded, who), dense_of(encoded)
        if [table.size for table in dense] != list(self.dense):
            raise ConfigError(
                f"features={who}: there are weights for dense tables of {list(self.dense)} "
                "numbers, but this corpus has "
                f"{[table.size for table in dense]}. Take the features.vectors and "
                "features.dense of training."
            )
        spellings, distinct = spelling_numbers(words)
        grams = np.zeros(0, np.int64), np.zeros(len(distinct) + 1, np.int64)
        if buckets:
            grams = hashed_ngrams(distinct, longest, buckets)
        limits = np.array(list(self.columns.values()), np.int64)
        codes = codes_of(encoded, list(self.columns))
        # code 0 is that of values which training did not show
        codes = np.where(codes < limits, codes, 0)
        return Tokens(
            encoded.offsets,
            word_numbers(words, self.words, lower),
            spellings,
            *grams,
            codes,
            tuple(dense),
        )


def dense_of(encoded: Encoded) -> tuple[DenseTable, ...]:
    """The dense tables of tokens: those of their labels, or of the words of trees."""
    return encoded.dense.get("label", ()) or encoded.dense.get("word", ())


def words_of(encoded: Encoded, who: str) -> Sequence[str]:
    """The word of every variable, or a `ConfigError` where the task knows none."""
    if len(encoded.words) != int(encoded.offsets[-1]):
        raise ConfigError(f"features={who} needs words, as task=ner has them.")
    return encoded.words


def codes_of(encoded: Any, columns: Sequence[str]) -> Array:
    """Codes of the tokens in columns of an encoded corpus, int64, shape (tokens, columns)."""
    if not columns:
        return np.zeros((int(encoded.offsets[-1]), 0), np.int64)
    return encoded.codes[:, [encoded.columns.index(name) for name in columns]].astype(np.int64)


def runs(begins: Array, counts: Array) -> Array:
    """The whole numbers from each begin on, so many each, one run after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins - ends + counts, counts)
