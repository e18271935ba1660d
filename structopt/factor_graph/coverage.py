"""Extractive summaries: sentences within a budget, and the bigrams that they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedTexts
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.factor_graph import Counted, FactorGraph, GraphTraits
from structopt.core.parts.ragged import Ragged, interleaved, numbers
from structopt.core.parts.sizes import Sizes
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.document_batches import DocumentBatch, batch_of_texts
from structopt.factor_graph.factor_rows import FactorRows, pack_factors
from structopt.factor_graph.kinds import LOOPY
from structopt.kernels.waist.record import Array


class Coverage(FactorGraph):
    r"""Summaries y of a document: any of its sentences j, within a budget B; and the bigrams b that
    they have.

        score(y) = sum_j s_j y_j + sum_b t_b c_b,    c_b = 1 where some sentence with b is in,
        sum_j len_j y_j <= B

    An instance has a part for each sentence, and then one for each bigram. COVERAGE factors make
    the parts of bigrams follow from the sentences, whatever the sign of t_b: one for all
    neighbouring bigrams that the same sentences have. One more factor keeps the budget.

    Parameters
    ----------
    budget : str
        The kind of that factor: ``length_budget``, of which ad3 knows all that fits, or
        ``linear_budget``, whose sentences may be in in part, as in lp. The summaries are the same;
        bounds of ad3 are lower with the first and found sooner with the second. Only the first has
        marginals.

    Notes
    -----
    Gillick and Favre (2009); Berg-Kirkpatrick, Gillick and Klein (2011). Inference: `ILP`,
    `LP`, `AD3` or `Greedy`; with marginals `LoopyBP`, `TRWBP`, or `Enumeration` of few sentences.
    """

    traits = GraphTraits(LOOPY, anchored=True, covers=True)
    views = MappingProxyType({"selection": "sentence"})

    def __init__(self, budget: Literal["length_budget", "linear_budget"] = "length_budget") -> None:
        self.budget = budget

    @property
    def factor_kinds(self) -> tuple[str, ...]:
        """The kind of the budget's factor."""
        return (self.budget,)

    @property
    def roles(self) -> Mapping[str, str]:
        """``variable``: sentences; ``bigram``: bigrams of the references, at their worth."""
        return {"variable": "sentence", "bigram": "bigram"}

    @property
    def rounding(self) -> Any:
        """The kernel that makes a summary of fractional sentences."""
        from structopt.kernels.loopy.round_summary import round_summary

        return round_summary

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of every document; no part is tied, whether `positional` or not.

        Raises
        ------
        ConfigError
            For a corpus of another task, and budgets or lengths below 0.
        """
        corpus = _texts_of(encoded)
        if min(corpus.lengths.min(initial=0), corpus.budgets.min(initial=0)) < 0:
            raise ConfigError("Budgets and lengths of sentences must be at least 0.")
        starts, sentences = corpus.holders
        rows = []
        for i in range(len(corpus)):
            lengths = corpus.lengths[corpus.offsets[i] : corpus.offsets[i + 1]]
            row = FactorRows(np.ones(len(lengths), np.int32))
            first, last = corpus.bigrams[i : i + 2].tolist()
            holders = (sentences[starts[b] : starts[b + 1]].tobytes() for b in range(first, last))
            for own, alike in groupby(holders):
                row.add("coverage", np.frombuffer(own, np.int32), privates=sum(1 for _ in alike))
            budget = min(int(corpus.budgets[i]), int(lengths.sum()))
            row.add(self.budget, np.arange(len(lengths)), extra=np.array([budget, *lengths]))
            rows.append(row)
        groups = (PartGroup("sentence", 1, corpus.offsets), PartGroup("bigram", 1, corpus.bigrams))
        return Structure(
            pack_factors(rows),
            groups,
            part_offsets(groups),
            self.kind,
            np.zeros(len(corpus) + 1, np.int64),
        )

    def batch(
        self, lengths: Sequence[Any], budgets: Sequence[int], concepts: Sequence[Any]
    ) -> DocumentBatch:
        """Return a batch of texts; the groups are ``sentence`` and ``bigram``, a number each.

        Parameters
        ----------
        lengths : sequence of array-like of int
            Length of each sentence of each text.
        budgets : sequence of int
            The most that a summary of each text may take.
        concepts : sequence of sequences of sequences of int
            The sentences that have each concept (bigram) of each text.

        Raises
        ------
        ArgumentError
        """
        if not len(lengths) == len(budgets) == len(concepts):
            raise ArgumentError(
                "must have an entry per text, as budgets and concepts.", parameter="lengths"
            )
        sizes = Sizes.of([len(one) for one in lengths])
        return self.batch_of(sizes, lengths=lengths, budgets=budgets, concepts=concepts)

    def batch_of(self, sizes: Sizes, **options: Any) -> DocumentBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        return batch_of_texts(self, sizes, **options)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the sentences that are in the best summary, and of the bigrams that they
        have.
        """
        corpus = _texts_of(encoded)
        assert corpus.gold is not None
        inside = corpus.gold == 1
        starts, sentences = corpus.holders
        bigram = np.repeat(np.arange(int(corpus.bigrams[-1])), np.diff(starts))
        document = np.searchsorted(corpus.bigrams, bigram, side="right") - 1
        covered = (
            np.bincount(
                bigram, inside[corpus.offsets[document] + sentences], int(corpus.bigrams[-1])
            )
            > 0
        )
        chosen, found = _chosen(corpus.offsets, inside), _chosen(corpus.bigrams, covered)
        first = np.repeat(np.diff(corpus.offsets), np.diff(found.offsets))
        parts = interleaved([chosen, Ragged(found.offsets, found.values + first)])
        return SparseVectors(
            chosen.offsets + found.offsets, parts.astype(np.int32), np.ones(len(parts))
        )

    def counted(self, role: str, encoded: Encoded) -> Counted:
        """Sentences, in or out; or bigrams, which costs price alike: their worth is the graph's."""
        self.check_role(role)
        corpus = _texts_of(encoded)
        if role == "bigram":
            return Counted(
                ("bigram",), np.zeros(int(corpus.bigrams[-1]), np.int32), np.diff(corpus.bigrams)
            )
        assert corpus.gold is not None
        return Counted(corpus.labels, corpus.gold, np.diff(corpus.offsets))

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """Cost of wrong sentences, or minus the worth of the bigrams that a summary has.

        Of sentences: +weights_j at the part of one that is not gold, -weights_j at that of a gold
        one. Of bigrams: -weights_b worth_b, so that a summary costs what its recall of the
        references' bigrams is below gold's.
        """
        self.check_role(role)
        corpus = _texts_of(encoded)
        if role == "bigram":
            if corpus.worth is None:
                raise ConfigError(
                    "The cost counts bigrams of references, and these texts have none."
                )
            worth = np.flatnonzero(corpus.worth)
            offsets = np.searchsorted(worth, corpus.bigrams).astype(np.int64)
            first = np.repeat(np.diff(corpus.offsets) - corpus.bigrams[:-1], np.diff(offsets))
            return SparseVectors(
                offsets, (worth + first).astype(np.int32), -(weights * corpus.worth)[worth]
            )
        assert corpus.gold is not None
        prices = np.where(corpus.gold == 1, -weights, weights)
        return SparseVectors(corpus.offsets, numbers(corpus.offsets), prices)

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """Whether each sentence is in, bool of shape (sentences,)."""
        parts, counts = structure.active_in("sentence", outputs)
        selected = np.zeros(int(encoded.offsets[-1]), bool)
        selected[parts[counts > 0.5]] = True
        return selected

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """Probabilities that each sentence is out, and that it is in, shape (sentences, 2)."""
        return [np.stack([1.0 - p, p], axis=1) for p in marginals]

    def no_probabilities(self, encoded: Encoded) -> Array:
        """Return no rows, and two columns."""
        return np.zeros((0, 2))


def _texts_of(encoded: Encoded) -> EncodedTexts:
    """Return the corpus, or refuse that of another task."""
    if not isinstance(encoded, EncodedTexts):
        raise ConfigError(
            "selects sentences of Summarization().",
            parameter="factor_graph",
            value="Coverage",
            remedy="Use the factor graph of your task.",
        )
    return encoded


def _chosen(offsets: Array, chosen: Array) -> Ragged:
    """The numbers, within their instance, of what is chosen."""
    found = np.flatnonzero(chosen)
    ends = np.searchsorted(found, offsets).astype(np.int64)
    return Ragged(ends, found - np.repeat(offsets[:-1], np.diff(ends)))
