"""What a component's `state` wrote, read back: each entry is compared with what the component
expects when it takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from structopt.errors import ModelError
from structopt.kernels.waist.record import Array

VALUES, ARRAYS = "vocabulary.json", "weights.safetensors"
"""The files of a model folder that hold the JSON values and the arrays."""
LARGEST_SIZE = 2**40
"""Sizes and counts are below this, so that products of two of them with a weight's width stay
within int64.
"""


class SavedState:
    """The JSON values and the arrays of a saved component, whose `restore` takes every entry
    through one of the methods.

    Whatever can be read with them is of the type, the shape and the range that was asked for, so
    that kernels may trust it.

    Parameters
    ----------
    values : mapping of str to JSON value
    arrays : mapping of str to array
    inside, prefix : str
        Where the values stand in those of the component, such as ``features.``, and what its names
        of these arrays begin with; empty for all of them.

    Raises
    ------
    ModelError
        From every method, where an entry is missing or not as asked for: its file and name, what is
        expected, what is there.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        arrays: Mapping[str, Array],
        inside: str = "",
        prefix: str = "",
    ) -> None:
        self.values, self.arrays, self._inside, self._prefix = values, arrays, inside, prefix
        if not isinstance(values, Mapping):
            raise ModelError(
                f"must be a mapping, and is {_shown(values)}.",
                where=VALUES,
                parameter=inside.rstrip(".") or "this",
            )

    def refuse(self, name: str, expected: str) -> NoReturn:
        """Raise the error that says what a value must be, and what it is."""
        raise ModelError(
            f"must be {expected}, and is {_shown(self.values.get(name))}.",
            where=VALUES,
            parameter=f"{self._inside}{name}",
        )

    def refuse_array(self, name: str, expected: str) -> NoReturn:
        """Raise the error that says what an array must be, and what it is."""
        shown = _shown(self.arrays[name]) if name in self.arrays else "missing"
        raise ModelError(
            f"must be {expected}, and is {shown}.",
            where=ARRAYS,
            parameter=f"the array {self._prefix}{name}",
        )

    def within(self, name: str, prefix: str = "") -> SavedState:
        """The entries of a mapping among the values, and the arrays whose names begin with
        `prefix`, by the rest of the names.
        """
        arrays = {
            key.removeprefix(prefix): array
            for key, array in self.arrays.items()
            if key.startswith(prefix)
        }
        return SavedState(
            self._value(name), arrays, f"{self._inside}{name}.", self._prefix + prefix
        )

    def each(self, name: str) -> list[SavedState]:
        """The mappings of a list among the values."""
        entries = self._list(name, "a list of mappings")
        return [
            SavedState(entry, self.arrays, f"{self._inside}{name}.{i}.", self._prefix)
            for i, entry in enumerate(entries)
        ]

    def whole(self, name: str, least: int = 0, most: int = LARGEST_SIZE) -> int:
        """A whole number from `least` to `most`."""
        value = self._value(name)
        if not _is_whole(value) or not least <= value <= most:
            self.refuse(name, f"a whole number from {least} to {most}")
        return int(value)

    def wholes(self, name: str, least: int = 0, most: int = LARGEST_SIZE) -> list[int]:
        """A list of whole numbers from `least` to `most`."""
        entries = self._list(name, expected := f"a list of whole numbers from {least} to {most}")
        if not all(_is_whole(entry) and least <= entry <= most for entry in entries):
            self.refuse(name, expected)
        return [int(entry) for entry in entries]

    def triples(self, name: str) -> list[tuple[int, int, int]]:
        """A list of lists of three whole numbers from 0."""
        entries = self._list(name, expected := "a list of lists of three whole numbers from 0")
        for entry in entries:
            if (
                not isinstance(entry, (list, tuple))
                or len(entry) != 3
                or not all(_is_whole(one) and one >= 0 for one in entry)
            ):
                self.refuse(name, expected)
        return [(entry[0], entry[1], entry[2]) for entry in entries]

    def positive(self, name: str) -> float:
        """A finite number above 0."""
        value = self._value(name)
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not _is_finite(value)
            or value <= 0
        ):
            self.refuse(name, "a finite number above 0")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._value(name)
        if not isinstance(value, bool):
            self.refuse(name, "true or false")
        return bool(value)

    def string(self, name: str, known: Sequence[str] = ()) -> str:
        """A string, one of `known` where there are any."""
        value = self._value(name)
        if not isinstance(value, str) or known and value not in known:
            self.refuse(name, f"one of {', '.join(known)}" if known else "a string")
        return str(value)

    def strings(self, name: str, distinct: bool = True, least: int = 0) -> list[str]:
        """A list of strings, at least so many, of which no two are equal unless that is allowed."""
        words = f"a list of {'distinct ' if distinct else ''}strings"
        entries = self._list(name, words)
        if (
            not all(isinstance(entry, str) for entry in entries)
            or distinct
            and len(set(entries)) < len(entries)
        ):
            self.refuse(name, words)
        if len(entries) < least:
            self.refuse(name, f"{words}, at least {least} of them")
        return list(entries)

    def lists(self, name: str) -> list[list[str]]:
        """A list of lists of strings."""
        entries = self._list(name, expected := "a list of lists of strings")
        if not all(
            isinstance(entry, (list, tuple)) and all(isinstance(one, str) for one in entry)
            for entry in entries
        ):
            self.refuse(name, expected)
        return [list(entry) for entry in entries]

    def numbered(self, name: str, least: int, most: int) -> dict[str, int]:
        """A mapping of strings to whole numbers from `least` to `most`."""
        value = self._value(name)
        if not isinstance(value, Mapping) or not all(
            _is_whole(one) and least <= one <= most for one in value.values()
        ):
            self.refuse(name, f"a mapping of names to whole numbers from {least} to {most}")
        return {str(key): int(one) for key, one in value.items()}

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...] = (None,)) -> Array:
        """An array of this type and shape (None: any length), whose numbers are finite."""
        array, dtype = self.arrays.get(name), np.dtype(dtype)
        lengths = " x ".join("any" if length is None else str(length) for length in shape)
        if (
            array is None
            or array.dtype != dtype
            or array.ndim != len(shape)
            or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True))
        ):
            self.refuse_array(name, f"of type {dtype} and shape {lengths}")
        if dtype.kind == "f" and not np.isfinite(array).all():
            self.refuse_array(
                name, f"finite: {int(np.count_nonzero(~np.isfinite(array)))} of its numbers are not"
            )
        return np.ascontiguousarray(array)

    def offsets(self, name: str, end: int) -> Array:
        """Offsets, int64: from 0, never falling, the last of them `end`."""
        offsets = self.array(name, np.int64)
        if (
            not len(offsets)
            or offsets[0] != 0
            or offsets[-1] != end
            or (np.diff(offsets) < 0).any()
        ):
            self.refuse_array(name, f"offsets that begin at 0, never fall, and end at {end}")
        return offsets

    def ascending(self, name: str, array: Array, below: int) -> Array:
        """Numbers that were taken from the array `name`, if they ascend from 0 or more and stay
        below a bound.
        """
        if len(array) and (array[0] < 0 or array[-1] >= below or (np.diff(array) <= 0).any()):
            self.refuse_array(name, f"numbers from 0 that ascend and stay below {below}")
        return array

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise ModelError("is missing.", where=VALUES, parameter=f"{self._inside}{name}")
        return self.values[name]

    def _list(self, name: str, expected: str) -> list[Any]:
        value = self._value(name)
        if not isinstance(value, (list, tuple)):
            self.refuse(name, expected)
        return list(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _shown(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape)) or "no dimension"
        return f"of type {value.dtype} and shape {shape}" + (
            f", from {value.min()} to {value.max()}" if value.size else ""
        )
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a whole number of more than 20 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
