"""Dependency trees whose arcs are scored two by two: siblings and grandparents."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from structopt.core.data import ranges
from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts
from structopt.core.factor_graph import FactorGraph, GraphTraits, Pruning
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.parts.ragged import Ragged, ends_of, interleaved, numbers
from structopt.core.parts.sizes import Sizes
from structopt.errors import ArgumentError
from structopt.factor_graph.arc_factored import (
    allowed_arcs,
    arc_choices,
    arc_tokens,
    candidate_arcs,
    chosen_heads,
    gold_arcs,
    head_tables,
    refuse_many_arcs,
)
from structopt.factor_graph.arc_pruning import ArcPruning
from structopt.factor_graph.factor_lists import FactorList, pack_lists, pairs
from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.token_places import JOINED, joined_tokens
from structopt.factor_graph.tree_batches import TreeBatch, batch_of_trees
from structopt.factor_graph.tree_corpora import trees_of
from structopt.factor_graph.tree_repair import admitted
from structopt.kernels.waist.record import Array

PAIR_BYTES = 60
"""Approximate bytes per pair of arcs while a graph is built."""


class PairedArcs(NamedTuple):
    """Parts that join two arcs: siblings or grandparents.

    Attributes
    ----------
    factors : FactorList
    offsets : int64, shape (sentences + 1,)
        Where the parts of each sentence begin.
    tokens : int32, shape (parts, 3)
        The tokens that each part joins, as in `Structure.part_tokens`.
    """

    factors: FactorList
    offsets: Array
    tokens: Array


class SecondOrder(FactorGraph):
    """Trees with a part for every arc, for siblings (two arcs h -> s, h -> m) and for grandparents
    (g -> h, h -> m).

    One hard factor asks for a tree; siblings are the pairs of head automata, one for each head and
    side, and grandparents are pairs of arcs. The graph is loopy: inference by `LoopyBP`,
    `TRWBP`, `AD3`, `LP` or `ILP`. Arcs carry no relations: those belong to `ArcFactored`.

    There are O(n^3) parts; a pruner, a model of first order, leaves each token few heads. Trained
    in the same run, it prunes its own training data, on which it errs less than on others.

    Parameters
    ----------
    projective : bool
        Whether arcs may not cross.
    single_root : bool
        Whether exactly one token depends on the root; else one or several.
    siblings : str
        ``consecutive``: a part for every modifier and the next one farther from the head on that
        side, for the first and for the last; ``all``: a part for every two modifiers on one side;
        ``none``.
    grandparents : bool
        Whether there is a part for the head of a head and a modifier.
    repair : str
        What becomes of training sentences whose gold tree is none of these trees: ``lift`` moves
        arcs upwards until it is, ``drop`` leaves the sentence out, ``refuse`` ends with an error.
    pruner : str or None
        A model of `ArcFactored` that prunes, trained on the same file; None trains one
        first.
    prune_ratio : float
        A head is kept if it is at least so probable as this share of the most probable head of its
        token.
    max_heads : int
        The most heads that a token keeps (beside that of the pruner's own tree, and in training the
        gold one); 0: any number. With ratio 0 and any number nothing is pruned.
    pruner_epochs : int
        Passes in which the pruner is trained.
    pruner_C : float
        Its 1/(lambda m).

    Notes
    -----
    Smith and Eisner (2008); Martins et al. (2010), section 5; head automata as in Koo et al.
    (2010). Pruning by arc marginals as in Martins et al. (2009).
    """

    traits = GraphTraits(LOOPY, anchored=True, labeled=False)
    views = MappingProxyType({"heads": "arc"})
    roles = MappingProxyType({"variable": "arc", "arc": "arc"})

    def __init__(
        self,
        projective: bool = False,
        single_root: bool = True,
        siblings: Literal["consecutive", "all", "none"] = "consecutive",
        grandparents: bool = True,
        repair: Literal["lift", "drop", "refuse"] = "lift",
        pruner: str | None = None,
        prune_ratio: float = 1e-4,
        max_heads: int = 10,
        pruner_epochs: int = 3,
        pruner_C: float = 1.0,
    ) -> None:
        if not 0.0 <= prune_ratio < 1.0:
            raise ArgumentError(
                "must be at least 0 and below 1; 0 prunes by `max_heads` only.",
                parameter="prune_ratio",
                value=prune_ratio,
            )
        if max_heads < 0:
            raise ArgumentError(
                "must be at least 1, or 0 for no limit.",
                parameter="max_heads",
                value=max_heads,
            )
        if pruner_epochs < 1:
            raise ArgumentError(
                "must be at least 1.", parameter="pruner_epochs", value=pruner_epochs
            )
        ranges.check_positive("pruner_C", pruner_C)
        self.projective, self.single_root, self.siblings, self.grandparents = (
            projective,
            single_root,
            siblings,
            grandparents,
        )
        self.repair, self.pruner, self.prune_ratio, self.max_heads = (
            repair,
            pruner,
            prune_ratio,
            max_heads,
        )
        self.pruner_epochs, self.pruner_C = pruner_epochs, pruner_C
        self._pruning = ArcPruning(
            pruner, prune_ratio, max_heads, pruner_epochs, pruner_C, projective, single_root
        )

    @property
    def pruning(self) -> Pruning | None:
        """The model of first order that is to prune arcs; None: nothing is pruned."""
        wanted = self._pruning.ratio > 0.0 or self._pruning.max_heads > 0
        return self._pruning if wanted else None

    @property
    def rounding(self) -> Any:
        """The kernel that makes a tree of fractional arc marginals."""
        from structopt.kernels.loopy.rounding import round_trees

        return round_trees

    def admit(self, encoded: Encoded) -> tuple[EncodedTrees, str]:
        """Return the training corpus with gold trees that the graph allows, and what had to be
        changed for it.
        """
        return admitted(trees_of(encoded), self.projective, self.single_root, self.repair)

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out arcs, siblings and grandparents of every sentence; no part is tied, whether
        `positional` or not.

        O(parts) time and memory.
        """
        trees = trees_of(encoded)
        refuse_many_arcs(trees, 0)
        begin, listed = candidate_arcs(trees)
        arcs, heads = np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(listed, np.int32)
        tokens = np.ascontiguousarray(trees.offsets, np.int64)
        part_tokens = {"arc": arc_tokens(tokens, arcs, heads)}
        groups = [PartGroup("arc", 1, arcs[tokens])]
        factors = [self._tree(tokens, arcs, part_tokens["arc"])]
        for name, listing in (("sibling", self._siblings), ("grandparent", self._grandparents)):
            paired = listing(tokens, arcs, heads, part_tokens["arc"][:, 1])
            if paired is not None:
                factors.append(paired.factors)
                groups.append(PartGroup(name, 1, paired.offsets))
                part_tokens[name] = paired.tokens
        return Structure(
            record=pack_lists(tokens, arcs, factors),
            groups=tuple(groups),
            parts=part_offsets(tuple(groups)),
            kind=self.kind,
            memory=np.zeros(len(trees) + 1, np.int64),
            part_tokens=part_tokens,
        )

    def batch(self, lengths: Any = None, *, mask: Any = None) -> TreeBatch:
        """Return a batch of sentences; nothing is pruned.

        The groups are ``arc``, as of `ArcFactored.batch`, and ``sibling`` and ``grandparent``, with
        a number per part: ``batch.positions("sibling")`` has their tokens.

        Parameters
        ----------
        lengths : array-like of int, shape (instances,)
        mask : array-like of bool, shape (instances, width)
            Instead of `lengths`: true at tokens.

        Raises
        ------
        ArgumentError
        """
        return self.batch_of(Sizes.of(lengths, mask), labels=())

    def batch_of(self, sizes: Sizes, **options: Any) -> TreeBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        return batch_of_trees(self, sizes, options)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold arcs, and of the siblings and grandparents among them."""
        from structopt.kernels.loopy.output_parts import list_output

        trees = trees_of(encoded)
        tokens, chosen = trees.offsets, gold_arcs(trees).astype(np.int64)
        ends, z = (
            np.zeros(len(trees), np.int64),
            np.zeros(int(np.diff(structure.parts).max(initial=0))),
        )
        list_output(structure.record, tokens, chosen, z, ends, np.zeros(0, np.int32))
        parts = np.zeros(int(ends[-1]) if len(ends) else 0, np.int32)
        list_output(structure.record, tokens, chosen, z, ends, parts)
        return SparseVectors(np.concatenate([[0], ends]), parts, np.ones(len(parts)))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Arcs that gold may have."""
        return allowed_arcs(trees_of(encoded), structure, "arc", 0)

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """The tokens that a part joins."""
        tokens = structure.part_tokens[JOINED.get(group.name, group.name)]
        return joined_tokens(encoded, tokens[position].tolist())

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """Head (0 for the root, else counted from 1) of every token, and -1 for its relation; shape
        (tokens, 2).
        """
        return chosen_heads(trees_of(encoded), structure, outputs, self.views[name])

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """Probability of every head of every word, shape (words, words + 1) for each sentence;
        column 0 is the root.
        """
        return head_tables(structure, marginals)

    def no_probabilities(self, encoded: Encoded) -> Array:
        """Return no rows, and the column of the root."""
        return np.zeros((0, 1))

    def choices(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[dict[str, Array]]:
        """Every arc, and its probability."""
        return arc_choices(structure, marginals)

    def _tree(self, tokens: Array, arcs: Array, joined: Array) -> FactorList:
        """One TREE factor a sentence, over all its arcs, given the two tokens that each joins."""
        from structopt.kernels.loopy.factors import TREE

        sentences, lengths = arcs[tokens], np.diff(tokens)
        sizes = np.diff(sentences)
        once = np.arange(len(tokens), dtype=np.int64)
        options = np.array(
            [[int(n), self.single_root, self.projective] for n in lengths], np.int32
        ).reshape(-1)
        heads, modifiers = joined.T
        ends = np.stack([modifiers, np.where(heads < 0, modifiers, heads)], axis=1).astype(np.int32)
        extra = interleaved([Ragged(3 * once, options), Ragged(2 * sentences, ends.reshape(-1))])
        linked, nothing = Ragged(sentences, numbers(sentences)), np.zeros(len(sizes), np.int64)
        return FactorList(once, TREE, sizes, nothing, 3 + 2 * sizes, linked, extra)

    def _siblings(
        self, tokens: Array, arcs: Array, heads: Array, modifiers: Array
    ) -> PairedArcs | None:
        """List head automata, or the pairs of arcs on one side."""
        from structopt.kernels.loopy.factors import AUTOMATON
        from structopt.kernels.trees import second_order as kernels

        if self.siblings == "none":
            return None
        modifiers = np.ascontiguousarray(modifiers)
        sides, order = (
            np.zeros(2 * int(tokens[-1]) + len(tokens), np.int64),
            np.zeros(len(heads), np.int32),
        )
        kernels.sort_by_head(tokens, arcs, heads, sides, order)
        k, bounds = np.diff(sides), 2 * tokens + np.arange(len(tokens))  # sides of each sentence
        parts = (
            np.where(k > 0, (k + 1) * (k + 2) // 2, 0)
            if self.siblings == "consecutive"
            else k * (k - 1) // 2
        )
        offsets = ends_of(parts)[bounds]
        _refuse_many_pairs(f"siblings={self.siblings!r}", int(offsets[-1]))
        joined = np.empty((int(offsets[-1]), 3), np.int32)
        if self.siblings == "all":
            linked = np.empty(2 * len(joined), np.int32)
            kernels.all_siblings(tokens, arcs, sides, order, modifiers, linked, joined.reshape(-1))
            return PairedArcs(pairs(offsets, linked), offsets, joined)
        kernels.consecutive_siblings(tokens, arcs, sides, order, modifiers, joined.reshape(-1))
        used = k > 0
        factors = FactorList(
            ends_of(used)[bounds],
            AUTOMATON,
            k[used],
            parts[used],
            np.zeros(int(used.sum()), np.int64),
            Ragged(arcs[tokens], order),
            np.zeros(0, np.int32),
        )
        return PairedArcs(factors, offsets, joined)

    def _grandparents(
        self, tokens: Array, arcs: Array, heads: Array, modifiers: Array
    ) -> PairedArcs | None:
        """List the pairs of arcs g -> h -> m."""
        from structopt.kernels.trees.second_order import grandparents

        if not self.grandparents:
            return None
        ends, none = np.zeros(len(tokens) - 1, np.int64), np.zeros(0, np.int32)
        grandparents(tokens, arcs, heads, ends, none, none)
        offsets = np.concatenate([[0], ends])
        _refuse_many_pairs("grandparents=True", int(offsets[-1]))
        linked, joined = (
            np.empty(2 * int(offsets[-1]), np.int32),
            np.empty((int(offsets[-1]), 3), np.int32),
        )
        grandparents(tokens, arcs, heads, ends, linked, joined.reshape(-1))
        return PairedArcs(pairs(offsets, linked), offsets, joined)


def _refuse_many_pairs(setting: str, count: int) -> None:
    """Refuse pairs of arcs that do not fit into memory."""
    refuse_what_does_not_fit(
        PAIR_BYTES * count,
        f"`{setting}` makes {count:,} pairs of arcs, which",
        "Set max_heads=10 to prune arcs, divide long sentences, or use fewer (`max_words`, "
        "`limit`).",
        {
            **dict.fromkeys(("siblings", "grandparents", "max_heads"), "factor_graph"),
            **dict.fromkeys(("max_words", "limit"), "task"),
        },
    )
