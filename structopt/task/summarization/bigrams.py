"""Bigrams of sentences: pairs of neighbouring words that carry content, stemmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.record import Array
from structopt.metrics.rouge import Alphabet, stemmed, words_of

Bigram = tuple[str, str]
CLOSED_CLASSES = """
a about above after again against all also am an and any are as at be because been before being below between both but by can
could did do does doing don down during each either every few for from further had has have having he her here hers herself
him himself his how i if in into is it its itself just may me might more most much must my myself neither no nor not now of
off on once only onto or other our ours ourselves out over own per same shall she should so some such than that the their
theirs them themselves then there these they this those though through to too toward towards under until up upon us very was
we were what when where which while who whom whose why will with within without would yet you your yours yourself yourselves
"""
STOPWORDS = frozenset(CLOSED_CLASSES.split())
"""Words that carry no content: of closed classes, and auxiliaries."""


class Bigrams(NamedTuple):
    """The bigrams of one document, each once, by the sentences that have them, so that those of the
    same stand together.

    Attributes
    ----------
    names : list of Bigram
    holders : list of list of int
        The sentences that have each, ascending.
    """

    names: list[Bigram]
    holders: list[list[int]]


def bigrams_of(sentence: str, words: Alphabet = "unicode") -> list[Bigram]:
    """The stemmed pairs of neighbouring words, as often as they are there, but those of two
    stopwords.

    Words are those of ROUGE: signs between two are passed over. Gillick and Favre (2009), section
    3.
    """
    found = words_of(sentence, stem=False, words=words)
    pairs = zip(found, found[1:], strict=False)
    return [
        (stemmed(one), stemmed(other))
        for one, other in pairs
        if not (one in STOPWORDS and other in STOPWORDS)
    ]


def document_bigrams(sentences: Sequence[str], words: Alphabet = "unicode") -> Bigrams:
    """The bigrams of a document."""
    holders: dict[Bigram, list[int]] = {}
    for number, sentence in enumerate(sentences):
        for bigram in dict.fromkeys(bigrams_of(sentence, words)):
            holders.setdefault(bigram, []).append(number)
    # stable: else in the order in which they are read
    names = sorted(holders, key=lambda bigram: holders[bigram])
    return Bigrams(names, [holders[name] for name in names])


def worth(
    names: Sequence[Bigram], references: Sequence[Iterable[str]], words: Alphabet = "unicode"
) -> Array:
    r"""The share of the references' bigrams that each bigram covers, shape (bigrams,); a summary's
    recall is a sum of these.

        worth_b = sum_r [b is in r] / sum_r |bigrams of r|

    A bigram counts once a reference, however often it is there; 0 where no reference has it.
    Kummerfeld et al. (2015), section 3 (summarization).
    """
    sets = [
        {bigram for sentence in reference for bigram in bigrams_of(sentence, words)}
        for reference in references
    ]
    total = sum(map(len, sets))
    counts = Counter(bigram for own in sets for bigram in own)
    return np.array([counts[name] / total if total else 0.0 for name in names])


def is_stopword(stem: str) -> bool:
    """Whether a word of a bigram is the stem of a stopword."""
    return stem in STEMS


def packed_holders(documents: Sequence[Bigrams]) -> tuple[Array, Array]:
    """The sentences of every bigram of all documents, and where those of each begin: see
    `EncodedTexts`.
    """
    holders = [own for one in documents for own in one.holders]
    flat = np.array([number for own in holders for number in own], np.int32)
    return np.cumsum([0, *map(len, holders)], dtype=np.int64), flat


STEMS = frozenset(map(stemmed, STOPWORDS))
