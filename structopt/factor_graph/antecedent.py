"""Coreference: every mention chooses its antecedent among the mentions before it, or starts an
entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedMentions
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts, Targets
from structopt.core.factor_graph import Calculus, Counted, FactorGraph, GraphTraits
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.parts.sizes import Sizes
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.document_batches import DocumentBatch, batch_of_mentions
from structopt.factor_graph.kinds import INDEPENDENT
from structopt.kernels.waist.record import Array

LINK_BYTES = 48
"""Bytes per link of the largest document, in the scratch of one thread."""

NEW, LINK, ANAPHOR = range(3)
"""What costs count of a mention: that it starts an entity; that its antecedent is one of its
entity; that it has one at all.
"""


class Antecedent(FactorGraph):
    """One variable a mention: that it starts an entity (its first part), or its antecedent, a
    mention before it. O(links).

    Gold is a set: any earlier mention of the entity that is in reach will do; where there is none,
    the start of an entity.

    Parameters
    ----------
    distance : int or None
        How many mentions back an antecedent may be; None: any number.
    sentences : int or None
        How many sentences back; None: any number.
    instances : str
        The instances of training, each with its own step, plane and example: ``documents``, or
        ``mentions``, since the choices of a document's mentions are independent. Predictions are of
        documents in any case.

    Notes
    -----
    Durrett and Klein (2013), section 3; Kummerfeld et al. (2015), section 3 (coreference).
    """

    traits = GraphTraits(INDEPENDENT, anchored=True, closed_forms=True)
    views = MappingProxyType({"antecedents": "link"})
    roles = MappingProxyType({"variable": "link", "link": "link"})

    def __init__(
        self,
        distance: int | None = 300,
        sentences: int | None = None,
        instances: Literal["documents", "mentions"] = "documents",
    ) -> None:
        if distance is not None and distance < 1:
            raise ArgumentError(
                "must be at least 1, or `None` for no limit.",
                parameter="distance",
                value=distance,
            )
        if sentences is not None and sentences < 0:
            raise ArgumentError(
                "must be at least 0, or `None` for no limit.",
                parameter="sentences",
                value=sentences,
            )
        self.distance, self.sentences, self.instances = distance, sentences, instances

    @property
    def calculus(self) -> Calculus:
        """Closed forms of the marginals of independent variables."""
        from structopt.kernels.chain import single_variable

        return Calculus(
            single_variable.entropy, single_variable.slope, single_variable.conditionals
        )

    def admit(self, encoded: Encoded) -> tuple[Encoded, str]:
        """Return the training corpus by `instances`, and how many mentions have no antecedent in
        reach.
        """
        documents = _documents(encoded)
        if self.instances == "mentions" and documents.documents is None:
            documents = documents.of_mentions()
        chain = _chains(documents)
        lost = int(np.count_nonzero((chain.before > 0) & (self._nearest(documents, chain) < 0)))
        if not lost:
            return documents, ""
        return documents, (
            f"{lost} of {len(chain.before)} mentions have all earlier mentions of their entity "
            f"out of reach by Antecedent(distance={self.distance}, sentences={self.sentences}): "
            "they count as new"
        )

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of every mention; no part is tied, whether `positional` or not."""
        from structopt.kernels.independent.record import INDEPENDENT as RECORD

        documents = _documents(encoded)
        parts = self._parts(documents)
        links = int(np.diff(parts[documents.offsets]).max(initial=0))
        refuse_what_does_not_fit(
            LINK_BYTES * links,
            f"`distance={self.distance}` makes {links:,} links between the "
            "mentions of one document, which",
            "Set a smaller `distance`, or divide long documents.",
            {"distance": "factor_graph"},
        )
        groups = (PartGroup("link", 1, parts[documents.offsets]),)
        return Structure(
            record=RECORD.pack(variables=documents.offsets, parts=parts),
            groups=groups,
            parts=part_offsets(groups),
            kind=self.kind,
            memory=np.zeros(len(documents) + 1, np.int64),
            active=int(np.diff(documents.offsets).max(initial=0)),
        )

    def batch(self, sizes: Any, sentences: Sequence[Any] | None = None) -> DocumentBatch:
        """Return a batch of documents.

        The group ``link`` is a table (n, n + 1) per document: the row is the mention, column 0 says
        that it starts an entity, and column j + 1 is the antecedent j. Later mentions, and mentions
        out of reach, are not parts.

        Parameters
        ----------
        sizes : array-like of int, shape (instances,)
            Mentions of each document.
        sentences : sequence of array-like of int, or None
            The sentence of each mention, ascending; None: each mention has a sentence of its own.

        Raises
        ------
        ArgumentError
        """
        chosen = Sizes.of(sizes)
        listed = [np.arange(n) for n in chosen.lengths] if sentences is None else list(sentences)
        return self.batch_of(chosen, sentences=listed)

    def batch_of(self, sizes: Sizes, **options: Any) -> DocumentBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        return batch_of_mentions(self, sizes, options["sentences"])

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the nearest antecedent of the same entity, or of the start of an entity."""
        documents = _documents(encoded)
        nearest = self._nearest(documents, _chains(documents))
        first = np.arange(len(nearest)) - self._reach(documents)
        choice = np.where(nearest < 0, 0, 1 + nearest - first)[documents.context :]
        parts = _starts(documents, structure) + choice
        return SparseVectors(documents.offsets, parts.astype(np.int32), np.ones(len(parts)))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """The antecedents of the same entity that are in reach; where there is none, the start of
        an entity.
        """
        self.check_role(role)
        documents = _documents(encoded)
        chain, reach = _chains(documents), self._reach(documents)
        mention = np.repeat(np.arange(len(reach)), chain.before)
        rank = np.arange(len(mention)) - np.repeat(
            np.cumsum(chain.before) - chain.before, chain.before
        )
        antecedent = chain.order[chain.place[mention] - chain.before[mention] + rank]
        near = antecedent >= (np.arange(len(reach)) - reach)[mention]
        near &= mention >= documents.context
        choice = 1 + (antecedent - (np.arange(len(reach)) - reach)[mention])[near]
        mention, reach = mention[near] - documents.context, reach[documents.context :]
        counts = np.bincount(mention, minlength=len(reach))
        starts = _starts(documents, structure)
        linked = starts[mention] + choice
        alone = np.flatnonzero(counts == 0)
        variables = np.concatenate([mention, alone])
        order = np.argsort(variables, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.maximum(counts, 1))]).astype(np.int64)
        parts = np.concatenate([linked, starts[alone]])[order].astype(np.int32)
        return AllowedParts(
            documents.offsets.astype(np.int64),
            starts.astype(np.int32),
            (starts + 1 + reach).astype(np.int32),
            offsets,
            parts,
        )

    def targets(self, encoded: Encoded, structure: Structure) -> Targets:
        """The allowed antecedents of every document: a set of outputs, also where it has one
        alone.
        """
        m = len(encoded)
        none = SparseVectors(np.zeros(m + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        return Targets(none, np.ones(m, bool), self.allowed(encoded, structure))

    def counted(self, role: str, encoded: Encoded) -> Counted:
        """Of ``variable`` the mentions. Of ``link`` one unit for a mention that starts an entity;
        two for any other.

        These two are its antecedent, which is missed by any wrong one, and that it has one, which
        is missed by none at all.
        """
        documents = _documents(encoded)
        anaphors = self._nearest(documents, _chains(documents))[documents.context :] >= 0
        document = np.repeat(np.arange(len(documents)), np.diff(documents.offsets))
        if role == "variable":
            return Counted(("new", "link"), anaphors.astype(np.int32), np.diff(documents.offsets))
        gold = np.where(anaphors, LINK, NEW).repeat(1 + anaphors)
        gold[np.flatnonzero(gold == LINK)[1::2]] = ANAPHOR
        lengths = np.bincount(document, 1 + anaphors, len(documents)).astype(np.int64)
        return Counted(("new", "link", "anaphor"), gold.astype(np.int32), lengths)

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """Cost p up to a constant: -weight at the allowed parts; for ``anaphor`` its weight at the
        start of an entity.
        """
        allowed = self.allowed(encoded, structure, role)
        if role == "variable":
            return allowed.weighted(-weights)
        documents = _documents(encoded)
        units = self.counted(role, encoded).gold
        missed, absent = weights[units != ANAPHOR], weights[units == ANAPHOR]
        wrong = allowed.weighted(-missed)
        anaphors = units[units != ANAPHOR] == LINK
        starts = _starts(documents, structure)[anaphors].astype(np.int32)
        own = np.concatenate([[0], np.cumsum(anaphors)])[documents.offsets].astype(np.int64)
        return _added(wrong, SparseVectors(own, starts, absent))

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """The mention and its antecedent, by their numbers, from 1."""
        documents = _documents(encoded)
        parts = self._parts(documents)
        variable = int(np.searchsorted(parts, position, side="right")) - 1
        mention, choice = documents.context + variable, position - int(parts[variable])
        reach = int(self._reach(documents)[mention])
        return f"mention {mention + 1} " + (
            "starts an entity" if choice == 0 else f"→ {mention - reach + choice}"
        )

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """The antecedent of every mention, counted within its document; -1: it starts an entity.
        int32, shape (mentions,).
        """
        documents = _documents(encoded)
        parts, reach = self._parts(documents), self._reach(documents)[documents.context :]
        chosen, counts = structure.active_in("link", outputs)
        chosen = chosen[np.argsort(counts, kind="stable")]
        mention = np.searchsorted(parts, chosen, side="right") - 1
        choice = np.zeros(len(reach), np.int64)
        choice[mention] = chosen - parts[mention]
        antecedent = _positions(documents)[documents.context :] - reach - 1 + choice
        return np.where(choice == 0, -1, antecedent).astype(np.int32)

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """Of every mention, that it starts an entity (column 0) and every antecedent: shape
        (mentions, mentions + 1).
        """
        documents, tables = _documents(encoded), []
        for choices in self.choices(name, documents, structure, marginals):
            n = int(choices["mention"].max(initial=0))
            table = np.zeros((n, n + 1))
            table[choices["mention"] - 1, choices["antecedent"]] = choices["probability"]
            tables.append(table)
        return tables

    def no_probabilities(self, encoded: Encoded) -> Array:
        """Return no rows, and the column of new entities."""
        return np.zeros((0, 1))

    def choices(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[dict[str, Array]]:
        """Every ``mention`` (from 1) with every ``antecedent`` in reach (0: it starts an entity),
        and the ``probability``.
        """
        documents, columns = _documents(encoded), []
        reach = self._reach(documents)[documents.context :]
        position = _positions(documents)[documents.context :]
        for i, of_parts in enumerate(marginals):
            inside = slice(*documents.offsets[i : i + 2])
            own = reach[inside]
            mention = np.repeat(position[inside], 1 + own)
            choice = np.arange(len(mention)) - np.repeat(np.cumsum(1 + own) - 1 - own, 1 + own)
            antecedent = np.where(choice == 0, 0, mention - np.repeat(own, 1 + own) + choice)
            columns.append(
                {"mention": mention + 1, "antecedent": antecedent, "probability": of_parts}
            )
        return columns

    def _reach(self, documents: EncodedMentions) -> Array:
        """How many mentions before each one may be its antecedent, int64, shape (mentions,)."""
        position = _positions(documents)
        reach = position if self.distance is None else np.minimum(position, self.distance)
        if self.sentences is None:
            return np.asarray(reach)
        document = _numbers(documents).astype(np.int64) << 32
        first_sentence = np.maximum(documents.sentences - self.sentences, 0)
        nearest = np.searchsorted(document + documents.sentences, document + first_sentence)
        return np.asarray(np.minimum(reach, np.arange(len(reach)) - nearest))

    def _parts(self, documents: EncodedMentions) -> Array:
        """The first part of each variable, and their number: int64, shape (variables + 1,)."""
        reach = self._reach(documents)[documents.context :]
        return np.concatenate([[0], np.cumsum(1 + reach)]).astype(np.int64)

    def _nearest(self, documents: EncodedMentions, chain: _Chains) -> Array:
        """The nearest earlier mention of the same entity, counted over the corpus; -1 where none is
        in reach.
        """
        last = chain.order[np.maximum(chain.place - 1, 0)]
        near = (chain.before > 0) & (last >= np.arange(len(last)) - self._reach(documents))
        return np.asarray(np.where(near, last, -1))


class _Chains(NamedTuple):
    """The mentions of a corpus by document and entity, in the order of their places.

    Attributes
    ----------
    order : the mentions, sorted by document and entity
    place : where each mention stands in `order`
    before : how many earlier mentions its entity has
    """

    order: Array
    place: Array
    before: Array


def _chains(documents: EncodedMentions) -> _Chains:
    assert documents.gold is not None
    document = _numbers(documents)
    order = np.lexsort((documents.gold, document))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    same = (np.diff(document[order]) == 0) & (np.diff(documents.gold[order]) == 0)
    first = np.maximum.accumulate(
        np.where(np.concatenate([[False], same]), 0, np.arange(len(order)))
    )
    return _Chains(order, place, (np.arange(len(order)) - first)[place])


def _numbers(documents: EncodedMentions) -> Array:
    """The number of each mention's document."""
    return np.repeat(np.arange(len(documents.bounds) - 1), np.diff(documents.bounds))


def _positions(documents: EncodedMentions) -> Array:
    """The number of each mention within its document, from 0."""
    begins = np.repeat(documents.bounds[:-1], np.diff(documents.bounds))
    return np.asarray(np.arange(int(documents.bounds[-1])) - begins)


def _documents(encoded: Encoded) -> EncodedMentions:
    if not isinstance(encoded, EncodedMentions):
        raise ConfigError(
            "is a graph of mentions and their antecedents, which this task's data do not have.",
            parameter="factor_graph",
            value="Antecedent",
            remedy="Use Coreference(), or another factor graph.",
        )
    return encoded


def _starts(documents: EncodedMentions, structure: Structure) -> Array:
    """The first part of every mention within its document."""
    from structopt.kernels.independent.record import INDEPENDENT as RECORD

    parts = RECORD.open(structure.record).parts[:-1]
    return np.asarray(parts - np.repeat(structure.parts[:-1], np.diff(documents.offsets)))


def _added(first: SparseVectors, second: SparseVectors) -> SparseVectors:
    """The sums of sparse vectors that have no part in common."""
    sizes = np.diff(first.offsets), np.diff(second.offsets)
    instance = np.concatenate([np.repeat(np.arange(len(own)), own) for own in sizes])
    parts, values = (
        np.concatenate([first.parts, second.parts]),
        np.concatenate([first.values, second.values]),
    )
    order = np.lexsort((parts, instance))
    return SparseVectors(
        (first.offsets + second.offsets).astype(np.int64), parts[order], values[order]
    )
