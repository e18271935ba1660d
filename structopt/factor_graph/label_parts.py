"""Label parts, side by side in the group ``label``, of variables that all have the same labels."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from structopt.core.cost import LABEL
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import AllowedParts
from structopt.kernels.waist.record import Array

LABEL_ROLES = MappingProxyType({"variable": "label", LABEL: "label"})
"""Roles of graphs with such parts."""


def chosen_labels(encoded: Encoded, structure: Structure, outputs: SparseVectors) -> Array:
    """The number of the label of every variable, int32; of several in a fractional output the one
    with the most mass.
    """
    parts, counts = structure.active_in("label", outputs)
    order, labels = np.argsort(counts, kind="stable"), len(encoded.labels)
    chosen = np.zeros(int(encoded.offsets[-1]), np.int32)
    chosen[parts[order] // labels] = parts[order] % labels
    return chosen


def allowed_labels(encoded: Encoded) -> AllowedParts:
    """Label parts that gold may have; the parts of an instance begin with those of its
    variables.
    """
    assert encoded.gold_sets is not None
    return _of_labels(encoded, encoded.gold_sets)


def kept_labels(encoded: Encoded) -> AllowedParts | None:
    """Label parts that outputs may have where the corpus keeps labels; None where it keeps none."""
    return None if encoded.allowed is None else _of_labels(encoded, encoded.allowed)


def _of_labels(encoded: Encoded, labels: Array) -> AllowedParts:
    """The parts of labels, bool, shape (variables, labels)."""
    position = np.arange(int(encoded.offsets[-1])) - np.repeat(
        encoded.offsets[:-1], np.diff(encoded.offsets)
    )
    return AllowedParts.of_table(encoded.offsets, position * len(encoded.labels), labels)
