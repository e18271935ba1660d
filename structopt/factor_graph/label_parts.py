"""Label parts, side by side in the group ``label``, of variables and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Self

import numpy as np

from structopt.core.cost import LABEL
from structopt.core.data.encoded import Encoded, EncodedGraphs
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import AllowedParts
from structopt.core.parts.ragged import ends_of
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


@dataclass(frozen=True)
class States:
    """The labels that are states of each variable, in the order of their parts.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
        Where the variables of each instance begin.
    labels : bool, shape (variables, labels), or None
        None: all.
    counts : int64, shape (variables,)
        States of each variable.
    """

    offsets: Array
    labels: Array | None
    counts: Array

    @classmethod
    def of(cls, graphs: EncodedGraphs) -> Self:
        """Return the states of the variables of a corpus."""
        labels = graphs.states
        if labels is None:
            counts = np.full(int(graphs.offsets[-1]), len(graphs.labels), np.int64)
        else:
            counts = labels.sum(axis=1)
        return cls(np.ascontiguousarray(graphs.offsets, np.int64), labels, counts)

    @cached_property
    def begins(self) -> Array:
        """Label parts before each instance, int64, shape (instances + 1,)."""
        return np.asarray(ends_of(self.counts)[self.offsets])

    @cached_property
    def starts(self) -> Array:
        """The first part of each variable within its instance, int64, shape (variables,)."""
        before = np.repeat(self.begins[:-1], np.diff(self.offsets))
        return np.asarray(ends_of(self.counts)[:-1] - before)

    def ranks(self, labels: Array) -> Array:
        """Return the state of each variable that is a label, given a label of each."""
        if self.labels is None:
            return labels.astype(np.int64)
        ranks = np.cumsum(self.labels, axis=1) - 1
        return np.asarray(ranks[np.arange(len(labels)), labels])

    def chosen(self, structure: Structure, outputs: SparseVectors) -> Array:
        """Return the label of every variable, int32, as `chosen_labels` does."""
        assert self.labels is not None
        variable, label = np.nonzero(self.labels)
        parts, amounts = structure.active_in("label", outputs)
        order = parts[np.argsort(amounts, kind="stable")]
        chosen = np.zeros(len(self.counts), np.int32)
        chosen[variable[order]] = label[order]
        return chosen

    def kept(self, table: Array) -> AllowedParts:
        """Return the parts of the labels that a table of booleans keeps, shape (variables,
        labels).
        """
        assert self.labels is not None
        free: Array = np.asarray((table | ~self.labels).all(axis=1))
        variable, label = np.nonzero(table & self.labels & ~free[:, None])
        ranks = np.cumsum(self.labels, axis=1) - 1
        return AllowedParts(
            self.offsets,
            self.starts.astype(np.int32),
            np.where(free, self.starts, self.starts + self.counts).astype(np.int32),
            np.searchsorted(variable, np.arange(len(self.counts) + 1)).astype(np.int64),
            (self.starts[variable] + ranks[variable, label]).astype(np.int32),
        )

    def of_edges(self, edges: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return the first and the second variable of every edge, over all instances."""
        begin, joined = edges
        first = np.repeat(self.offsets[:-1], np.diff(begin))
        return first + joined[:, 0], first + joined[:, 1]

    def pairs(self, edges: tuple[Array, Array]) -> Array:
        """Return the number of pairs of states of every edge, int64."""
        one, other = self.of_edges(edges)
        return np.asarray(self.counts[one] * self.counts[other])
