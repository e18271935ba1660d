"""The sparse features that a network may have beside it."""

from __future__ import annotations

from collections.abc import Mapping

from structopt.plugin.provisional import (
    AnchoredTemplates,
    AttributeRows,
    HashedTemplates,
    SparseFeatures,
)

SPARSE: Mapping[str, type[SparseFeatures]] = {
    "attribute_rows": AttributeRows,
    "hashed_templates": HashedTemplates,
    "anchored_templates": AnchoredTemplates,
}


def sparse_class(name: str) -> type[SparseFeatures]:
    """The class of sparse features of this name."""
    return SPARSE[name]
