"""Batches of sentences whose outputs are dependency trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structopt.core.data.encoded import ROOT, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.factor_graph import FactorGraph
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.errors import ArgumentError
from structopt.factor_graph.batches import (
    Positions,
    counted_layout,
    layout_of,
    read_integers,
    refuse_rows,
)
from structopt.kernels.waist.record import Array


@dataclass(frozen=True, eq=False)
class TreeBatch(Batch):
    """Sentences whose outputs are dependency trees."""

    def gold(self, heads: Any, relations: Any = None) -> Gold:
        """Return gold outputs.

        Parameters
        ----------
        heads : array-like of int
            Head of each token: 0 for the root, m for token m counted from 1, -1 unknown. Flat,
            padded, or an array per instance.
        relations : array-like of int, or None
            Relation of each token, -1 unknown; only if arcs carry relations.

        Raises
        ------
        ArgumentError
            For heads beyond the sentence, and for relations that are missing or superfluous.
        """
        labeled = "label" in self.layouts
        if labeled != (relations is not None):
            raise ArgumentError(
                "must be given if arcs carry relations, and only then.", parameter="relations"
            )
        tokens = self.variable_layout
        encoded = self.encoded
        assert isinstance(encoded, EncodedTrees)
        given = read_integers("heads", heads, tokens, None)
        lengths = np.repeat(self.sizes.lengths, self.sizes.lengths)
        own = numbers_within(self.sizes.lengths)
        refuse_rows("heads", given <= lengths, "a head beyond the sentence.", tokens)
        refuse_rows("heads", given - 1 != own, "itself as its head.", tokens)
        free = given < 0
        # a token's own position means the root
        positions = np.where(given <= 0, own, given - 1).astype(np.int32)
        numbers = np.zeros(len(given), np.int32)
        sets = None
        if labeled:
            L = len(encoded.labels)
            numbers = read_integers("relations", relations, tokens, L).astype(np.int32)
            if free.any() or (numbers < 0).any():
                sets = np.eye(L, dtype=bool)[numbers]
                sets[numbers < 0] = True
            numbers = np.maximum(numbers, 0)
        elif free.any():
            sets = np.ones((len(given), max(1, len(encoded.labels))), bool)
        encoded = replace(
            encoded,
            heads=positions,
            gold=numbers,
            gold_sets=sets,
            free_heads=free if free.any() else None,
        )
        return Gold(self, encoded, self.graph.targets(encoded, self.structure))

    def views(self, outputs: SparseVectors) -> dict[str, Array]:
        """Return the head of each token (0: the root, else from 1), and its relation."""
        table = self.graph.view("heads", self.encoded, self.structure, outputs).astype(np.int64)
        heads = {"heads": table[:, 0]}
        return heads | {"relations": table[:, 1]} if "label" in self.layouts else heads


def batch_of_trees(graph: FactorGraph, sizes: Sizes, options: Mapping[str, Any]) -> TreeBatch:
    """Return a batch of sentences; ``labels`` of the options are the relations."""
    offsets, names = sizes.offsets, options["labels"]
    codes = np.zeros((int(offsets[-1]), 0), np.int32)
    encoded = EncodedTrees(offsets, {}, names, columns=(), codes=codes)
    return TreeBatch(graph, encoded, sizes, options, arc_layouts)


def arc_layouts(batch: TreeBatch) -> dict[str, GroupLayout]:
    """Return the layouts of arcs and of the relations on them: rows are modifiers, column 0 is the
    root, column m + 1 token m. Parts that join two arcs are numbered.
    """
    structure, sizes, labels = batch.structure, batch.sizes, len(batch.encoded.labels)
    lengths = sizes.lengths[sizes.kept]
    groups = {group.name: group for group in structure.groups}
    head, modifier = structure.part_tokens["arc"].astype(np.int64).T
    root = head == ROOT
    coordinates = np.stack([modifier, np.where(root, 0, head + 1)], axis=1)
    arcs = np.repeat(np.arange(len(lengths)), np.diff(groups["arc"].offsets))
    begins = ends_of(lengths)[arcs]
    padded = np.stack(
        [
            sizes.columns[begins + modifier],
            np.where(root, 0, sizes.columns[begins + np.where(root, modifier, head)] + 1),
        ],
        axis=1,
    )
    extents = np.stack([lengths, lengths + 1], axis=1)
    places = Positions(coordinates, padded, extents, (sizes.width, sizes.width + 1))
    cells: dict[str, tuple[int, ...]] = {"arc": (), "label": (labels,)}
    return {
        name: layout_of(structure, group, sizes, cells[name], places)
        if name in cells
        else counted_layout(structure, group, sizes, (), structure.part_tokens[name])
        for name, group in groups.items()
    }
