"""One variable an instance, and no factor but its own: multiclass classification."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts
from structopt.core.factor_graph import Calculus, FactorGraph, GraphTraits
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.sizes import Sizes
from structopt.errors import ConfigError
from structopt.factor_graph.batches import (
    LabelBatch,
    label_layout,
    label_names,
)
from structopt.factor_graph.kinds import SINGLE
from structopt.factor_graph.label_parts import (
    LABEL_ROLES,
    allowed_labels,
    chosen_labels,
    kept_labels,
)
from structopt.factor_graph.tree_corpora import refuse_trees
from structopt.kernels.waist.record import EMPTY, Array


class Single(FactorGraph):
    """One label an instance: L parts, of which every output has one. Inference costs O(L).

    Notes
    -----
    The smallest factor graph there is: with it the losses are logistic regression, the multiclass
    support vector machine and the multiclass perceptron.
    """

    traits = GraphTraits(SINGLE, closed_forms=True)
    views = MappingProxyType({"labels": "label"})
    roles = LABEL_ROLES

    @property
    def calculus(self) -> Calculus:
        """Closed forms of the marginals, which are the probabilities of the outputs."""
        from structopt.kernels.chain import single_variable

        return Calculus(
            single_variable.entropy, single_variable.slope, single_variable.conditionals
        )

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out L label parts an instance; no part is tied, whether `positional` or not."""
        refuse_trees(encoded, "single")
        _check(encoded)
        groups = (PartGroup("label", len(encoded.labels), encoded.offsets),)
        memory = np.zeros(len(encoded) + 1, np.int64)
        return Structure(
            record=EMPTY,
            groups=groups,
            parts=part_offsets(groups),
            kind=self.kind,
            memory=memory,
            active=1,
        )

    def batch(self, count: int, labels: int | Sequence[str]) -> LabelBatch:
        """Return a batch of so many instances with one label each.

        Raises
        ------
        ArgumentError
        """
        return self.batch_of(Sizes.of(np.ones(count, np.int64)), labels=label_names(labels))

    def batch_of(self, sizes: Sizes, **options: Any) -> LabelBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        encoded = Encoded(sizes.offsets, {}, options["labels"])
        return LabelBatch(self, encoded, sizes, options, _layouts)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold labels."""
        assert encoded.gold is not None
        return SparseVectors(encoded.offsets, encoded.gold, np.ones(len(encoded)))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Parts that the gold labels may have."""
        return allowed_labels(encoded)

    def restricted(self, encoded: Encoded, structure: Structure) -> AllowedParts | None:
        """Parts of the labels that are kept; None where none are."""
        return kept_labels(encoded)

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """The number of every instance's label."""
        return chosen_labels(encoded, structure, outputs)


def _layouts(batch: LabelBatch) -> dict[str, GroupLayout]:
    """Layout of the labels."""
    return {"label": label_layout(batch.structure, batch.sizes)}


def _check(encoded: Encoded) -> None:
    """Refuse corpora that a single variable an instance cannot represent."""
    lengths = np.diff(encoded.offsets)
    others = np.flatnonzero(lengths != 1)
    if len(others):
        raise ConfigError(
            f"needs one variable per instance, and this one has {lengths[others[0]]}.",
            parameter="factor_graph",
            value="Single",
            where=checks.of_instance((int(others[0]),)),
            remedy="For sequences use LinearChain().",
        )
    if encoded.forbidden_starts or encoded.forbidden_ends or encoded.forbidden_transitions:
        raise ConfigError(
            "has no hard constraints.",
            parameter="factor_graph",
            value="Single",
            remedy="Set valid_tags=False, or use LinearChain().",
            kinds={"valid_tags": "task"},
        )
