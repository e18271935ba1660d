"""Features of anchored rules: templates over the words around a rule's place, with the rule and
with its label, hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.scorer import BatchMap, FeatureKernels, FeatureScratch, Matches, Scorer
from structopt.core.weights.coordinates import Named, Names, Occurring
from structopt.errors import ArgumentError, ConfigError
from structopt.features.anchored_layout import Index, Layout
from structopt.features.hashed_templates import OTHER_CODES, gradient_sizes
from structopt.features.support import OTHER_FEATURES, Supported
from structopt.kernels.waist.record import Array, Record

FORESTS = "forest"
"""The kind of the structures (`structopt.core.structure_kind.StructureKind.name`) whose record the
kernels open.
"""
BLOCK = 1 << 22
"""About how many hashes are kept before those that occur twice are removed."""
SUMS_OF_EDGE, MOST_SUMS, MOST_NOTED = 16, 1 << 18, 1 << 20
"""Of the sums of a sentence: at most so many are noted for each edge, and for all; and so many
weights in them.
"""


class AnchoredTemplates(Supported):
    """Features of the words around a rule, a step or a tag at its place; computed where they are
    needed, never stored.

    Every value of a template makes a feature with the rule (or the step), and one with its label:
    the symbol above. A feature of gold trees in training has a weight of its own, but for those
    whose 64-bit hashes share their highest bits; all other features are hashed into bins, so that
    what training trees never have can cost something.

    Parameters
    ----------
    hash_bits : int, from 10 to 30
        Gold features are told apart by so many bits of their hash.
    unseen : float
        Bins for features that no gold tree has, as a share of the number of those that gold trees
        have; 0: they have no weight.
    joined : list of str
        What templates are joined with: ``rule``, ``parent`` (the symbol above), or both.
    lengths : list of int
        Upper ends of the bins of lengths, ascending; one more bin beyond.
    spans, splits, words : list of str
        Templates of rules and unary steps, of rules alone, and of the tags of words.

    Notes
    -----
    Hall, Durrett and Klein (2014), "Less grammar, more features", section 3 and 4.
    """

    layout: Layout
    seen_places: Array
    index: Index

    kernel_modules = (
        "structopt.kernels.features.anchored.templates",
        "structopt.kernels.features.anchored.scores",
    )

    def __init__(
        self,
        hash_bits: int = 24,
        unseen: float = 0.5,
        joined: Sequence[str] = ("rule", "parent"),
        lengths: Sequence[int] = (1, 2, 3, 4, 5, 10, 20),
        spans: Sequence[str] = (),
        splits: Sequence[str] = (),
        words: Sequence[str] = (),
    ) -> None:
        super().__init__("all")
        if not 0.0 <= unseen <= 100.0:
            raise ArgumentError(
                "must be from 0 (no bins) to 100.", parameter="unseen", value=unseen
            )
        self.unseen = float(unseen)
        self.layout = Layout.of(
            hash_bits, lengths, joined, {"spans": spans, "splits": splits, "words": words}
        )

    @classmethod
    def of(
        cls, layout: Layout, seen_places: Array, others: int, note: str = ""
    ) -> AnchoredTemplates:
        """Lay out the weights of gold features at these places, bool of shape (2^hash_bits,), and
        of so many bins.
        """
        features = cls()
        features.layout, features.seen_places, features.note = layout, seen_places, note
        features.index = Index.of(seen_places, others)
        features.lay_out(features.index.gold + others, None)
        return features

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> AnchoredTemplates:
        """Find the features of the gold trees; the note tells how many there are, and how many of
        them share weights.
        """
        trees, layout = _forests(encoded, structure), self.layout
        advice = "Lower `hash_bits`."
        refuse_what_does_not_fit(
            2.0 * (1 << layout.hash_bits),
            "features: the places of gold features",
            advice,
            {"hash_bits": "features"},
        )
        nothing = np.zeros(1 << layout.hash_bits, bool)
        hashes = _gold_hashes(
            layout, layout.record(trees, structure, Index.of(nothing, 0)), structure, gold
        )
        places, counts = np.unique(hashes >> np.uint64(64 - layout.hash_bits), return_counts=True)
        nothing[places.astype(np.int64)] = True
        others = int(self.unseen * len(places))
        shared = int(counts[counts > 1].sum()) / max(len(hashes), 1)
        note = (
            f"{len(hashes):,} features of gold trees, {shared:.1%} share their weight; "
            f"{others:,} bins for all others"
        )
        return self.of(layout, nothing, others, note)

    @property
    def kernels(self) -> FeatureKernels:
        """The compiled operations, of the `kernel_modules`."""
        from structopt.kernels.features.anchored import templates as k
        from structopt.kernels.features.anchored.scores import scores

        return FeatureKernels(
            scores, k.pullback, k.add, k.add_both, k.dot, k.flatten, k.accumulate, k.spans
        )

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels of `structopt.kernels.features.anchored` read of a corpus."""
        return self.layout.record(_forests(encoded, structure), structure, self.index)

    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """See `structopt.core.scorer.Scorer`: gold features that both have keep their weights;
        those of bins are left out.

        Names of rules and labels are hashed, so that other rules may have other numbers; values of
        columns must keep their codes.
        """
        same = isinstance(earlier, AnchoredTemplates) and self.layout == earlier.layout
        if not isinstance(earlier, AnchoredTemplates) or not same or not matches.keeps_codes:
            raise ConfigError(OTHER_FEATURES if not same else OTHER_CODES)
        both = self.seen_places & earlier.seen_places
        carried = np.zeros(self.dimension, array.dtype)
        new, old = (
            np.flatnonzero(both[places]) for places in (self.seen_places, earlier.seen_places)
        )
        carried[new] = array[old]
        return carried

    def named(self, indices: Array, names: Names, occurring: Occurring | None = None) -> Named:
        """See `structopt.core.scorer.SparseFeatures`: those of the features that given parts
        have.
        """
        from structopt.features.anchored_names import AnchoredNames
        from structopt.features.template_names import collected

        if occurring is None:
            return collected((), indices)
        return collected(
            AnchoredNames(
                self.layout, self.seen_places, self.index.others, names, occurring
            ).features(),
            indices,
        )

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Return the features for evaluations over all instances."""
        from structopt.features.batch.hashed_templates import HashedBatch

        return HashedBatch(self, self.record(encoded, structure), structure)

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """Nothing: batches borrow what they need."""
        return 0

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate an empty sparse gradient, large enough for any sentence of the corpus, and room
        for notes on one.
        """
        from structopt.kernels.features.anchored.notes import SCRATCH
        from structopt.kernels.features.anchored.sums import OF_EDGE

        edges = int(np.diff(structure.spans("edge")[1]).max(initial=0))
        touched = min(edges * self.layout.most, self.dimension)
        sums = min(MOST_SUMS, edges * SUMS_OF_EDGE)
        scratch = SCRATCH.pack(
            gradient=gradient_sizes(touched),
            noted=3,
            edges=edges * OF_EDGE,
            parts=4 * sums,
            starts=sums + 1,
            weights=min(MOST_NOTED, edges * self.layout.most),
        )
        return FeatureScratch(scratch, touched + 1, touched)

    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> AnchoredTemplates:
        """The same features: all weights may move."""
        return self

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Layout as JSON values, and the places of gold features as packed bits."""
        return {**self.layout.state(), "others": self.index.others}, {
            "seen": np.packbits(self.seen_places)
        }

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> AnchoredTemplates:
        """Undo `state`."""
        state = SavedState(layout, arrays)
        restored = Layout.restore(state)
        bits = state.array("seen", np.uint8, ((1 << restored.hash_bits) // 8,))
        return cls.of(restored, np.unpackbits(bits).astype(bool), state.whole("others"))


def _forests(encoded: Encoded, structure: Structure) -> EncodedConstituents:
    """The corpus, if its structures are forests; `ConfigError` for others."""
    if not isinstance(encoded, EncodedConstituents) or structure.kind.name != FORESTS:
        raise ConfigError(
            "are features of rules at their places, which are no parts of this task's graph.",
            parameter="features",
            value="AnchoredTemplates",
            remedy="Use Constituency() with Span(), or AttributeRows().",
        )
    return encoded


def _gold_hashes(
    layout: Layout, record: Record, structure: Structure, gold: SparseVectors
) -> Array:
    """The distinct hashes of the features of gold trees, uint64, ascending."""
    from structopt.kernels.features.anchored.templates import hashes

    sizes = np.diff(structure.spans("edge")[1])
    indicators = np.zeros(int(sizes.max(initial=0)))
    distinct, listed, waiting = np.zeros(0, np.uint64), [], 0
    for i, size in enumerate(sizes.tolist()):
        parts = gold.parts[gold.offsets[i] : gold.offsets[i + 1]]
        parts = parts[parts < size]
        indicators[parts] = 1.0
        found = np.empty(len(parts) * layout.most, np.int64)
        listed.append(
            np.unique(found[: hashes(record, i, indicators[:size], found)].view(np.uint64))
        )
        indicators[parts] = 0.0
        waiting += len(listed[-1])
        if waiting > BLOCK or i == len(sizes) - 1:
            distinct, listed, waiting = np.unique(np.concatenate([distinct, *listed])), [], 0
    return distinct
