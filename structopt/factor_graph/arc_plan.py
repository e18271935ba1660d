"""The heads of a few sentences, by records that are allocated once per length of a sentence.

A general prediction builds the graphs of a corpus and packs their records. For one sentence that
takes longer than the inference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.data.structure import Structure
from structopt.core.scorer import SparseFeatures
from structopt.kernels.passes import LEAST
from structopt.kernels.waist.record import EMPTY, Array, Record

if TYPE_CHECKING:
    from structopt.kernels.waist.signatures import Kernels

FEW_WORDS = 40
"""Words of a sentence whose structure is cached: a megabyte with 40 relations."""


class _Sentence(NamedTuple):
    """The records of any sentence of some length; `tokens` are head and modifier of each arc."""

    features: Record
    arcs: Record
    work: Record
    tokens: Array
    parts: int


class ArcPlan:
    """See `structopt.core.factor_graph.ViewPlan`; the view is heads and relations.

    Parameters
    ----------
    build : callable
        Lays out the arcs of a sentence.
    scorer : SparseFeatures
        Rewrites the features of a sentence.
    kernels : Kernels
    """

    def __init__(
        self, build: Callable[[Encoded], Structure], scorer: SparseFeatures, kernels: Kernels
    ) -> None:
        self._build, self._scorer, self._kernels = build, scorer, kernels
        self._known: dict[int, _Sentence] = {}
        self._scores, self._output = np.zeros(0), np.zeros(0)

    def takes(self, encoded: Encoded) -> bool:
        """Whether the sentences are short, and no arc or relation is given."""
        if not isinstance(encoded, EncodedTrees) or encoded.candidates is not None:
            return False
        return encoded.allowed is None and int(np.diff(encoded.offsets).max()) <= FEW_WORDS

    def view(self, weights: Array, encoded: Encoded, temperature: float) -> Array | None:
        """Return heads and relations, shape (tokens, 2); None if a sentence has no tree."""
        views = []
        for i, words in enumerate(np.diff(encoded.offsets).tolist()):
            one = encoded if len(encoded) == 1 else encoded.subset(i, i + 1)
            if words not in self._known:
                self._known[words] = self._sentence(one)
            heads = self._heads(weights, self._known[words], one, words, temperature)
            if heads is None:
                return None
            views.append(heads)
        return views[0] if len(views) == 1 else np.concatenate(views)

    def _sentence(self, encoded: Encoded) -> _Sentence:
        """Return the records of sentences as long as this one."""
        structure = self._build(encoded)
        features = self._scorer.scores_record(encoded, structure)
        work = Record(*(buffer.copy() for buffer in structure.work))
        parts = int(structure.parts[1])
        if parts > len(self._scores):
            self._scores, self._output = np.zeros(parts), np.zeros(parts)
        return _Sentence(features, structure.record, work, structure.part_tokens["arc"], parts)

    def _heads(
        self, weights: Array, own: _Sentence, encoded: Encoded, words: int, temperature: float
    ) -> Array | None:
        """Return the head and the relation of each word."""
        kernels, s, z = self._kernels, self._scores[: own.parts], self._output[: own.parts]
        self._scorer.rewrite(own.features, encoded)
        kernels.scores(own.features, weights, 0, s, EMPTY)
        if not kernels.solve(own.arcs, 0, s, temperature, z, s[:0], own.work) > LEAST:
            return None
        kernels.round(own.arcs, 0, z, own.work)
        arcs = len(own.tokens)
        chosen, labels = np.full((words, 2), -1, np.int32), own.parts // arcs - 1
        active = z[labels * arcs :].nonzero()[0]  # labels come before arcs
        heads, modifiers = own.tokens[active].T
        chosen[modifiers, 0] = heads + 1  # the root is -1
        if labels:
            chosen[modifiers, 1] = z[: labels * arcs].reshape(arcs, labels)[active].argmax(axis=1)
        return chosen
