"""Linear chains: one variable a position, factors over neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts
from structopt.core.factor_graph import Calculus, FactorGraph, GraphTraits
from structopt.core.memory import NUMBER, refuse_what_does_not_fit
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.batches import (
    LabelBatch,
    counted_layout,
    label_layout,
    label_names,
    tied_layout,
    transitions,
)
from structopt.factor_graph.kinds import CHAIN, FIRST_ORDER_CHAIN
from structopt.factor_graph.label_parts import LABEL_ROLES, allowed_labels, chosen_labels
from structopt.factor_graph.token_places import joined_tokens
from structopt.factor_graph.tree_corpora import refuse_trees
from structopt.kernels.waist.record import Array, Record

FEW_TOKENS, FEW_RUNS = 40, 1 << 12
"""Tokens of a sentence, and runs of labels, whose structure is remembered: 40 structures of less
than half a megabyte.
"""
LARGEST_STATE_SPACE = 1_000_000
COPIES = 5
"""Of scores, potentials and marginals of one sentence, in the scratch of a thread."""


class LinearChain(FactorGraph):
    """A chain of order k: every run of j + 1 neighbouring labels, 1 <= j <= k, has a factor.

    The (j+1)-gram factors are tied: one table of scores serves all positions. When the task gives
    features on transitions, they are anchored instead: one table per position.

    Parameters
    ----------
    order : int
        How many preceding labels a label depends on; inference costs O(n L^(order + 1)).

    Notes
    -----
    Sequence labelling in Martins et al. (2010), section 2.2; k-gram models by tuples of labels.
    """

    def __init__(self, order: int = 1) -> None:
        if order < 1:
            raise ArgumentError("must be at least 1.", parameter="order", value=order)
        self.order = order

    @property
    def traits(self) -> GraphTraits:
        """A chain of its order."""
        kind = FIRST_ORDER_CHAIN if self.order == 1 else CHAIN
        return GraphTraits(kind, order=self.order, closed_forms=True)

    @property
    def views(self) -> Mapping[str, str]:
        """The label of every position."""
        return {"labels": "label"}

    @property
    def roles(self) -> Mapping[str, str]:
        """Variables, and their labels."""
        return LABEL_ROLES

    @property
    def calculus(self) -> Calculus | None:
        """Closed forms of the marginals of anchored chains."""
        from structopt.kernels.chain import calculus as closed

        return Calculus(closed.entropy, closed.slope, closed.conditionals)

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out label parts and n-gram parts of every sentence, and the hard constraints."""
        refuse_trees(encoded, "LinearChain")
        L, n = len(encoded.labels), int(encoded.offsets[-1])
        self._check_size(L)
        anchored = positional or "transition" in encoded.tables
        small = n <= FEW_TOKENS and L ** (self.order + 1) <= FEW_RUNS
        if small and len(encoded) == 1 and encoded.allowed is None:
            own = encoded.labels, *(tuple(one) for one in _forbidden(encoded))
            return _one_sentence(self.order, n, anchored, *own)
        return self._structure(encoded, anchored)

    def _structure(self, encoded: Encoded, anchored: bool) -> Structure:
        L, m = len(encoded.labels), len(encoded)
        groups = self._groups(encoded.offsets, L, m, anchored)
        return Structure(
            record=self._record(encoded, L, anchored),
            groups=groups,
            parts=part_offsets(groups),
            kind=self.kind,
            active=int(np.diff(encoded.offsets).max(initial=0)) * (1 + self.order),
            memory=np.zeros(m + 1, np.int64),
            work=self._work(encoded.offsets, L, anchored),
        )

    def batch(
        self,
        lengths: Any = None,
        *,
        mask: Any = None,
        labels: int | Sequence[str],
        forbidden: Iterable[Any] = (),
        tied: bool = True,
    ) -> LabelBatch:
        """Return a batch of sequences.

        Parameters
        ----------
        lengths : array-like of int, shape (instances,)
        mask : array-like of bool, shape (instances, width)
            Instead of `lengths`: true at positions. The chain joins the positions of a row.
        labels : int, or sequence of str
        forbidden : iterable of pairs
            (i, j): label j after i; (None, j): j at the start; (i, None): i at the end.
        tied : bool
            Whether one table of scores serves all positions; else each position has tables of its
            own.

        Raises
        ------
        ArgumentError
        """
        sizes = Sizes.of(lengths, mask)
        names = label_names(labels)
        return self.batch_of(sizes, labels=names, forbidden=tuple(forbidden), tied=tied)

    def batch_of(self, sizes: Sizes, **options: Any) -> LabelBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        names, tied = options["labels"], options["tied"]
        L = len(names)
        starts, ends, pairs = transitions(options["forbidden"], L)
        encoded = Encoded(
            sizes.offsets,
            {},
            names,
            forbidden_starts=starts,
            forbidden_ends=ends,
            forbidden_transitions=pairs,
        )
        self._check_size(L)
        return LabelBatch(self, encoded, sizes, options, _layouts, positional=not tied)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold labels and of the gold n-grams (counts, where tied)."""
        assert encoded.gold is not None
        L, offsets, y = len(encoded.labels), encoded.offsets, encoded.gold.astype(np.int64)
        lengths = np.diff(offsets)
        sentence = np.repeat(np.arange(len(encoded)), lengths)
        position = np.arange(len(y)) - offsets[sentence]
        parts, owners, start = [position * L + y], [sentence], lengths[sentence] * L
        for order, group in enumerate(structure.groups[1:], 1):
            history = sum(
                (_shift(y, d) * L ** (d - 1) for d in range(1, order + 1)), np.zeros_like(y)
            )
            active = position >= order
            anchor = 0 if group.tied else (position - order) * group.width
            parts.append((start + anchor + history * L + y)[active])
            owners.append(sentence[active])
            start = start + group.width * np.diff(group.offsets)[sentence]
        return SparseVectors.of_parts(np.concatenate(owners), np.concatenate(parts), len(encoded))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Label parts that the gold labels may have."""
        return allowed_labels(encoded)

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """The token of a label; the neighbours of a run of labels."""
        if group.tied or group.name == "label":
            return super().place(encoded, structure, group, position)
        labels = 2 if group.name == "transition" else int(group.name.partition("-")[0])
        return joined_tokens(encoded, list(range(position, position + labels)))

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """The number of the label of every position."""
        return chosen_labels(encoded, structure, outputs)

    def _check_size(self, L: int) -> None:
        if L**self.order > LARGEST_STATE_SPACE:
            raise ConfigError(
                f"has {L**self.order} states with {L} labels.",
                parameter="order",
                value=self.order,
                remedy="Set a smaller `order`.",
                kinds={"order": "factor_graph"},
            )
        runs = sum(L ** (j + 1) for j in range(1, self.order + 1))
        refuse_what_does_not_fit(
            COPIES * NUMBER * runs,
            f"`order={self.order}` with {L} labels has scores of {runs:,} runs of labels, which",
            "Choose a smaller `order`, or fewer labels."
            if self.order > 1
            else "Choose fewer labels.",
            {"order": "factor_graph"},
        )

    def _groups(self, offsets: Array, L: int, m: int, anchored: bool) -> tuple[PartGroup, ...]:
        labels, orders = PartGroup("label", L, offsets), range(1, self.order + 1)
        if anchored:
            return labels, *(
                PartGroup(_ngram_name(j), L ** (j + 1), _after(offsets, j)) for j in orders
            )
        once = np.arange(m + 1, dtype=np.int64)
        return labels, *(PartGroup(_ngram_name(j), L ** (j + 1), once, tied=True) for j in orders)

    def _record(self, encoded: Encoded, L: int, anchored: bool) -> Record:
        from structopt.kernels.chain.record import CHAIN

        excluded_offsets, excluded = _excluded(encoded)
        return CHAIN.pack(
            labels=L,
            order=self.order,
            anchored=anchored,
            tokens=encoded.offsets,
            forbidden_starts=np.array(encoded.forbidden_starts, np.int32),
            forbidden_ends=np.array(encoded.forbidden_ends, np.int32),
            forbidden_transitions=np.array(
                [u * L + y for u, y in encoded.forbidden_transitions], np.int32
            ),
            excluded_offsets=excluded_offsets,
            excluded=excluded,
        )

    def _work(self, offsets: Array, L: int, anchored: bool) -> Record:
        """Scratch for the longest sentence; rows of labels are padded where the order is 1."""
        from structopt.kernels.chain.first_order import padded
        from structopt.kernels.chain.record import SCRATCH

        n = int(np.diff(offsets).max(initial=1))
        if self.order == 1:
            row, table = padded(L), L * padded(L)
            states, tables, potentials = (
                row,
                2 * table + L * L + 2,
                table * (n - 1 if anchored else 1),
            )
        else:
            row, states = L, max(L**self.order, self.order)
            tables = sum(L ** (j + 1) for j in range(1, self.order + 1))
            potentials = L * states * (n - 1) if anchored else tables
        return SCRATCH.pack(
            alpha=n * states,
            beta=n * states,
            scale=n,
            node=n * row,
            table=tables,
            potential=potentials,
            temporary=states,
            back=n * states,
        )


@lru_cache(maxsize=FEW_TOKENS)
def _one_sentence(
    order: int,
    tokens: int,
    anchored: bool,
    labels: tuple[str, ...],
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    pairs: tuple[tuple[int, int], ...],
) -> Structure:
    """Return the structure of any sentence of so many tokens with these constraints."""
    offsets = np.array([0, tokens])
    encoded = Encoded(offsets, {}, labels, None, None, starts, ends, pairs)
    return LinearChain(order)._structure(encoded, anchored)


def _forbidden(encoded: Encoded) -> tuple[Any, Any, Any]:
    return encoded.forbidden_starts, encoded.forbidden_ends, encoded.forbidden_transitions


def _layouts(batch: LabelBatch) -> dict[str, GroupLayout]:
    """Layouts of labels, and of tied or anchored runs of labels."""
    structure, sizes = batch.structure, batch.sizes
    layouts = {"label": label_layout(structure, sizes)}
    for order, group in enumerate(structure.groups[1:], 2):
        cells = (len(batch.encoded.labels),) * order
        layouts[group.name] = (
            tied_layout(structure, group, sizes, cells)
            if group.tied
            else counted_layout(structure, group, sizes, cells, _neighbours(group, order))
        )
    return layouts


def _neighbours(group: PartGroup, labels: int) -> Array:
    """The positions of the labels of each run, so many each."""
    first = numbers_within(np.diff(group.offsets))
    return first[:, None] + np.arange(labels)


def _after(offsets: Array, order: int) -> Array:
    """Offsets of the positions that have so many positions before them."""
    counts = np.maximum(np.diff(offsets) - order, 0)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _ngram_name(order: int) -> str:
    return "transition" if order == 1 else f"{order + 1}-gram"


def _shift(y: Array, distance: int) -> Array:
    """The label `distance` positions earlier; the first `distance` entries are never used."""
    return np.concatenate(
        [np.zeros(min(distance, len(y)), y.dtype), y[: max(0, len(y) - distance)]]
    )


def _excluded(encoded: Encoded) -> tuple[Array, Array]:
    """Forbidden label parts of partially labelled input, per instance."""
    if encoded.allowed is None:
        return np.zeros(len(encoded) + 1, np.int64), np.zeros(0, np.int32)
    L = len(encoded.labels)
    token, label = np.nonzero(~encoded.allowed)
    sentence = np.searchsorted(encoded.offsets, token, side="right") - 1
    offsets = np.searchsorted(sentence, np.arange(len(encoded) + 1)).astype(np.int64)
    return offsets, ((token - encoded.offsets[sentence]) * L + label).astype(np.int32)
