"""Scores of dependency trees: attachment, whole trees, crossing arcs, and arcs by their length."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from structopt.errors import DataError
from structopt.formats.trees.dependency_trees import Arc, Trees
from structopt.formats.trees.tree_checks import positions
from structopt.kernels.waist.record import Array
from structopt.metrics.instance_counts import InstanceCounts

Punctuation = Literal["auto", "upos", "unicode", "none"]
PUNCT = "PUNCT"
TITLES = {
    "uas": "right heads (UAS)",
    "las": "and relations (LAS)",
    "las_universal": "without subtypes",
}
"""Scores of the table."""
LENGTHS = (1, 2, 6)
"""The greatest length of the arcs in each bin of the table but the last."""


@dataclass(frozen=True)
class Comparison:
    """Gold and predicted trees of a corpus, word by word.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    gold, predicted : int32, shape (words,)
        Heads, from 1; 0 for the root.
    relations, universal : bool, shape (words,), or None
        Whether head and relation are right, and whether head and universal relation are; None where
        no relations are predicted.
    counted : bool, shape (words,)
        Words that are no punctuation.
    """

    offsets: Array
    gold: Array
    predicted: Array
    relations: Array | None
    universal: Array | None
    counted: Array

    @property
    def right(self) -> Array:
        """Whether the head is right."""
        return np.equal(self.gold, self.predicted)


def compare(
    corpus: Trees, outputs: Sequence[Sequence[Arc]], punctuation: Punctuation = "auto"
) -> Comparison:
    """Compare predicted trees with a corpus that has heads.

    Raises
    ------
    DataError
        The corpus has no heads, or the outputs are of other sentences.
    """
    gold = corpus.gold_heads()
    if list(map(len, outputs)) != np.diff(corpus.offsets).tolist():
        raise DataError(
            corpus.path, None, "the predicted trees are not of these sentences: predict this file."
        )
    arcs = [arc for output in outputs for arc in output]
    predicted = np.fromiter((arc.head for arc in arcs), np.int32, len(arcs))
    relations = universal = None
    if any(arc.relation is not None for arc in arcs):
        right, names = gold == predicted, [arc.relation or "" for arc in arcs]
        relations = right & np.fromiter(map(str.__eq__, names, corpus.relations), bool, len(arcs))
        cut = (map(universal_relation, one) for one in (names, corpus.relations))
        universal = right & np.fromiter(map(str.__eq__, *cut), bool, len(arcs))
    return Comparison(
        corpus.offsets, gold, predicted, relations, universal, ~punctuation_of(corpus, punctuation)
    )


def universal_relation(relation: str) -> str:
    """Return a relation without its subtype: ``nsubj`` of ``nsubj:pass``.

    Subtypes are those of one language in Universal Dependencies; the evaluation of the CoNLL 2018
    shared task (conll18_ud_eval.py) cuts them before it compares relations.
    """
    return relation.partition(":")[0]


def metrics(comparison: Comparison) -> dict[str, float]:
    """Return the scores, fractions.

    ``uas``: words with the right head; ``las``: and the right relation, where relations are
    predicted; ``las_universal``: the same with the subtypes of relations cut
    (`universal_relation`); each also without punctuation (``_nopunct``). ``exact``: sentences all
    of whose heads are right. ``nonprojective_recall``: non-projective gold arcs that are predicted,
    where there are any.
    """
    return outcomes(comparison).scores()


def outcomes(comparison: Comparison) -> InstanceCounts:
    """Return the counts of every sentence.

    1; whether all its heads are right; its words, those that are no punctuation, those whose arcs
    cross, each followed by how many have the right head; where relations are predicted, words with
    head and relation right, and those of them that are no punctuation; then the same two with
    universal relations.
    """
    right, counted, words = comparison.right, comparison.counted, np.diff(comparison.offsets)
    crossing = nonprojective(comparison.gold, comparison.offsets)
    masks = [np.ones(len(right), bool), right, counted, right & counted, crossing, right & crossing]
    for labelled in (comparison.relations, comparison.universal):
        if labelled is not None:
            masks += [labelled, labelled & counted]
    before = np.concatenate(
        [np.zeros((1, len(masks)), np.int64), np.cumsum(np.stack(masks, axis=1), axis=0)]
    )
    sums = np.diff(before[comparison.offsets], axis=0)
    return InstanceCounts.of_table(
        np.column_stack([np.ones(len(words)), sums[:, 1] == words, sums]), _scores
    )


def _scores(totals: Array) -> dict[str, float]:
    sentences, exact, words, right, counted, right_counted, crossing, right_crossing, *labelled = (
        totals.tolist()
    )
    scores = {"uas": _share(right, words), "uas_nopunct": _share(right_counted, counted)}
    for name, both, both_counted in zip(
        ("las", "las_universal"), labelled[::2], labelled[1::2], strict=False
    ):
        scores |= {name: _share(both, words), f"{name}_nopunct": _share(both_counted, counted)}
    scores["exact"] = _share(exact, sentences)
    if crossing:
        scores["nonprojective_recall"] = right_crossing / crossing
    return scores


def table(comparison: Comparison) -> str:
    """Return the scores as text, in per cent; arcs also by length: recall of gold arcs, precision
    of predicted ones.
    """
    scores, counted = metrics(comparison), comparison.counted
    words, sentences = len(counted), len(comparison.offsets) - 1
    lines = [
        f"{sentences} sentences, {words} words, {words - int(counted.sum())} of them punctuation"
    ]
    lines.append(f"{'':21}     all  no punctuation")
    for name, title in TITLES.items():
        if name in scores:
            lines.append(
                f"{title:<21}  {100 * scores[name]:6.2f}  {100 * scores[name + '_nopunct']:14.2f}"
            )
    lines.append(f"{'whole trees':<21}  {100 * scores['exact']:6.2f}")
    if "nonprojective_recall" in scores:
        crossing = int(nonprojective(comparison.gold, comparison.offsets).sum())
        lines.append(
            f"{'non-projective arcs':<21}  {100 * scores['nonprojective_recall']:6.2f}  recall "
            f"of {crossing}"
        )
    return "\n".join([*lines, "", *_by_length(comparison)]) + "\n"


def nonprojective(heads: Array, offsets: Array) -> Array:
    """Return which arcs are not projective: a word between head and modifier is no descendant of
    the head. Shape (words,).

    Follows the heads of all words between at once: O(sum of the arcs' lengths, times the depth of
    the trees).
    """
    words, root = len(heads), len(heads)
    begins = np.repeat(offsets[:-1], np.diff(offsets))
    modifier = positions(offsets) - 1 + begins
    above = np.append(np.where(heads == 0, root, begins + heads - 1), root)
    # every word is a descendant of the root
    first = np.where(heads == 0, modifier, np.minimum(modifier, above[:-1]))
    last = np.where(heads == 0, modifier, np.maximum(modifier, above[:-1]))
    between = np.maximum(last - first - 1, 0)
    arc = np.repeat(np.arange(words), between)
    word = (
        np.arange(len(arc))
        - np.repeat(np.cumsum(between) - between, between)
        + np.repeat(first, between)
        + 1
    )
    crossing = np.zeros(words, bool)
    while len(arc):
        word = above[word]
        crossing[arc[word == root]] = True
        open_walks = (word != root) & (word != above[arc])
        arc, word = arc[open_walks], word[open_walks]
    return crossing


def punctuation_of(corpus: Trees, rule: Punctuation) -> Array:
    """Return which words are punctuation, bool, shape (words,).

    ``upos``: tagged PUNCT; ``unicode``: made of Unicode's punctuation characters only (categories
    P*); ``none``: none are. ``auto``: upos where the corpus has a word tagged so, else unicode.
    """
    tags, forms = corpus.cells.get("upos", []), corpus.cells["form"]
    if rule == "none":
        return np.zeros(len(forms), bool)
    if rule == "upos" or (rule == "auto" and PUNCT in tags):
        return np.array([tag == PUNCT for tag in tags] or [False] * len(forms), bool)
    kinds = {
        form: all(unicodedata.category(character)[0] == "P" for character in form)
        for form in set(forms)
    }
    return np.fromiter(map(kinds.__getitem__, forms), bool, len(forms))


def _by_length(comparison: Comparison) -> list[str]:
    modifiers = positions(comparison.offsets)
    gold, predicted = (_bins(heads, modifiers) for heads in (comparison.gold, comparison.predicted))
    names = [
        "root",
        *(
            f"{a + 1}-{b}" if a + 1 < b else f"{b}"
            for a, b in zip((0, *LENGTHS), LENGTHS, strict=False)
        ),
    ]
    names.append(f"{LENGTHS[-1] + 1}-")
    lines = ["arcs of length    gold   found  recall  precision"]
    for number, name in enumerate(names):
        in_gold, in_predicted = gold == number, predicted == number
        recall, precision = (
            100 * _mean(comparison.right[mask]) for mask in (in_gold, in_predicted)
        )
        lines.append(
            f"{name:>14}  {int(in_gold.sum()):6}  {int(in_predicted.sum()):6}  {recall:6.2f}  "
            f"{precision:9.2f}"
        )
    return lines


def _bins(heads: Array, modifiers: Array) -> Array:
    """0 for arcs from the root, else from 1 by length."""
    return np.where(
        heads == 0, 0, 1 + np.searchsorted(LENGTHS, np.abs(heads - modifiers), side="left")
    )


def _share(count: float, total: float) -> float:
    """The fraction count / total; 0 of none."""
    return count / total if total else 0.0


def _mean(values: Array) -> float:
    """Share of the true ones; 0 of none."""
    return float(values.mean()) if len(values) else 0.0
