"""Layouts of part groups: how the arrays of users hold the parts of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

Form = Literal["flat", "padded", "shared", "instance"]
"""How an array holds a group: as `GroupLayout` says; ``shared``: a tied group's one array for all
instances; ``instance``: the array of the only instance.
"""


@dataclass(frozen=True)
class GroupLayout:
    """The places of one part group in the arrays of users.

    A position of instance i has d coordinates, and `cells` configurations: a token has its index
    (d = 1), an arc its modifier and its head (d = 2), and the one position of a tied group has no
    coordinate (d = 0). Three forms of arrays hold all positions of a batch of B instances::

        flat     (positions, *cells)      one instance after the other
        padded   (B, *sides, *cells)      `sides` is the longest extent of each coordinate
        list     B arrays (*extents[i], *cells)

    Attributes
    ----------
    name : str
    cells : tuple of int
    offsets : int64, shape (B + 1,)
        Begin of the positions of each instance.
    begins : int64, shape (B,)
        Begin of the group's parts in the vector over all parts.
    coordinates, padded_coordinates : int64, shape (positions, d)
        Place in the array of the instance, and in the padded array.
    extents : int64, shape (B, d)
    sides : tuple of int
    joined : int64, shape (positions, variables), or None
        Variables of the instance that a position joins; None: the coordinates name them.
    flipped : bool, shape (positions,), or None
        Positions whose two configurations users give in the other order.
    order : int64, shape (cells[-1],), or None
        Place, in the arrays of users, of each configuration; None: the same place.
    """

    name: str
    cells: tuple[int, ...]
    offsets: Array
    begins: Array
    coordinates: Array
    padded_coordinates: Array
    extents: Array
    sides: tuple[int, ...]
    flipped: Array | None = None
    joined: Array | None = None
    order: Array | None = None

    @property
    def count(self) -> int:
        """Number of instances."""
        return len(self.begins)

    @property
    def positions(self) -> int:
        """Number of positions of the batch."""
        return int(self.offsets[-1])

    @cached_property
    def indices(self) -> Array:
        """Index of each part of the group in the vector over all parts, int64, shape (positions *
        configurations,).
        """
        width = int(np.prod(self.cells))
        lengths = np.diff(self.offsets) * width
        steps = np.arange(self.positions * width)
        return np.asarray(steps + np.repeat(self.begins - self.offsets[:-1] * width, lengths))

    @cached_property
    def _run(self) -> tuple[int, int, int] | None:
        """Parts of an instance, and begin and end of the group's parts in it, if all instances have
        these in common.
        """
        widths, steps = np.diff(self.offsets) * int(np.prod(self.cells)), np.diff(self.begins)
        if self.count < 2 or (widths != widths[0]).any() or (steps != steps[0]).any():
            return None
        return int(steps[0]), int(self.begins[0]), int(self.begins[0] + widths[0])

    def _rows(self, vector: Array) -> Array | None:
        """View the group of a vector over all parts, a row per instance, if it is a table."""
        if self._run is None or self._run[0] * self.count != len(vector):
            return None
        size, begin, end = self._run
        return vector.reshape(self.count, size)[:, begin:end]

    @cached_property
    def instances(self) -> Array:
        """Instance of each position, int64, shape (positions,)."""
        return np.asarray(np.repeat(np.arange(self.count), np.diff(self.offsets)))

    @cached_property
    def _padded_rows(self) -> Array:
        """Place of each position among all of the padded form, int64, shape (positions,)."""
        rows = self.instances
        for side, coordinate in zip(self.sides, self.padded_coordinates.T, strict=True):
            rows = rows * side + coordinate
        return rows

    def _rows_of(self, array: Array) -> Array:
        """View a padded array as a row per place; of a view that is not contiguous, a copy."""
        return array.reshape(self.count * int(np.prod(self.sides)), *self.cells)

    def taken(self, vector: Array) -> Array:
        """Return the group of a vector over all parts, in the flat form."""
        rows = self._rows(vector)
        numbers = vector[self.indices] if rows is None else np.array(rows)
        group = self._turned(numbers.reshape(self.positions, *self.cells))
        return group if self.order is None else group[..., np.argsort(self.order)]

    def put(self, vector: Array, group: Array) -> None:
        """Write a group in the flat form into a vector over all parts."""
        ordered = self._turned(group if self.order is None else group[..., self.order])
        rows = self._rows(vector)
        if rows is None:
            vector[self.indices] = ordered.ravel()
        else:
            rows[:] = ordered.reshape(rows.shape)

    def padded(self, group: Array, fill: float) -> Array:
        """Return a group in the padded form, with `fill` at other places."""
        array = np.full(self.padded_shape, fill, group.dtype)
        self._rows_of(array)[self._padded_rows] = group
        return array

    def of_instance(self, group: Array, instance: int, fill: float) -> Array:
        """Return the array of one instance, with `fill` at other places."""
        own = slice(int(self.offsets[instance]), int(self.offsets[instance + 1]))
        array = np.full((*self.extents[instance], *self.cells), fill, group.dtype)
        array[tuple(self.coordinates[own].T)] = group[own]
        return array

    def split(self, group: Array, fill: float) -> list[Array]:
        """Return a group in the form of a list."""
        return [self.of_instance(group, i, fill) for i in range(self.count)]

    def read(self, value: Any, floats: bool = True, forbids: bool = True) -> Array:
        """Return an array of users in the flat form, as a copy; one that all instances share is
        repeated as a read-only view.

        Parameters
        ----------
        value : array-like
            In any of the forms; of a tied group also (*cells), the same for all instances.
        floats : bool
            Whether it has numbers, and not booleans.
        forbids : bool
            Whether numbers may be -inf, as scores that forbid a part.

        Raises
        ------
        ArgumentError
            For another shape, NaN, +inf, and types that are not real numbers.
        """
        if isinstance(value, (list, tuple)) and self._is_list(value):
            arrays = [self._array(one, floats) for one in value]
            padded = {array.shape for array in arrays} == {(*self.sides, *self.cells)}
            group = self._gathered(np.stack(arrays)) if padded else self._joined(arrays)
        else:
            array = self._array(value, floats)
            if self.form(array.shape) == "shared":
                group = self._checked(array[np.newaxis], floats, forbids)
                return np.broadcast_to(group, (self.positions, *self.cells))
            group = self._gathered(array)
        return self._checked(group, floats, forbids)

    def _checked(self, group: Array, floats: bool, forbids: bool) -> Array:
        if not floats:
            return group
        return checks.floats(self.name, group, allow_minus_inf=forbids, place=self._place)

    def _turned(self, group: Array) -> Array:
        """Swap the two configurations of flipped positions."""
        if self.flipped is None or not self.flipped.any():
            return group
        turned = group.copy()
        turned[self.flipped] = np.swapaxes(group[self.flipped], -1, -2)
        return turned

    def _is_list(self, value: Sequence[Any]) -> bool:
        """Whether a list has an array per instance; else it is a nested list of numbers."""
        deep = 1 + len(self.sides) + len(self.cells)
        one = next((element for element in value if np.size(element)), None)
        return one is not None and np.ndim(one) != deep - 2 and len(value) == self.count

    def _array(self, value: Any, floats: bool) -> Array:
        if getattr(value, "requires_grad", False):
            raise ArgumentError(
                "is a tensor that requires gradients, which NumPy functions would lose.",
                parameter=self.name,
                remedy="Give tensor.detach().numpy().",
            )
        if floats:
            return _real(self.name, value)
        array = np.asarray(value)
        if array.dtype != bool:
            raise ArgumentError(
                f"must be booleans, not {array.dtype}.", parameter=self.name, value=value
            )
        return array

    def _joined(self, arrays: Sequence[Array]) -> Array:
        parts = [np.zeros((0, *self.cells), arrays[0].dtype)]
        for i, array in enumerate(arrays):
            expected = (*self.extents[i].tolist(), *self.cells)
            if array.shape != expected and (array.size or np.prod(expected)):
                raise ArgumentError(
                    f"has the shape {array.shape}, and not {expected}.",
                    parameter=self.name,
                    where=f"instance {i}",
                )
            own = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
            if own.start < own.stop:
                parts.append(array[tuple(self.coordinates[own].T)].reshape(-1, *self.cells))
        return np.concatenate(parts)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """Shape of the padded form."""
        return self.count, *self.sides, *self.cells

    def form(self, shape: tuple[int, ...]) -> Form:
        """Return the form of arrays of a shape.

        Raises
        ------
        ArgumentError
            If no form has the shape.
        """
        depth, tied = len(shape) - len(self.cells), not self.sides
        if shape == self.padded_shape and not (tied and depth == 0):
            return "padded"
        if shape == (self.positions, *self.cells) and depth == 1:
            return "flat"
        if tied and shape == self.cells:
            return "shared"
        if self.count == 1 and shape == (*self.extents[0].tolist(), *self.cells):
            return "instance"
        forms = [(self.positions, *self.cells), self.padded_shape]
        forms += [self.cells] if tied else []
        known = " or ".join(str(form) for form in dict.fromkeys(forms))
        raise ArgumentError(
            f"has the shape {shape}, and not {known}.",
            parameter=self.name,
            remedy="Give one of these, or a list with an array per instance.",
        )

    def _gathered(self, array: Array) -> Array:
        form = self.form(array.shape)
        if form == "padded":
            return np.asarray(self._rows_of(array)[self._padded_rows])
        return array if form == "flat" else np.asarray(array[tuple(self.coordinates.T)])

    def summed(self, group: Array, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Return a group in the form of arrays of a shape: the adjoint of `read`, with 0 at other
        places, and sums over the positions that share an element.
        """
        form = self.form(shape)
        if form == "shared":
            return np.asarray(group.sum(axis=0), dtype)
        own = group.astype(dtype, copy=False)  # before padding, which has more elements
        if form == "padded":
            return self.padded(own, 0.0)
        return own if form == "flat" else self.of_instance(own, 0, 0.0)

    @property
    def _place(self) -> Callable[[tuple[int, ...]], str]:
        """Name the instance and the coordinates of an element in the flat form."""

        def place(index: tuple[int, ...]) -> str:
            instance = int(self.instances[index[0]])
            where = [*self.coordinates[index[0]].tolist(), *index[1:]]
            return f"instance {instance}, position {where[0] if len(where) == 1 else where}"

        return place


def _real(name: str, value: Any) -> Array:
    """Return an array of real numbers of any type, not copied; NaN and +inf are found later, with
    their places.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return checks.floats(name, value)  # refuses it, with the place
    return array
