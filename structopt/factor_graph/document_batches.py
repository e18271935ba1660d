"""Batches of documents: mentions that choose antecedents, and sentences of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import EncodedMentions, EncodedTexts
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.factor_graph.batches import (
    Positions,
    counted_layout,
    layout_of,
    read_integers,
    refuse_rows,
)


@dataclass(frozen=True, eq=False)
class DocumentBatch(Batch):
    """Documents with a choice per mention, or per sentence."""

    def gold(self, choices: Any) -> Gold:
        """Return gold outputs.

        Parameters
        ----------
        choices : array-like of int
            For coreference, an antecedent of each mention, counted from 0 in the document, or -1 if
            the mention starts an entity: any earlier mention of the entity counts as right. For
            summaries, 1 for each sentence of the summary and else 0.

        Raises
        ------
        ArgumentError
        """
        mentions = isinstance(self.encoded, EncodedMentions)
        layout = self.variable_layout
        given = read_integers("choices", choices, layout, None if mentions else 2)
        numbers = given
        if mentions:
            later = given < layout.coordinates[:, 0]
            refuse_rows("choices", later, "an antecedent that is not before it.", layout)
            numbers = np.arange(len(given))
            begins = layout.offsets[layout.instances]
            for mention in np.flatnonzero(given >= 0).tolist():
                numbers[mention] = numbers[begins[mention] + given[mention]]
        else:
            refuse_rows("choices", given >= 0, "neither 0 nor 1.", layout)
        encoded = replace(self.encoded, gold=numbers.astype(np.int32))
        return Gold(self, encoded, self.graph.targets(encoded, self.structure))


def batch_of_mentions(graph: FactorGraph, sizes: Sizes, sentences: Sequence[Any]) -> DocumentBatch:
    """Return a batch of documents, given the sentence of each mention."""
    listed = [
        checks.integers("sentences", one, 0, shape=(int(length),), place=checks.in_instance(i))
        for i, (one, length) in enumerate(zip(sentences, sizes.lengths.tolist(), strict=True))
    ]
    numbers = np.concatenate([np.zeros(0, np.int64), *listed]).astype(np.int32)
    none = np.zeros((len(numbers), 0), np.int32)
    encoded = EncodedMentions(
        sizes.offsets,
        {},
        ("new", "link"),
        columns=(),
        codes=none,
        compared_columns=(),
        compared=none,
        sentences=numbers,
        spans=np.repeat(numbers_within(sizes.lengths)[:, None], 2, axis=1).astype(np.int32),
    )
    return DocumentBatch(graph, encoded, sizes, {"sentences": list(sentences)}, _layouts)


def batch_of_texts(
    graph: FactorGraph,
    sizes: Sizes,
    lengths: Sequence[Any],
    budgets: Sequence[int],
    concepts: Sequence[Any],
) -> DocumentBatch:
    """Return a batch of texts.

    Parameters
    ----------
    graph : FactorGraph
    sizes : Sizes
        Sentences of each text.
    lengths : sequence of array-like of int
        Length of each sentence.
    budgets : sequence of int
        The most that a summary may take.
    concepts : sequence of sequences of sequences of int
        The sentences that have each concept, text by text.
    """
    count = len(sizes.lengths)
    limits = checks.integers("budgets", budgets, 0, shape=(count,), place=checks.of_instance)
    kept = sizes.kept.tolist()
    own = [
        checks.integers("lengths", lengths[i], 0, shape=(int(n),), place=checks.in_instance(i))
        for i, n in enumerate(sizes.lengths.tolist())
    ]
    holders = [
        [
            np.unique(
                checks.integers(
                    "concepts",
                    one,
                    0,
                    int(sizes.lengths[i]) - 1,
                    (None,),
                    place=checks.in_instance(i),
                )
            )
            for one in concepts[i]
        ]
        for i in kept
    ]
    flat = [one for text in holders for one in text]
    encoded = EncodedTexts(
        sizes.offsets,
        {},
        ("out", "in"),
        lengths=np.concatenate([np.zeros(0, np.int64), *own]).astype(np.int32),
        budgets=limits[sizes.kept].astype(np.int32),
        bigrams=ends_of(np.array([len(text) for text in holders], np.int64)),
        holders=(
            ends_of(np.array([len(one) for one in flat], np.int64)),
            np.concatenate([np.zeros(0, np.int64), *flat]).astype(np.int32),
        ),
    )
    options = {"lengths": list(lengths), "budgets": list(budgets), "concepts": list(concepts)}
    return DocumentBatch(graph, encoded, sizes, options, _layouts)


def _layouts(batch: DocumentBatch) -> dict[str, GroupLayout]:
    """Layouts of links, or of sentences and concepts."""
    structure, sizes, layouts = batch.structure, batch.sizes, dict[str, GroupLayout]()
    for group in structure.groups:
        if group.name == "link":
            layouts["link"] = _link_layout(structure, sizes)
        else:
            numbers = numbers_within(np.diff(group.offsets))[:, None]
            layouts[group.name] = counted_layout(structure, group, sizes, (), numbers)
    return layouts


def _link_layout(structure: Structure, sizes: Sizes) -> GroupLayout:
    """Return the layout of links: rows are mentions, column 0 starts an entity, column j + 1 is
    the antecedent j.
    """
    from structopt.kernels.independent.record import INDEPENDENT

    parts = INDEPENDENT.open(structure.record).parts
    lengths = sizes.lengths[sizes.kept]
    mention, reach = numbers_within(lengths), np.diff(parts) - 1
    row = np.repeat(mention, reach + 1)
    place = numbers_within(reach + 1)
    column = np.where(place == 0, 0, row - np.repeat(reach, reach + 1) + place)
    coordinates = np.stack([row, column], axis=1)
    extents = np.stack([lengths, lengths + 1], axis=1)
    places = Positions(coordinates, coordinates, extents, (sizes.width, sizes.width + 1))
    return layout_of(structure, structure.groups[0], sizes, (), places)
