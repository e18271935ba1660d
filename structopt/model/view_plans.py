"""Plans of parsers: what predictions of a few sentences need, allocated once per model and thread.

A general prediction builds the graphs of a corpus and packs their records. For one sentence that
takes longer than the inference.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer
from structopt.kernels.passes import LEAST
from structopt.kernels.waist.record import EMPTY, Array, Record
from structopt.kernels.waist.signatures import Kernels
from structopt.model.pruning import Pruner
from structopt.objective import scoring

GRAPHS = ("arc_factored", "grammar")
"""The names of the graphs that have plans."""


class ViewPlan(Protocol):
    """Predicts sentences as the view of a graph that the task decodes."""

    def takes(self, encoded: Encoded) -> bool:
        """Whether the sentences are short, and nothing of their outputs is known."""

    def view(self, weights: Array, encoded: Encoded, temperature: float) -> Any | None:
        """Return the view that `FactorGraph.view` reads off the predictions of sentences that the
        plan takes; None if they need the general prediction.
        """


class _Sentence(NamedTuple):
    """The records of any sentence of some length, and the codes of its words, to be written."""

    features: Record
    codes: Array
    arcs: Record
    work: Record
    tokens: Array
    parts: int


class ArcPlan:
    """The heads of sentences in an arc-factored graph with hashed templates.

    Parameters
    ----------
    graph : ArcFactored
    scorer : HashedTemplates
    kernels : Kernels
    """

    def __init__(self, graph: Any, scorer: Any, kernels: Kernels) -> None:
        self._graph, self._scorer, self._kernels = graph, scorer, kernels
        self._known: dict[int, _Sentence] = {}
        self._scores, self._output = np.zeros(0), np.zeros(0)

    def takes(self, encoded: Encoded) -> bool:
        """See `ViewPlan`."""
        from structopt.factor_graph.arc_factored import FEW_WORDS

        if not isinstance(encoded, EncodedTrees) or encoded.candidates is not None:
            return False
        return encoded.allowed is None and int(np.diff(encoded.offsets).max()) <= FEW_WORDS

    def view(self, weights: Array, encoded: Encoded, temperature: float) -> Array | None:
        """See `ViewPlan`: heads and relations, shape (tokens, 2)."""
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
        from structopt.kernels.features.template_parts import HASHED

        structure = self._graph.build(encoded)
        features = scoring.record_of(self._scorer, encoded, structure, scores_only=True)
        codes = HASHED.open(features).codes
        work = Record(*(buffer.copy() for buffer in structure.work))
        parts = int(structure.parts[1])
        if parts > len(self._scores):
            self._scores, self._output = np.zeros(parts), np.zeros(parts)
        return _Sentence(
            features, codes, structure.record, work, structure.part_tokens["arc"], parts
        )

    def _heads(
        self, weights: Array, own: _Sentence, encoded: Any, words: int, temperature: float
    ) -> Array | None:
        """Return the head and the relation of each word."""
        kernels, s, z = self._kernels, self._scores[: own.parts], self._output[: own.parts]
        own.codes[:] = self._scorer.layout.codes(encoded)
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


def view_plan_of(
    inference: str,
    graph: FactorGraph,
    scorer: Scorer,
    kernels: Kernels,
    pruner: Pruner | None,
    encoded: Encoded,
) -> ViewPlan | None:
    """Return the plan of a parser with exact inference; None for other models.

    Parameters
    ----------
    inference : str
        Its name.
    graph, scorer, kernels, pruner : the components of the model
    encoded : Encoded
        Any corpus that the model's task has encoded.
    """
    if inference != "exact":
        return None
    if pruner is not None and (pruning := pruner.plan(encoded)) is not None:
        from structopt.factor_graph.grammar import sentence_charts

        return sentence_charts.tree_plan(pruning, graph, scorer, encoded, kernels)
    if pruner is None and isinstance(encoded, EncodedTrees):
        from structopt.factor_graph.arc_factored import ArcFactored
        from structopt.features.hashed_templates import HashedTemplates

        # a plugin's class may have other records
        if type(graph) is ArcFactored and type(scorer) is HashedTemplates:
            return ArcPlan(graph, scorer, kernels)
    return None
