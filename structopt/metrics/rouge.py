"""ROUGE: the overlap of a summary with references, in words (1), pairs of words (2) and longest
common subsequences (L).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from structopt.formats import unicode_words
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts

METRICS = ("rouge1", "rouge2", "rougeL")
PARTS = ("recall", "precision", "f1")
SHORTEST = 4
"""Shorter words are not stemmed."""

Sentences = Sequence[str]
"""A summary, one text a sentence."""
Words = list[str]
Alphabet = Literal["unicode", "ascii"]
"""The definition of words: see `words_of`."""


class Rouge(NamedTuple):
    """Recall, precision and F1: fractions of the reference's units, of the summary's, and their
    harmonic mean.
    """

    recall: float
    precision: float
    f1: float


def words_of(text: str, stem: bool = True, words: Alphabet = "unicode") -> Words:
    """Return the words of a text in lower case.

    Parameters
    ----------
    text : str
    stem : bool
        Whether words of four letters or more, all of a-z and 0-9, are stemmed by Porter's
        algorithm.
    words : {"unicode", "ascii"}
        ``unicode``: see `structopt.formats.unicode_words.words_of`. ``ascii``: runs of a-z and 0-9,
        as in the package rouge-score.
    """
    text = text.lower()
    found = unicode_words.words_of(text) if words == "unicode" else re.findall(r"[a-z0-9]+", text)
    return [stemmed(word) for word in found] if stem else found


def stemmed(word: str) -> str:
    """Return the stem of a word by Porter's algorithm as published; short words, and words with
    other letters than a-z, are their own stems.

    rouge-score uses NLTK's extended variant, in which ``they`` and ``used`` have other stems.
    """
    return _stemmed(word) if len(word) >= SHORTEST and word.isascii() else word


def rouge_n(summary: Words, reference: Words, n: int) -> Rouge:
    """Return the overlap of two texts in runs of n words, each counted as often as it is in both
    (Lin, 2004, section 2).
    """
    ours, theirs = _runs(summary, n), _runs(reference, n)
    return _rouge((ours & theirs).total(), theirs.total(), ours.total())


def rouge_l(summary: Sequence[Words], reference: Sequence[Words]) -> Rouge:
    """Return the overlap of two texts in longest common subsequences (Lin, 2004, section 3.2),
    sentence by sentence.

    The units of a sentence of the reference that count are those in a longest common subsequence of
    it and any sentence of the summary; a word counts at most as often as it is in either text.
    O(words of the summary * words of the reference).
    """
    left, right = Counter(chain.from_iterable(summary)), Counter(chain.from_iterable(reference))
    sizes, common = (right.total(), left.total()), 0
    for sentence in reference:
        found = sorted(
            {place for other in summary for place in common_subsequence(sentence, other)}
        )
        for word in (sentence[place] for place in found):
            if left[word] > 0 and right[word] > 0:
                left[word], right[word], common = left[word] - 1, right[word] - 1, common + 1
    return _rouge(common, *sizes)


def common_subsequence(one: Words, other: Words) -> list[int]:
    """Return the places in `one` of a longest common subsequence; of several, the one that lies
    latest in it.
    """
    table = np.zeros((len(one) + 1, len(other) + 1), np.int64)
    for p, word in enumerate(one):
        equal = np.array([word == their for their in other], bool)
        table[p + 1, 1:] = np.maximum.accumulate(
            np.maximum(table[p, 1:], np.where(equal, table[p, :-1] + 1, 0))
        )
    places, p, q = [], len(one), len(other)
    while p > 0 and q > 0:
        if one[p - 1] == other[q - 1]:
            p, q = p - 1, q - 1
            places.append(p)
        elif table[p, q - 1] > table[p - 1, q]:
            q -= 1
        else:
            p -= 1
    return places[::-1]


def scores_of_summary(
    summary: Sentences,
    references: Sequence[Sentences],
    stem: bool = True,
    over: Literal["mean", "best"] = "mean",
    words: Alphabet = "unicode",
) -> dict[str, Rouge]:
    """Return ROUGE-1, -2 and -L of a summary against its references.

    Parameters
    ----------
    summary : sequence of str
        Its sentences.
    references : sequence of sequences of str
        Of each its sentences; at least one.
    stem : bool
        Whether words are stemmed.
    over : str
        ``mean``: of recall, precision and F1 over the references; ``best``: of the reference with
        the best F1, as ROUGE's authors had it before they took to jackknifing.
    words : str
        The definition of words: see `words_of`.

    Raises
    ------
    ValueError
        If there is no reference.
    """
    if not references:
        raise ValueError("A summary is scored against one reference or more.")
    ours = [words_of(sentence, stem, words) for sentence in summary]
    found: dict[str, list[Rouge]] = {metric: [] for metric in METRICS}
    for reference in references:
        theirs = [words_of(sentence, stem, words) for sentence in reference]
        flat, other = list(chain.from_iterable(ours)), list(chain.from_iterable(theirs))
        found["rouge1"].append(rouge_n(flat, other, 1))
        found["rouge2"].append(rouge_n(flat, other, 2))
        found["rougeL"].append(rouge_l(ours, theirs))
    if over == "best":
        return {metric: max(scores, key=lambda score: score.f1) for metric, scores in found.items()}
    return {metric: Rouge(*np.mean(scores, axis=0).tolist()) for metric, scores in found.items()}


def table_of(
    summaries: Sequence[Sentences], references: Sequence[Sequence[Sentences]], **options: Any
) -> Array:
    """Return the scores of every summary, shape (summaries, metrics x parts); options as of
    `scores_of_summary`.
    """
    pairs = zip(summaries, references, strict=True)
    scores = (scores_of_summary(summary, own, **options) for summary, own in pairs)
    rows = [[value for metric in METRICS for value in one[metric]] for one in scores]
    return np.reshape(np.array(rows, np.float64), (-1, len(METRICS) * len(PARTS)))


def outcomes(table: Array, best: Array) -> InstanceCounts:
    """Return the scores of every summary, of which a corpus's are the means.

    Parameters
    ----------
    table, best : shape (summaries, metrics x parts)
        `table_of` the summaries, and of the best extracts, of which the recall is told as
        ``oracle_``.
    """
    return InstanceCounts.of_table(
        np.column_stack([np.ones(len(table)), table, best[:, :: len(PARTS)]]), _means
    )


def _means(totals: Array) -> dict[str, float]:
    """The mean scores, given the number of summaries and the sums of their scores; 0 where there is
    none.
    """
    number, *sums = totals.tolist()
    names = [f"{metric}_{part}" for metric in METRICS for part in PARTS] + [
        f"oracle_{metric}_recall" for metric in METRICS
    ]
    return {
        name: value / number if number else 0.0 for name, value in zip(names, sums, strict=True)
    }


def _runs(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[first:] for first in range(n)), strict=False))


def _rouge(common: int, reference: int, summary: int) -> Rouge:
    recall, precision = (common / units if units else 0.0 for units in (reference, summary))
    return Rouge(
        recall, precision, 2 * recall * precision / (recall + precision) if common else 0.0
    )


@cache
def _stemmed(word: str) -> str:
    return str(_stemmer()(word))


@cache
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer

    stemmer: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stemmer
