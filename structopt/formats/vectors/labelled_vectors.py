"""Sparse vectors with sets of labels, the same for every multi-label format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class LabelledVectors:
    """Sparse vectors, and the labels of each.

    Attributes
    ----------
    path : str
    offsets : int64, shape (instances + 1,)
        Where the entries of each instance begin in `ids` and `values`.
    attributes : list of str
        Names of the attributes.
    ids : int32, shape (entries,)
        Numbers into `attributes`.
    values : float64, shape (entries,)
    labels : list of tuples of str, length instances, or None
        The labels of each instance, in the order of `names`; None where the file has none.
    names : tuple of str
        The labels that instances may have.
    declared : bool
        Whether a header lists the attributes and labels, so that rows of values follow its order.
    unknown : list of tuples of str, length instances, or None
        The labels that each instance may have or not, as training data leave them open; None where
        they leave none open.
    """

    path: str
    offsets: Array
    attributes: list[str]
    ids: Array
    values: Array
    labels: list[tuple[str, ...]] | None
    names: tuple[str, ...]
    declared: bool
    unknown: list[tuple[str, ...]] | None = None

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> LabelledVectors:
        """Return the instances first <= i < last; attributes that they lack keep their numbers."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        labels, unknown = (
            None if sets is None else sets[first:last] for sets in (self.labels, self.unknown)
        )
        return replace(
            self,
            offsets=self.offsets[first : last + 1] - begin,
            ids=self.ids[begin:end],
            values=self.values[begin:end],
            labels=labels,
            unknown=unknown,
        )


def indicators(sets: Sequence[Sequence[str]], names: Sequence[str]) -> Array:
    """Return whether each set has each name, bool, shape (sets, names); other members of the sets
    are ignored.
    """
    number = {name: j for j, name in enumerate(names)}
    pairs = [
        (i, number[name]) for i, members in enumerate(sets) for name in members if name in number
    ]
    membership = np.zeros((len(sets), len(names)), bool)
    if pairs:
        membership[tuple(np.array(pairs).T)] = True
    return membership
