"""Targets of training: gold outputs that are known, or sets of outputs that agree with what is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core.data.sparse_vectors import SparseVectors
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class AllowedParts:
    """Parts that an output may have, variable by variable: of the configurations of each variable,
    those that are allowed.

    V variables in m instances. A variable that may have any of several configurations has an empty
    range and no parts.

    Attributes
    ----------
    variables : int64, shape (m + 1,)
        Where the variables of each instance begin.
    starts, ends : int32, shape (V,)
        The parts start <= r < end of the instance are the variable's configurations, of which every
        output has one.
    offsets : int64, shape (V + 1,)
        Where the allowed parts of each variable begin.
    parts : int32
        Part numbers within the instance.
    """

    variables: Array
    starts: Array
    ends: Array
    offsets: Array
    parts: Array

    @classmethod
    def of_table(cls, instances: Array, starts: Array, allowed: Array) -> AllowedParts:
        """Of variables that all have the same configurations.

        Parameters
        ----------
        instances : int64, shape (m + 1,)
            Where the variables of each instance begin.
        starts : shape (V,)
            The part of each variable's first configuration.
        allowed : bool, shape (V, configurations)
        """
        free: Array = np.asarray(allowed.all(axis=1)) & (allowed.shape[1] > 1)
        variable, configuration = np.nonzero(allowed & ~free[:, None])
        ends = np.where(free, starts, starts + allowed.shape[1])
        parts = (starts[variable] + configuration).astype(np.int32)
        offsets = np.searchsorted(variable, np.arange(len(starts) + 1)).astype(np.int64)
        return cls(
            instances.astype(np.int64),
            starts.astype(np.int32),
            ends.astype(np.int32),
            offsets,
            parts,
        )

    def of_instances(self, chosen: Array) -> AllowedParts:
        """The same for the instances that a mask names; the others have no variables."""
        kept: Array = np.repeat(chosen, np.diff(self.variables)).astype(bool)
        each = np.where(kept, np.diff(self.offsets), 0)
        offsets = np.concatenate([[0], np.cumsum(each[kept])]).astype(np.int64)
        counts = np.where(chosen, np.diff(self.variables), 0)
        variables = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        parts = self.parts[np.repeat(kept, np.diff(self.offsets))]
        return AllowedParts(variables, self.starts[kept], self.ends[kept], offsets, parts)

    def subset(self, first: int, last: int) -> AllowedParts:
        """Those of the instances first <= i < last."""
        v, w = int(self.variables[first]), int(self.variables[last])
        a, b = int(self.offsets[v]), int(self.offsets[w])
        variables, offsets = self.variables[first : last + 1] - v, self.offsets[v : w + 1] - a
        return AllowedParts(variables, self.starts[v:w], self.ends[v:w], offsets, self.parts[a:b])

    def excluded(self, parts: Array, bounds: tuple[int, int]) -> Array:
        """Which parts of the instances first <= i < last no allowed output has: bool, one instance
        after the other.

        Parameters
        ----------
        parts : int64, shape (instances + 1,)
            Offsets of the instances in a vector over all parts.
        bounds : (first, last)
        """
        own, begin = self.subset(*bounds), parts[bounds[0] : bounds[1]] - parts[bounds[0]]
        shift = np.repeat(begin, np.diff(own.variables))
        steps = np.zeros(int(parts[bounds[1]] - parts[bounds[0]]) + 1, np.int64)
        np.add.at(steps, shift + own.starts, 1)
        np.add.at(steps, shift + own.ends, -1)
        restricted: Array = np.cumsum(steps)[:-1] > 0
        restricted[np.repeat(shift, np.diff(own.offsets)) + own.parts] = False
        return restricted

    def weighted(self, weights: Array) -> SparseVectors:
        """A number for each variable, at its allowed parts: shape (V,)."""
        values = np.repeat(weights, np.diff(self.offsets))
        return SparseVectors(self.offsets[self.variables], self.parts, values)


@dataclass(frozen=True)
class Targets:
    """The targets of a training corpus: for each instance a point, or a set of outputs.

    Attributes
    ----------
    points : SparseVectors
        Gold indicators z_i; no entries where the target is a set.
    sets : bool, shape (instances,)
        Whose target is a set.
    allowed : AllowedParts
        Of the sets; points have no variables in it.
    """

    points: SparseVectors
    sets: Array
    allowed: AllowedParts

    def possible(self, parts: Array) -> SparseVectors:
        """Parts that some allowed output may have: those of points; of sets all but the excluded
        parts of restricted variables.

        Parameters
        ----------
        parts : int64, shape (instances + 1,)
            Offsets of the instances in a vector over all parts.
        """
        allowed, restricted = self.allowed, np.zeros(int(parts[-1]) + 1, np.int64)
        begin = np.repeat(parts[:-1], np.diff(allowed.variables))
        np.add.at(restricted, begin + allowed.starts, 1)
        np.add.at(restricted, begin + allowed.ends, -1)
        kept = np.repeat(self.sets, np.diff(parts)) & (np.cumsum(restricted)[:-1] == 0)
        kept[np.repeat(begin, np.diff(allowed.offsets)) + allowed.parts] = True
        points = np.repeat(parts[:-1], np.diff(self.points.offsets)) + self.points.parts
        kept[points] = True
        values = kept.astype(np.float64)
        values[points] = self.points.values
        indices = np.flatnonzero(kept)
        offsets = np.searchsorted(indices, parts).astype(np.int64)
        return SparseVectors(
            offsets,
            (indices - np.repeat(parts[:-1], np.diff(offsets))).astype(np.int32),
            values[indices],
        )

    @classmethod
    def of_points(cls, points: SparseVectors) -> Targets:
        """Gold outputs that are all known."""
        m, none, nothing = len(points.offsets) - 1, np.zeros(0, np.int32), np.zeros(1, np.int64)
        return cls(
            points,
            np.zeros(m, bool),
            AllowedParts(np.zeros(m + 1, np.int64), none, none, nothing, none),
        )

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.sets)

    def subset(self, first: int, last: int) -> Targets:
        """Those of the instances first <= i < last."""
        return Targets(
            self.points.subset(first, last), self.sets[first:last], self.allowed.subset(first, last)
        )
