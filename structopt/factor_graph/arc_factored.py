"""Dependency trees whose arcs are scored one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from structopt.core.data.encoded import ROOT, Encoded, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts
from structopt.core.factor_graph import CandidatePlan, FactorGraph, GraphTraits
from structopt.core.memory import NUMBER, refuse_what_does_not_fit
from structopt.core.parts.sizes import Sizes
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.structure_kind import StructureKind
from structopt.errors import ArgumentError
from structopt.factor_graph.arc_plan import FEW_WORDS, ArcPlan
from structopt.factor_graph.batches import label_names
from structopt.factor_graph.kinds import ARBORESCENCE, PROJECTIVE
from structopt.factor_graph.token_places import JOINED, joined_tokens
from structopt.factor_graph.tree_batches import TreeBatch, batch_of_trees
from structopt.factor_graph.tree_corpora import trees_of
from structopt.factor_graph.tree_repair import admitted
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.kernels.waist.signatures import Kernels

ARC_BYTES = 40
"""Approximate bytes per arc while a graph is built."""
VECTORS = 6
"""Vectors over the parts of the largest instance, in the scratch of one thread."""


class ArcFactored(FactorGraph):
    """Every token has one head, and the arcs form a tree: one part an arc, and with labels one a
    label of an arc.

    Parameters
    ----------
    projective : bool
        Whether arcs may not cross: inference by Eisner's algorithm, O(n^3), instead of
        Chu-Liu-Edmonds, O(n^2), and the matrix-tree theorem, O(n^3).
    labeled : bool
        Whether arcs carry a relation, so that an output is heads and relations.
    single_root : bool
        Whether exactly one token depends on the root; else one or several.
    repair : str
        What becomes of training sentences whose gold tree is none of these trees: ``lift`` moves
        arcs upwards until it is, ``drop`` leaves the sentence out, ``refuse`` ends with an error.

    Notes
    -----
    McDonald et al. (2005); Martins et al. (2010), section 5. Marginals: Koo et al. (2007), Smith
    and Smith (2007).
    """

    def __init__(
        self,
        projective: bool = False,
        labeled: bool = False,
        single_root: bool = True,
        repair: Literal["lift", "drop", "refuse"] = "lift",
    ) -> None:
        self.projective, self.labeled, self.single_root, self.repair = (
            projective,
            labeled,
            single_root,
            repair,
        )

    @property
    def traits(self) -> GraphTraits:
        """The kind, by which the algorithms are chosen, follows from `projective`."""
        return GraphTraits(
            PROJECTIVE if self.projective else ARBORESCENCE, anchored=True, labeled=self.labeled
        )

    @property
    def views(self) -> Mapping[str, str]:
        """The head of every token, and its relation."""
        return {"heads": "label" if self.labeled else "arc"}

    @property
    def roles(self) -> Mapping[str, str]:
        """A token is wrong where its head is (``arc``), or where its head or its relation is
        (``labeled_arc``).
        """
        return {**super().roles, "arc": "arc", **({"labeled_arc": "label"} if self.labeled else {})}

    def admit(self, encoded: Encoded) -> tuple[EncodedTrees, str]:
        """Return the training corpus with gold trees that the graph allows, and what had to be
        changed for it.
        """
        return admitted(trees_of(encoded), self.projective, self.single_root, self.repair)

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the arcs of every sentence, and the labels on them; no part is tied, whether
        `positional` or not.
        """
        trees = trees_of(encoded)
        L = len(trees.labels) if self.labeled else 0
        refuse_many_arcs(trees, L)
        words = int(trees.offsets[-1])
        if len(trees) == 1 and words <= FEW_WORDS and trees.candidates is None:
            return _one_sentence(words, L, self.single_root, self.kind)
        return _structure(trees.offsets, candidate_arcs(trees), L, self.single_root, self.kind)

    def view_plan(
        self, scorer: Scorer, kernels: Kernels, candidates: CandidatePlan | None, encoded: Encoded
    ) -> ArcPlan | None:
        """See `structopt.core.factor_graph.FactorGraph`: for features that can be rewritten."""
        # a plugin's class may have other parts
        if type(self) is not ArcFactored or not isinstance(scorer, SparseFeatures):
            return None
        record = scorer.scores_record(encoded, self.build(encoded))
        return ArcPlan(self.build, scorer, kernels) if scorer.rewrite(record, encoded) else None

    def batch(
        self, lengths: Any = None, *, mask: Any = None, labels: int | Sequence[str] | None = None
    ) -> TreeBatch:
        """Return a batch of sentences.

        The groups are ``arc``, and ``label`` if arcs carry relations: tables (n, n + 1) and (n,
        n + 1, relations), whose rows are the modifiers. Column 0 is the root, and column m + 1 is
        token m.

        Parameters
        ----------
        lengths : array-like of int, shape (instances,)
        mask : array-like of bool, shape (instances, width)
            Instead of `lengths`: true at tokens.
        labels : int, or sequence of str, or None
            The relations, if arcs carry them.

        Raises
        ------
        ArgumentError
        """
        if self.labeled != (labels is not None):
            raise ArgumentError(
                "must be given if the graph has labeled=True, and only then.",
                parameter="labels",
                value=labels,
            )
        names = () if labels is None else label_names(labels)
        return self.batch_of(Sizes.of(lengths, mask), labels=names)

    def batch_of(self, sizes: Sizes, **options: Any) -> TreeBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        return batch_of_trees(self, sizes, options)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold arcs, and of the labels on them."""
        trees = trees_of(encoded)
        arcs, tokens = gold_arcs(trees), trees.offsets
        if not self.labeled:
            return SparseVectors(tokens, arcs.astype(np.int32), np.ones(len(arcs)))
        assert trees.gold is not None
        L, sentence = len(trees.labels), np.repeat(np.arange(len(trees)), np.diff(tokens))
        labels = arcs * L + trees.gold
        unlabeled = np.diff(structure.groups[1].offsets)[sentence] * L + arcs
        parts = np.stack([labels, unlabeled], axis=1).ravel()
        return SparseVectors(2 * tokens, parts.astype(np.int32), np.ones(len(parts)))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Arcs that gold may have, or labels on them."""
        labeled = self.labeled and role != "arc"
        return allowed_arcs(
            trees_of(encoded), structure, self.roles[role], len(encoded.labels) if labeled else 0
        )

    def restricted(self, encoded: Encoded, structure: Structure) -> AllowedParts | None:
        """Relations that are kept, on all arcs to their words; None where arcs carry none. Heads
        are kept by `candidates`.
        """
        trees = trees_of(encoded)
        if not self.labeled or trees.allowed is None:
            return None
        return kept_relations(trees, structure, trees.allowed)

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """The tokens that a part joins."""
        tokens = structure.part_tokens[JOINED.get(group.name, group.name)]
        return joined_tokens(encoded, tokens[position].tolist())

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """Head (0 for the root, else counted from 1) and relation number (-1: none) of every token,
        shape (tokens, 2).
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
        """Every arc with every relation, and its probability."""
        return arc_choices(structure, marginals)


@lru_cache(maxsize=2 * FEW_WORDS)
def _one_sentence(words: int, labels: int, single_root: bool, kind: StructureKind) -> Structure:
    """Return the structure of any sentence of so many words without given candidates."""
    offsets = np.array([0, words])
    arcs = np.arange(words + 1) * words, np.tile(np.arange(words, dtype=np.int32), words)
    return _structure(offsets, arcs, labels, single_root, kind)


def _structure(
    tokens: Array,
    candidates: tuple[Array, Array],
    labels: int,
    single_root: bool,
    kind: StructureKind,
) -> Structure:
    """Lay out the candidate arcs of sentences, given where their tokens begin."""
    from structopt.kernels.trees.arcs import ARCS

    arcs, heads = candidates
    sentences = arcs[tokens]  # where the arcs of each sentence begin
    arc = PartGroup("arc", 1, sentences)
    groups = (PartGroup("label", labels, sentences), arc) if labels else (arc,)
    algorithms = import_module(f"structopt.kernels.trees.{kind}")
    longest = int(np.diff(tokens).max(initial=1))
    return Structure(
        record=ARCS.pack(
            labels=labels, single_root=single_root, tokens=tokens, arcs=arcs, heads=heads
        ),
        groups=groups,
        parts=part_offsets(groups),
        kind=kind,
        memory=np.zeros(len(tokens), np.int64),
        work=algorithms.scratch(longest),
        active=longest * len(groups),
        part_tokens={"arc": arc_tokens(tokens, arcs, heads)},
    )


def refuse_many_arcs(trees: EncodedTrees, labels: int) -> None:
    """Refuse sentences whose arcs, and labels on them, do not fit into memory.

    Raises
    ------
    ConfigError
    """
    lengths = np.diff(trees.offsets)
    count = int((lengths * lengths).sum()) if trees.candidates is None else len(trees.candidates[1])
    longest = int(lengths.max(initial=0))
    refuse_what_does_not_fit(
        ARC_BYTES * count + VECTORS * NUMBER * (1 + labels) * longest**2,
        f"{count:,} arcs of {len(trees):,} sentences with up to {longest:,} words"
        + (f" and {labels} relations" if labels else ""),
        "Divide long sentences, or use fewer (`max_words`, `limit`).",
        dict.fromkeys(("max_words", "limit"), "task"),
    )


def candidate_arcs(trees: EncodedTrees) -> tuple[Array, Array]:
    """Offsets of the candidate arcs of each token, and their heads: all tokens of the sentence,
    where no candidates are given.
    """
    if trees.candidates is not None:
        return trees.candidates
    lengths = np.diff(trees.offsets)
    arcs = np.concatenate([[0], np.cumsum(np.repeat(lengths, lengths))]).astype(np.int64)
    heads = np.concatenate(
        [
            np.zeros(0, np.int32),
            *(np.tile(np.arange(n, dtype=np.int32), n) for n in lengths.tolist()),
        ]
    )
    return arcs, heads


def arc_tokens(tokens: Array, arcs: Array, heads: Array) -> Array:
    """Head (or ROOT) and modifier of every candidate arc, shape (arcs, 2)."""
    position = np.arange(len(arcs) - 1) - np.repeat(tokens[:-1], np.diff(tokens))
    modifiers = np.repeat(position, np.diff(arcs)).astype(np.int32)
    return np.stack([np.where(heads == modifiers, np.int32(ROOT), heads), modifiers], axis=1)


def gold_arcs(trees: EncodedTrees) -> Array:
    """Index, within its sentence, of the gold arc of every token."""
    assert trees.heads is not None
    arcs, heads = candidate_arcs(trees)
    token = np.repeat(np.arange(len(trees.heads)), np.diff(arcs))
    gold = np.flatnonzero(heads == trees.heads[token])
    assert len(gold) == len(trees.heads), "a gold arc is no candidate"
    return np.asarray(gold - np.repeat(arcs[trees.offsets[:-1]], np.diff(trees.offsets)))


def allowed_arcs(
    trees: EncodedTrees, structure: Structure, group: str, labels: int
) -> AllowedParts:
    """The parts of a group that gold outputs may have, of every token: its arcs, or where `labels`
    > 0 the labels on them.

    Where the gold head is not known all arcs are allowed; where the relation is not, all labels.
    """
    assert trees.heads is not None and trees.gold_sets is not None
    arcs, heads = candidate_arcs(trees)
    free = np.zeros(len(trees.heads), bool) if trees.free_heads is None else trees.free_heads
    token = np.repeat(np.arange(len(trees.heads)), np.diff(arcs))
    possible = free[token] | (heads == trees.heads[token])
    if labels:
        possible = possible[:, None] & trees.gold_sets[token]
    part, wide = np.flatnonzero(possible), max(labels, 1)
    counts = np.bincount(token[part // wide], minlength=len(trees.heads))
    sentence = np.repeat(np.arange(len(trees)), np.diff(trees.offsets))
    shift = (structure.spans(group)[0] - arcs[trees.offsets[:-1]] * wide)[sentence]
    starts, ends = arcs[:-1] * wide + shift, arcs[1:] * wide + shift
    whole = (counts == ends - starts) & (counts > 1)
    kept = ~whole[token[part // wide]]
    offsets = np.concatenate([[0], np.cumsum(np.where(whole, 0, counts))]).astype(np.int64)
    parts = (part + shift[token[part // wide]])[kept].astype(np.int32)
    ends = np.where(whole, starts, ends)
    return AllowedParts(
        trees.offsets.astype(np.int64),
        starts.astype(np.int32),
        ends.astype(np.int32),
        offsets,
        parts,
    )


def kept_relations(trees: EncodedTrees, structure: Structure, relations: Array) -> AllowedParts:
    """The labels on arcs that outputs may have, given the relations that each token may have: bool,
    shape (tokens, relations).
    """
    arcs, _ = candidate_arcs(trees)
    token, L = np.repeat(np.arange(len(arcs) - 1), np.diff(arcs)), relations.shape[1]
    possible = relations[token]
    free = np.asarray(relations.all(axis=1))
    part = np.flatnonzero(possible & ~free[token][:, None])
    sentence = np.repeat(np.arange(len(trees)), np.diff(trees.offsets))
    shift = (structure.spans("label")[0] - arcs[trees.offsets[:-1]] * L)[sentence]
    starts = arcs[:-1] * L + shift
    ends = np.where(free, starts, arcs[1:] * L + shift)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(token[part // L], minlength=len(free)))]
    ).astype(np.int64)
    parts = (part + shift[token[part // L]]).astype(np.int32)
    return AllowedParts(
        trees.offsets.astype(np.int64),
        starts.astype(np.int32),
        ends.astype(np.int32),
        offsets,
        parts,
    )


def chosen_heads(
    trees: EncodedTrees, structure: Structure, outputs: SparseVectors, group: str
) -> Array:
    """Head (0 for the root, else counted from 1) and relation number (-1: none) of every token,
    shape (tokens, 2).
    """
    parts, _ = structure.active_in(group, outputs)
    L = next(one.width for one in structure.groups if one.name == group)
    arcs, relations = np.divmod(parts, L)
    heads, modifiers = structure.part_tokens["arc"][arcs].T
    if len(trees) > 1:
        sentence = np.searchsorted(structure.spans("arc")[1], arcs, "right") - 1
        modifiers = modifiers + trees.offsets[sentence]
    chosen = np.zeros((int(trees.offsets[-1]), 2), np.int32)
    chosen[modifiers, 0] = heads + 1  # the root is -1
    chosen[modifiers, 1] = relations if group == "label" else -1
    return chosen


def head_tables(structure: Structure, marginals: list[Array]) -> list[Array]:
    """Probability of every head of every word, shape (words, words + 1) for each sentence; column 0
    is the root.
    """
    offsets = structure.spans("arc")[1].tolist()
    tables = []
    for begin, end, of_arcs in zip(offsets, offsets[1:], marginals, strict=False):
        head, modifier = structure.part_tokens["arc"][begin:end].T
        words = int(modifier[-1]) + 1
        table = np.zeros((words, words + 1))
        table[modifier, np.where(head == ROOT, 0, head + 1)] = of_arcs.reshape(end - begin, -1).sum(
            axis=1
        )
        tables.append(table)
    return tables


def arc_choices(structure: Structure, marginals: list[Array]) -> list[dict[str, Array]]:
    """Every candidate arc with every label on it, and its probability: see
    `structopt.core.factor_graph.FactorGraph.choices`.
    """
    offsets, labeled = (
        structure.spans("arc")[1].tolist(),
        any(group.name == "label" for group in structure.groups),
    )
    columns = []
    for begin, end, of_parts in zip(offsets, offsets[1:], marginals, strict=False):
        head, modifier = structure.part_tokens["arc"][begin:end].T.astype(np.int64)
        L = len(of_parts) // max(end - begin, 1)
        labels = np.tile(np.arange(L), end - begin) if labeled else np.full(end - begin, -1)
        heads = np.where(head == ROOT, 0, head + 1)
        columns.append(
            {
                "modifier": np.repeat(modifier + 1, L),
                "head": np.repeat(heads, L),
                "label": labels,
                "probability": of_parts,
            }
        )
    return columns
