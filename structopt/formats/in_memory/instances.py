"""Checks of instances in memory, the same for all tasks: what is refused, in one line that shows
the right form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from structopt.core.data import ranges
from structopt.errors import DataError

MEMORY = "<memory>"


@dataclass(frozen=True)
class Form:
    """The form of the instances of a task.

    Attributes
    ----------
    unit : str
        What one instance is called: sentence, image.
    advice : str
        How the instances are written, with an example; the end of every message.
    """

    unit: str
    advice: str

    def refused(self, number: int | None, message: str) -> DataError:
        """Return the error for an instance, counted from 1, or for all of them (None)."""
        return DataError(
            MEMORY, number, f"{message}{'' if message.endswith('?') else '.'} {self.advice}"
        )

    def listed(self, instances: Iterable[Any]) -> list[Any]:
        """Return the instances as a list.

        Raises
        ------
        DataError
            A string or a mapping, which is no list of instances, or what cannot be iterated over.
        """
        if isinstance(instances, (str, bytes)):
            raise self.refused(None, f"the instances are one string, {shown(instances)}")
        if isinstance(instances, Mapping):
            raise self.refused(None, f"the instances are one mapping, of {_keys(instances)}")
        if isinstance(instances, (set, frozenset)):
            raise self.refused(None, "the instances are a set, which has no order")
        return self._iterated(None, instances, "the instances are")

    def elements(self, number: int, instance: Any, unit: str = "") -> list[Any]:
        """Return the elements of an instance, or of a `unit` of it, as a list; a string is no list
        of its letters.

        Raises
        ------
        DataError
            A string, or what cannot be iterated over.
        """
        unit = unit or self.unit
        if isinstance(instance, (str, bytes)):
            raise self.refused(number, f"a {unit} is one string, {shown(instance)}")
        if isinstance(instance, (set, frozenset)):
            raise self.refused(number, f"a {unit} is a set, which has no order")
        return self._iterated(number, instance, f"a {unit} is")

    def number(self, number: int, name: str, value: Any) -> float:
        """Return the value of an attribute; DataError where it is no number that can be computed
        with.
        """
        try:
            converted = float(value)
        except (TypeError, ValueError, OverflowError):
            converted = nan
        if fault := ranges.fault(converted):
            raise self.refused(number, f"the value {shown(value)} of {name} {fault}")
        return converted

    def strings(self, number: int, name: str, cells: Iterable[Any]) -> list[str]:
        """Return the cells of a column, or names of attributes, as a list; DataError where one is
        no string.
        """
        column = self.elements(number, cells, f"column '{name}'")
        for cell in () if set(map(type, column)) <= {str} else column:
            if not isinstance(cell, str):
                raise self.refused(number, f"{shown(cell)} in '{name}' is not a string")
        return column

    def _iterated(self, number: int | None, instance: Any, what: str) -> list[Any]:
        try:
            return list(instance)
        except TypeError:
            raise self.refused(number, f"{what} {shown(instance)}, which is no list") from None


def _keys(mapping: Mapping[Any, Any]) -> str:
    return ", ".join(map(shown, list(mapping)[:4])) + (", ..." if len(mapping) > 4 else "")


def shown(value: object) -> str:
    """Return the first 30 characters of a value's `repr`, in one line; NumPy's scalars look like
    Python's.
    """
    value = value.item() if isinstance(value, np.generic) else value
    text = " ".join(repr(value).split())
    return text if len(text) <= 30 else f"{text[:30]}..."
