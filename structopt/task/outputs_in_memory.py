"""Outputs in memory: those that are gold, and those that predictions are to keep, open where they
are None.

They are lists, one entry an instance, and may be lists of a cell a token, word or variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.errors import ArgumentError, DataError, did_you_mean, first_few
from structopt.formats.in_memory.instances import shown
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class OutputLists:
    """Reads lists of outputs.

    Attributes
    ----------
    name : str
        What stands for a file's name in messages.
    open : bool
        Whether outputs and cells may be None.
    """

    name: str
    open: bool

    def refused(self, number: int | None, message: str) -> DataError:
        """Return the error for the output of an instance, counted from 1, or for all of them
        (None).
        """
        return DataError(self.name, number, message)

    def listed(self, outputs: Any, count: int, form: str) -> list[Any]:
        """Return the outputs as a list.

        Parameters
        ----------
        outputs : iterable
            One an instance.
        count : int
            Number of instances.
        form : str
            What the list of them looks like, for messages.

        Raises
        ------
        DataError
            What is no list, or has another length.
        """
        if not is_list(outputs):
            raise self.refused(
                None,
                f"{shown(outputs)} is not a list of outputs. Give one for every instance: {form}.",
            )
        if isinstance(outputs, (set, frozenset)):
            message = f"the outputs are a set, which has no order. Give a list of them: {form}."
            raise self.refused(None, message)
        entries = list(outputs)
        if len(entries) != count:
            message = (
                f"there are {len(entries)} outputs for {count} instances. Give one for every "
                f"instance: {form}."
            )
            raise self.refused(None, message)
        return entries

    def cells(self, output: Any, count: int, number: int, unit: str) -> list[Any]:
        """Return the cells of the output of instance `number`, from 1: as many as it has of a
        `unit`, which is in the plural.

        Raises
        ------
        DataError
            What is no list, or has another length.
        """
        if output is None and self.open:
            return [None] * count
        if not is_list(output):
            raise self.refused(
                number,
                f"the output {shown(output)} is not a list. Give one cell for each of the {count} "
                f"{unit}.",
            )
        if isinstance(output, (set, frozenset)):
            message = f"the output is a set, which has no order. Give a list of {count} cells."
            raise self.refused(number, message)
        cells = list(output)
        if len(cells) != count:
            advice = (
                "Give one cell for each, and None for open ones."
                if self.open
                else "Give one cell for each."
            )
            raise self.refused(
                number, f"the output has {len(cells)} cells for {count} {unit}. {advice}"
            )
        return cells


NOT_KNOWN = "is not a label of the model."
"""The problem of a given label, in files and in memory."""
GIVEN = OutputLists("<given>", True)
"""Outputs that predictions are to keep."""
GOLD = OutputLists("<outputs>", False)
"""Gold outputs, with which instances are trained on and scored."""


def is_list(value: Any) -> bool:
    """Whether a value is a list of entries: anything that is iterated over, but texts and
    mappings.
    """
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def label_number(label: Any, labels: Sequence[str], place: str) -> int:
    """Return the index of a given label; ArgumentError if the model does not have it."""
    if str(label) not in labels:
        raise unknown_label(label, labels, place)
    return list(labels).index(str(label))


def unknown_label(label: Any, labels: Sequence[str], place: str) -> ArgumentError:
    """Return the error for a given label that the model does not have."""
    return ArgumentError(
        f"{NOT_KNOWN}{did_you_mean(str(label), labels)}",
        parameter="given",
        value=label,
        where=place,
        remedy=f"Labels: {first_few(labels)}; None is open.",
    )


def kept_states(numbers: Sequence[int | None], states: int) -> Array:
    """Return which states each variable may have, bool, shape (variables, states): one, or all
    where it is None.
    """
    kept = np.array([-1 if number is None else number for number in numbers], np.int64)
    return np.asarray((np.arange(states) == kept[:, None]) | (kept < 0)[:, None])
