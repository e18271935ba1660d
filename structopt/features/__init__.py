"""Feature maps: linear operators from weights to part scores, one module a block.

Which block makes the features of a corpus is said by `Encoded.block`; a model remembers it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.core.scorer import SparseFeatures
from structopt.kernels.record import Array

BLOCKS = {"attribute_rows": "AttributeRows", "hashed_templates": "HashedTemplates"}
"""The class of each block; its module bears the block's name."""


def fit(encoded: Encoded, structure: Structure, gold: SparseVectors, options: Mapping[str, Any]) -> SparseFeatures:
    """Lay out the weights for a training corpus.

    Parameters
    ----------
    encoded, structure, gold : the corpus, its graphs and its gold parts
    options : mapping
        The config's node ``features``.
    """
    made: SparseFeatures = _block(encoded.block).fit(encoded, structure, gold, options)
    return made


def restore(layout: Mapping[str, Any], bits: Array) -> SparseFeatures:
    """Undo `SparseFeatures.state`."""
    made: SparseFeatures = _block(layout["block"]).restore(layout, bits)
    return made


def _block(name: str) -> Any:
    return getattr(import_module(f"structopt.features.{name}"), BLOCKS[name])
