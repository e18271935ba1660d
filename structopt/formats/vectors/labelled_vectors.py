"""Sparse vectors with sets of labels: what files of every multi-label format are read into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class LabelledVectors:
    """The instances of a file.

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
        Whether a header lists attributes and labels, in an order that rows of values follow.
    unknown : list of tuples of str, length instances, or None
        The labels of which training data do not say whether an instance has them; None where they say it of all.
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


def indicators(sets: Sequence[Sequence[str]], names: Sequence[str]) -> Array:
    """Membership of names in sets, bool, shape (sets, names); names that are not asked for are passed over."""
    number = {name: j for j, name in enumerate(names)}
    pairs = [(i, number[name]) for i, one in enumerate(sets) for name in one if name in number]
    found = np.zeros((len(sets), len(names)), bool)
    if pairs:
        found[tuple(np.array(pairs).T)] = True
    return found
