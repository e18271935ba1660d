"""Dependency trees whose arcs are scored one by one."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

import numpy as np

from structopt.core.data import ROOT, Encoded, EncodedTrees, PartGroup, SparseVectors, Structure, part_offsets
from structopt.core.factor_graph import FactorGraph, GraphTraits
from structopt.factor_graph.corpora import trees_of
from structopt.factor_graph.part_groups import check_cost_group
from structopt.factor_graph.repair import admitted
from structopt.kernels.record import Array


class ArcFactored(FactorGraph):
    """Every token has one head, and the arcs form a tree: one part an arc, and with labels one a label of an arc.

    Parameters
    ----------
    projective : bool
        Whether arcs may not cross: inference by Eisner's algorithm, O(n^3), instead of Chu-Liu-Edmonds, O(n^2), and the
        matrix-tree theorem, O(n^3).
    labeled : bool
        Whether arcs carry a relation, so that an output is heads and relations.
    single_root : bool
        Whether exactly one token depends on the root; else one or several.
    repair : str
        What becomes of training sentences whose gold tree is none of these trees: ``lift`` moves arcs upwards until it is,
        ``drop`` leaves the sentence out, ``refuse`` ends with an error.

    Notes
    -----
    McDonald et al. (2005); Martins et al. (2010), section 5. Marginals: Koo et al. (2007), Smith and Smith (2007).
    """

    def __init__(
        self,
        projective: bool = False,
        labeled: bool = False,
        single_root: bool = True,
        repair: Literal["lift", "drop", "refuse"] = "lift",
    ) -> None:
        self.projective, self.labeled, self.single_root, self.repair = projective, labeled, single_root, repair

    @property
    def traits(self) -> GraphTraits:
        """Its kind is ``projective`` or ``arborescence``: which algorithms find its trees."""
        return GraphTraits("projective" if self.projective else "arborescence", anchored=True, labeled=self.labeled)

    def admit(self, encoded: Encoded) -> tuple[EncodedTrees, str]:
        """Return the training corpus with gold trees that the graph allows, and what had to be changed for it."""
        return admitted(trees_of(encoded), self.projective, self.single_root, self.repair)

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the arcs of every sentence, and the labels on them; no part is tied, whether `positional` or not."""
        from structopt.kernels.arcs import ARCS

        trees = trees_of(encoded)
        arcs, heads = candidate_arcs(trees)
        owned = arcs[trees.offsets]  # where the arcs of each sentence begin
        L = len(trees.labels) if self.labeled else 0
        arc = PartGroup("arc", 1, owned)
        groups = (PartGroup("label", L, owned), arc) if L else (arc,)
        lengths = np.diff(trees.offsets)
        algorithms = import_module(f"structopt.kernels.{self.kind}")
        return Structure(
            record=ARCS.pack(labels=L, single_root=self.single_root, tokens=trees.offsets, arcs=arcs, heads=heads),
            groups=groups,
            parts=part_offsets(groups),
            kind=self.kind,
            memory=np.zeros(len(trees) + 1, np.int64),
            work=algorithms.scratch(int(lengths.max(initial=1))),
            choices=arcs * max(L, 1),
            places={"arc": arc_places(trees.offsets, arcs, heads)},
        )

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold arcs, and of the labels on them."""
        trees = trees_of(encoded)
        arcs, tokens = gold_arcs(trees, structure), trees.offsets
        if not self.labeled:
            return SparseVectors(tokens, arcs.astype(np.int32), np.ones(len(arcs)))
        assert trees.gold is not None
        L, sentence = len(trees.labels), np.repeat(np.arange(len(trees)), np.diff(tokens))
        labels = arcs * L + trees.gold
        unlabeled = np.diff(structure.groups[1].offsets)[sentence] * L + arcs
        parts = np.stack([labels, unlabeled], axis=1).ravel()
        return SparseVectors(2 * tokens, parts.astype(np.int32), np.ones(len(parts)))

    def cost(self, encoded: Encoded, structure: Structure, weights: Array, group: str = "") -> SparseVectors:
        """p of sum_m weights_m [wrong at m] = p^T z' + q: -weights_m at the gold part of the group, 0 elsewhere.

        In the group ``arc`` a token is wrong where its head is; in ``label`` where its head or its relation is.
        """
        check_cost_group(group, structure)
        trees, gold = trees_of(encoded), self.gold(encoded, structure)
        every = 2 if self.labeled else 1
        begin = 1 if self.labeled and group == "arc" else 0
        return SparseVectors(trees.offsets, gold.parts[begin::every], -weights)

    def outputs(self, encoded: Encoded, structure: Structure, assignments: Array) -> Array:
        """Head (0 for the root, else counted from 1) and relation number (-1: none) of every token, shape (tokens, 2)."""
        trees, L = trees_of(encoded), len(encoded.labels) if self.labeled else 0
        heads = chosen_heads(trees, structure, assignments // max(L, 1))
        relations = assignments % L if L else np.full(len(assignments), -1)
        return np.stack([heads, relations], axis=1).astype(np.int32)


def candidate_arcs(trees: EncodedTrees) -> tuple[Array, Array]:
    """Where the candidate arcs of each token begin, and their heads: all of the sentence, where no candidates are given."""
    if trees.candidates is not None:
        return trees.candidates
    lengths = np.diff(trees.offsets)
    arcs = np.concatenate([[0], np.cumsum(np.repeat(lengths, lengths))]).astype(np.int64)
    heads = np.concatenate([np.zeros(0, np.int32), *(np.tile(np.arange(n, dtype=np.int32), n) for n in lengths.tolist())])
    return arcs, heads


def arc_places(tokens: Array, arcs: Array, heads: Array) -> Array:
    """Head (or ROOT) and modifier of every candidate arc, shape (arcs, 2)."""
    position = np.arange(len(arcs) - 1) - np.repeat(tokens[:-1], np.diff(tokens))
    modifiers = np.repeat(position, np.diff(arcs)).astype(np.int32)
    return np.stack([np.where(heads == modifiers, np.int32(ROOT), heads), modifiers], axis=1)


def gold_arcs(trees: EncodedTrees, structure: Structure) -> Array:
    """Number, within its sentence, of the gold arc of every token."""
    assert trees.heads is not None and structure.choices is not None
    arcs, heads = candidate_arcs(trees)
    token = np.repeat(np.arange(len(trees.heads)), np.diff(arcs))
    found = np.flatnonzero(heads == trees.heads[token])
    assert len(found) == len(trees.heads), "a gold arc is no candidate"
    return np.asarray(found - np.repeat(arcs[trees.offsets[:-1]], np.diff(trees.offsets)))


def chosen_heads(trees: EncodedTrees, structure: Structure, chosen: Array) -> Array:
    """Head of every token from the number of the chosen candidate: 0 for the root, else counted from 1."""
    arcs, heads = candidate_arcs(trees)
    found = heads[arcs[:-1] + chosen]
    position = np.arange(len(found)) - np.repeat(trees.offsets[:-1], np.diff(trees.offsets))
    return np.asarray(np.where(found == position, 0, found + 1))
