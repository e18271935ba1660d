"""Features of mentions and of links to their antecedents: templates over their columns, hashed to
weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any, Literal

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedMentions
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.scorer import BatchMap, FeatureKernels, FeatureScratch, Matches, Scorer
from structopt.core.weights.coordinates import Named, Names, Occurring
from structopt.errors import ConfigError
from structopt.features.hashed_templates import OTHER_CODES, gradient_sizes
from structopt.features.mention_layout import Layout
from structopt.features.support import (
    OTHER_FEATURES,
    Supported,
    packed_support,
    refuse_masks,
    restored_support,
)
from structopt.kernels.waist.record import Array, Record


class MentionTemplates(Supported):
    """Features of a mention that starts an entity, and of a mention with its antecedent; computed
    where they are needed.

    A hash of template and values is the index of a feature's weight, so that different features may
    share one.

    Parameters
    ----------
    support : str
        ``all``: all weights may move; ``seen``: those of features that allowed outputs of training
        documents have.
    hash_bits : int, from 10 to 28
        Features are hashed into 2^hash_bits weights.
    distances, sentence_distances : list of int
        Upper ends of the bins of distances, in mentions (from 1) and in sentences (from 0),
        ascending; one more bin beyond.
    new, links, joined : list of str
        Templates of mentions that start an entity; of links; and what each of these is joined with.

    Notes
    -----
    Durrett and Klein (2013), "Easy victories and uphill battles in coreference resolution", section
    3.1: the features SURFACE.
    """

    layout: Layout

    kernel_modules = (
        "structopt.kernels.features.mentions.templates",
        "structopt.kernels.features.mentions.scores",
    )

    def __init__(
        self,
        support: Literal["seen", "all"] = "all",
        hash_bits: int = 22,
        distances: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        sentence_distances: Sequence[int] = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        new: Sequence[str] = (),
        links: Sequence[str] = (),
        joined: Sequence[str] = ("bias",),
    ) -> None:
        super().__init__(support)
        self.layout = Layout.of(
            hash_bits, distances, sentence_distances, {"new": new, "links": links, "joined": joined}
        )

    @classmethod
    def of(cls, layout: Layout, support: Array | None, note: str = "") -> MentionTemplates:
        """Lay out hashed weights, of which those that a mask names may move (None: all)."""
        features = cls()
        features.layout, features.note = layout, note
        features.lay_out(layout.weights, support)
        return features

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> MentionTemplates:
        """Lay out the weights for a training corpus; the note tells how many features share
        weights.
        """
        # one module of the kernels; a first run still compiles the others
        from structopt.kernels.features.mentions.templates import accumulate

        documents, size = _documents(encoded), self.layout.weights
        refuse_masks(size)
        everything = self.of(self.layout, None)
        record, dense = everything.record(documents, structure), np.zeros(size)
        for i, parts in enumerate(np.diff(structure.parts).tolist()):
            occurring = np.ones(parts)
            if self.seen:
                occurring[:] = 0.0
                occurring[gold.parts[gold.offsets[i] : gold.offsets[i + 1]]] = 1.0
            accumulate(record, i, occurring, dense)
        used = dense > 0.0
        return self.of(
            self.layout,
            used if self.seen else None,
            _note(int(used.sum()), size, "allowed" if self.seen else "all"),
        )

    @property
    def kernels(self) -> FeatureKernels:
        """The compiled operations, of the `kernel_modules`."""
        from structopt.kernels.features.mentions import templates as k
        from structopt.kernels.features.mentions.scores import scores

        return FeatureKernels(
            scores, k.pullback, k.add, k.add_both, k.dot, k.flatten, k.accumulate, k.spans
        )

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels of `structopt.kernels.features.mentions` read of a corpus."""
        return self.layout.record(_documents(encoded), structure, self.support)

    def carried(self, earlier: Scorer, matches: Matches, array: Array) -> Array:
        """See `structopt.core.scorer.Scorer`: weights keep their indices; values of columns must
        keep their codes.
        """
        same = isinstance(earlier, MentionTemplates) and self.layout == earlier.layout
        if not same or not matches.keeps_codes:
            raise ConfigError(OTHER_FEATURES if not same else OTHER_CODES)
        return array.copy()

    def named(self, indices: Array, names: Names, occurring: Occurring | None = None) -> Named:
        """See `structopt.core.scorer.SparseFeatures`: those of the features that given parts
        have.
        """
        from structopt.features.mention_names import MentionNames
        from structopt.features.template_names import collected

        return collected(
            MentionNames(self.layout, names, occurring).features() if occurring else (), indices
        )

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Return the features for evaluations over all instances."""
        from structopt.features.batch.hashed_templates import HashedBatch

        return HashedBatch(self, self.record(encoded, structure), structure)

    def batch_bytes(self, encoded: Encoded, structure: Structure) -> int:
        """Nothing: batches borrow what they need."""
        return 0

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate an empty sparse gradient, large enough for any document of the corpus."""
        from structopt.kernels.features.template_gradient import GRADIENT

        touched = min(
            int(np.diff(structure.parts).max(initial=0)) * self.layout.most, self.layout.weights
        )
        return FeatureScratch(GRADIENT.pack(**gradient_sizes(touched)), touched + 1, touched)

    def widened(self, earlier: Scorer, matches: Matches, weights: Array) -> MentionTemplates:
        """See `structopt.core.scorer.Scorer`."""
        return self.of(self.layout, self.with_support_of(earlier, matches, weights), self.note)

    def pruned(self, weights: Array, kept: Mapping[str, Array]) -> tuple[MentionTemplates, Array]:
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
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> MentionTemplates:
        """Undo `state`."""
        state = SavedState(layout, arrays)
        restored = Layout.restore(state)
        return cls.of(restored, restored_support(state, restored.weights))


def _documents(encoded: Encoded) -> EncodedMentions:
    if not isinstance(encoded, EncodedMentions):
        raise ConfigError(
            "are features of mentions and their antecedents, which this task's data do not have.",
            parameter="features",
            value="MentionTemplates",
            remedy="Use Coreference(), or AttributeRows().",
        )
    return encoded


def _note(used: int, size: int, which: str) -> str:
    """How many features there are, estimated from the weights that they use, and how many share
    theirs.
    """
    free = max(size - used, 1) / size
    features = max(-size * log(free), used)
    return (
        f"about {round(features, -2):,.0f} features of {which} outputs on {size:,} weights: "
        f"{1 - free:.0%} share theirs"
    )
