"""Features of dependency trees: templates over arcs and their labels, siblings and grandparents,
hashed to weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.scorer import BatchMap, FeatureKernels, FeatureScratch, Matches, Scorer
from structopt.core.weights.coordinates import Named, Names, Occurring
from structopt.errors import ConfigError
from structopt.features.support import (
    OTHER_FEATURES,
    Supported,
    packed_support,
    refuse_masks,
    restored_support,
)
from structopt.features.template_layout import (
    KINDS,
    ROW_VARIANTS,
    SHAPES,
    VARIANTS,
    Layout,
    check_sizes,
    shape,
)
from structopt.kernels.waist.record import Array, Record
from structopt.templates.arc_templates import ARCS

OTHER_CODES = (
    "warm_start.vocabulary=new: hashed weights stand where the numbers of the values put them, "
    "and other data number values "
    "otherwise. Leave warm_start.vocabulary=union."
)
FEWEST = 4096
"""Slots of the smallest table that the kernels use."""


class HashedTemplates(Supported):
    """Features of the tokens that a part joins: a linear operator from weights to part scores, of
    which nothing is stored.

    Every feature has a weight, plain, and one for each direction and distance (of an arc) or for
    the sides the tokens are on (of siblings and grandparents); a feature of the labels on an arc
    has a row of weights, plain, and one for each direction. A hash of template and codes is the
    index of a feature's weight, so that different features may share one.

    With support ``seen`` a weight may move only if one of its features occurs in a gold output.

    Parameters
    ----------
    support : str
        ``seen``: features of gold trees in training; ``all``: of all parts.
    hash_bits : int, from 10 to 28
        Features are hashed into 2^hash_bits weights.
    label_bits : int, from 4 to 24
        And those of relations into 2^label_bits rows, a weight for each relation in a row.
    distances : list of int
        Upper ends of the bins of an arc's length, ascending; one more bin beyond.
    templates, labels, siblings, grandparents : list of str
        Templates of arcs, of their relations, of pairs of modifiers, and of arcs with their head's
        head.
    """

    layout: Layout

    kernel_modules = (
        "structopt.kernels.features.hashed_templates",
        "structopt.kernels.features.hashed_scores",
        "structopt.kernels.features.hashed_listing",
    )

    def __init__(
        self,
        support: Literal["seen", "all"] = "seen",
        hash_bits: int = 22,
        label_bits: int = 15,
        distances: Sequence[int] = (1, 2, 3, 4, 5, 10),
        templates: Sequence[str] = (),
        labels: Sequence[str] = (),
        siblings: Sequence[str] = (),
        grandparents: Sequence[str] = (),
    ) -> None:
        super().__init__(support)
        check_sizes(hash_bits, label_bits, distances)
        self.sizes = hash_bits, label_bits, tuple(distances)
        self.texts = {
            "templates": templates,
            "labels": labels,
            "siblings": siblings,
            "grandparents": grandparents,
        }

    @classmethod
    def of(cls, layout: Layout, support: Array | None, note: str = "") -> HashedTemplates:
        """Lay out hashed weights, of which those that a mask names may move (None: all)."""
        features = cls()
        features.layout, features.note = layout, note
        features.lay_out(layout.dimension, support)
        return features

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> HashedTemplates:
        """Lay out the weights for a training corpus; the note tells how many features share
        weights.
        """
        from structopt.features.collisions import collisions

        trees = _trees(encoded)
        labels = next((group.width for group in structure.groups if group.name == "label"), 0)
        layout = Layout.fit(self.texts, trees.columns, labels, *self.sizes)
        refuse_masks(layout.dimension)
        everything = self.of(layout, None)
        record = everything.record(trees, structure)
        support = everything._seen(record, structure, gold) if self.seen else None
        return self.of(
            layout, support, collisions(layout, record, structure, gold if self.seen else None)
        )

    @property
    def kernels(self) -> FeatureKernels:
        """The compiled operations, of the `kernel_modules`."""
        from structopt.kernels.features import hashed_listing, hashed_scores
        from structopt.kernels.features import hashed_templates as k

        return FeatureKernels(
            hashed_scores.scores,
            k.pullback,
            k.add,
            k.add_both,
            k.dot,
            k.flatten,
            k.accumulate,
            hashed_listing.spans,
            hashed_listing.listed_scores,
        )

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels of `structopt.kernels.features.hashed_templates` read of a
        corpus.
        """
        return self._packed(encoded, structure, self.support)

    def scores_record(self, encoded: Encoded, structure: Structure) -> Record:
        """See `structopt.core.scorer.SparseFeatures`: scores do not read the support."""
        return self._packed(encoded, structure, None)

    def rewrite(self, record: Record, encoded: Encoded) -> bool:
        """See `structopt.core.scorer.SparseFeatures`: only codes differ."""
        from structopt.kernels.features.template_parts import HASHED

        HASHED.open(record).codes[:] = self.layout.codes(_trees(encoded))
        return True

    def _packed(self, encoded: Encoded, structure: Structure, support: Array | None) -> Record:
        labels = next(
            (group.width for group in structure.groups if group.name == "label"), self.layout.labels
        )
        if labels != self.layout.labels:
            raise ConfigError(
                f"features: the model has weights for {self.layout.labels} labels, the corpus "
                f"has {labels}."
            )
        return self.layout.record(_trees(encoded), structure, support)

    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """See `structopt.core.scorer.Scorer`: weights keep their indices; in rows of label weights
        they go by the labels' names.

        That is right only where codes are the same: values that the earlier model knew must have
        kept theirs.
        """
        same = isinstance(earlier, HashedTemplates) and self._hashing() == earlier._hashing()
        if not isinstance(earlier, HashedTemplates) or not same or not matches.keeps_codes:
            raise ConfigError(OTHER_FEATURES if not same else OTHER_CODES)
        carried, first = np.zeros(self.dimension, array.dtype), self.layout.weights
        carried[:first] = array[:first]
        if self.layout.labels and earlier.layout.labels:
            columns = matches.configurations("label", earlier.layout.labels, self.layout.labels)
            rows, old_rows = (
                carried[first:].reshape(self.layout.rows, -1),
                array[first:].reshape(earlier.layout.rows, -1),
            )
            rows[:, columns[1]] = old_rows[:, columns[0]]
        return carried

    def _hashing(self) -> dict[str, Any]:
        """What must agree for the same feature to have the same index; not how many labels there
        are.
        """
        return {key: value for key, value in self.layout.state().items() if key != "relations"}

    def named(self, indices: Array, names: Names, occurring: Occurring | None = None) -> Named:
        """See `structopt.core.scorer.SparseFeatures`: those of the features that given parts
        have.
        """
        from structopt.features.arc_names import ArcNames
        from structopt.features.template_names import collected

        return collected(
            ArcNames(self.layout, names, occurring).features() if occurring else (), indices
        )

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Return the features for evaluations over all instances."""
        from structopt.features.batch.hashed_templates import HashedBatch

        return HashedBatch(self, self.record(encoded, structure), structure)

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """Nothing: batches borrow what they need."""
        return 0

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate an empty sparse gradient, large enough for any instance of the corpus."""
        from structopt.kernels.features.template_gradient import GRADIENT

        layout = self.layout
        weights, rows = (
            int(bounds.max(initial=0))
            for bounds in _most_features(layout, _trees(encoded), structure)
        )
        touched, touched_rows = min(weights, layout.weights), min(rows, layout.rows)
        gradient = GRADIENT.pack(
            **gradient_sizes(touched, layout.rows, touched_rows, layout.labels)
        )
        # a single one where there would be more
        runs = min(weights, layout.weights) + touched_rows * layout.labels + 1
        return FeatureScratch(gradient, runs, touched + touched_rows * layout.labels)

    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> HashedTemplates:
        """See `structopt.core.scorer.Scorer`."""
        return self.of(self.layout, self.with_support_of(earlier, matches, weights), self.note)

    def pruned(self, weights: Array, kept: Mapping[str, Array]) -> tuple[HashedTemplates, Array]:
        """See `structopt.core.scorer.Scorer`: weights keep their places, and those that are 0 are
        not saved.
        """
        return self.of(self.layout, weights != 0.0, self.note), weights

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Layout as JSON values, and the support as packed bits (empty when all weights may
        move).
        """
        return self.layout.state(), packed_support(self.support)

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> HashedTemplates:
        """Undo `state`."""
        state = SavedState(layout, arrays)
        restored = Layout.restore(state)
        return cls.of(restored, restored_support(state, restored.dimension))

    def _seen(self, record: Record, structure: Structure, gold: SparseVectors) -> Array:
        """Which weights have a feature that occurs in a gold output."""
        # one module of the kernels; a first run still compiles the others
        from structopt.kernels.features.hashed_templates import accumulate

        dense = np.zeros(self.dimension)
        indicators = np.zeros(int(np.diff(structure.parts).max(initial=0)))
        for i in range(len(structure)):
            parts = gold.parts[gold.offsets[i] : gold.offsets[i + 1]]
            indicators[parts] = 1.0
            accumulate(record, i, indicators[: structure.parts[i + 1] - structure.parts[i]], dense)
            indicators[parts] = 0.0
        return dense > 0.0


def _trees(encoded: Encoded) -> EncodedTrees:
    if not isinstance(encoded, EncodedTrees):
        raise ConfigError(
            "are features of the tokens that an arc joins, and this task's outputs are no "
            "dependency trees.",
            parameter="features",
            value="HashedTemplates",
            remedy="Use Dependency(), or AttributeRows().",
        )
    return encoded


def gradient_sizes(
    touched: int, rows: int = 0, touched_rows: int = 0, labels: int = 0
) -> dict[str, int]:
    """Sizes of the fields of a sparse gradient, by name, for so many weights and rows of label
    weights; `rows` there are in all.

    The table of weights is a power of 2 that leaves a third of it free.
    """
    from structopt.kernels.features.template_gradient import COUNTS

    return {
        "slot": max(FEWEST, 1 << (3 * touched // 2).bit_length()),
        "touched": touched,
        "values": touched,
        "counts": COUNTS,
        "row_slot": rows if touched_rows else 0,
        "row_touched": touched_rows,
        "rows": touched_rows * labels,
    }


def _most_features(
    layout: Layout, trees: EncodedTrees, structure: Structure
) -> tuple[Array, Array]:
    """Bounds, for each instance, on the weights and on the rows of label weights that its features
    have.
    """
    lengths, codes = np.diff(trees.offsets), layout.codes(trees)
    weights, rows = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for group in structure.groups:
        which, variants = KINDS[group.name], ROW_VARIANTS if group.name == "label" else VARIANTS
        target = rows if group.name == "label" else weights
        for template in layout.templates[which]:
            found = shape(template, which)
            parts = 2 * np.diff(group.offsets)
            if found < 2:
                parts = np.minimum(parts, (lengths + 2) * variants)
            elif found == SHAPES - 1:
                values = (
                    int(codes[:, layout.column_number(ARCS.swept(template))].max(initial=0)) + 1
                )
                parts = parts * np.minimum(lengths, values)
            target += parts
    return weights, rows
