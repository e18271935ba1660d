"""Vectors over the parts of a batch, which know their batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.core.parts.batch import Batch


@dataclass(frozen=True, eq=False)
class Parts:
    """A number per part of each instance of a batch: scores, marginals, costs or gradients.

    Arithmetic is that of one row per instance. ``s + r``, ``0.5 * s`` and ``v[:, None] * s`` with v
    of shape (instances,) are vectors of the same batch, and ``s @ r`` has shape (instances,);
    0 times -inf counts as 0 there.

    Attributes
    ----------
    batch : Batch
    flat : float64, shape (parts,), read-only
        One instance after the other, group by group.
    absent : float
        The number at other places of padded arrays: -inf of scores, 0 of marginals.
    """

    batch: Batch
    flat: Array
    absent: float = 0.0

    __array_ufunc__ = None  # v[:, None] * s is s.__rmul__(v[:, None])

    def __post_init__(self) -> None:
        self.flat.setflags(write=False)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.batch)

    def __getitem__(self, key: str | int) -> Any:
        """Return a group as a flat array, or the numbers of one instance (`InstanceParts`)."""
        if isinstance(key, str):
            return self.batch.layout(key).taken(self.flat)
        return InstanceParts(self, self.batch.instance_index(key))

    def padded(self, group: str, fill: float | None = None) -> Array:
        """Return a group as an array (instances, longest extent, ...), with `fill`, or `absent`, at
        other places.
        """
        layout = self.batch.layout(group)
        return layout.padded(layout.taken(self.flat), self.absent if fill is None else fill)

    def split(self, group: str) -> list[Array]:
        """Return a group as one array per instance."""
        layout = self.batch.layout(group)
        return layout.split(layout.taken(self.flat), self.absent)

    def restricted(self, **keep: Any) -> Parts:
        """Return the scores with -inf at the parts that outputs may not have.

        Parameters
        ----------
        **keep : boolean array-likes, by group
            In the forms of scores; true at parts that may stay.
        """
        flat = self.flat.copy()
        for name, value in keep.items():
            layout = self.batch.layout(name)
            group = layout.taken(flat)
            group[~layout.read(value, floats=False)] = -np.inf
            layout.put(flat, group)
        return Parts(self.batch, flat, self.absent)

    def __neg__(self) -> Parts:
        return Parts(self.batch, -self.flat, 0.0)

    def __add__(self, other: Any) -> Parts:
        return self._combined(other, np.add)

    def __radd__(self, other: Any) -> Parts:
        return self._combined(other, np.add)

    def __sub__(self, other: Any) -> Parts:
        return self._combined(other, np.subtract)

    def __mul__(self, other: Any) -> Parts:
        return self._combined(other, np.multiply)

    def __rmul__(self, other: Any) -> Parts:
        return self._combined(other, np.multiply)

    def __truediv__(self, other: Any) -> Parts:
        return self._combined(other, np.divide)

    def __matmul__(self, other: Parts) -> Array:
        """Return the inner product of each instance, float64, shape (instances,)."""
        self.batch.check_same(other)
        used = (self.flat != 0.0) & (other.flat != 0.0)
        products = np.zeros(len(self.flat))
        np.multiply(self.flat, other.flat, out=products, where=used)
        return self.batch.sums(products)

    def _combined(self, other: Any, operation: Callable[..., Any]) -> Parts:
        if isinstance(other, Parts):
            self.batch.check_same(other)
            numbers = other.flat
            absent = self.absent if operation in (np.add, np.subtract) else 0.0
        else:
            numbers, absent = self._per_part(other), self.absent
        with np.errstate(invalid="ignore"):
            return Parts(self.batch, np.asarray(operation(self.flat, numbers)), absent)

    def _per_part(self, other: Any) -> Array:
        """Return a number, or a column with a number per instance, as a number per part."""
        numbers = np.asarray(other, np.float64)
        if numbers.ndim == 0:
            return numbers
        if numbers.shape != (len(self), 1):
            raise ArgumentError(
                f"has the shape {numbers.shape}, and not () or ({len(self)}, 1).",
                parameter="other",
                remedy="Give a number, other parts, or v[:, None] with a number per instance.",
            )
        if len(self) and (numbers == numbers[0]).all():
            return numbers[:1, 0]
        return np.repeat(numbers[:, 0], np.diff(self.batch.offsets))


@dataclass(frozen=True)
class InstanceParts:
    """The numbers of one instance, by group."""

    parts: Parts
    instance: int

    def __getitem__(self, name: str) -> Array:
        """Return the array of a group."""
        layout = self.parts.batch.layout(name)
        group = layout.taken(self.parts.flat)
        return layout.of_instance(group, self.instance, self.parts.absent)
