"""Outputs in memory that predictions are to keep: None, or a list as long as the output with None where it is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structopt.errors import DataError, did_you_mean, first_few
from structopt.formats.in_memory.instances import shown
from structopt.kernels.waist.record import Array

GIVEN = "<given>"
"""Stands for a file's name in messages."""


def refused(number: int | None, message: str) -> DataError:
    """Return the error for the output of an instance, counted from 1, or for all of them (None)."""
    return DataError(GIVEN, number, message)


def listed_outputs(outputs: Any, count: int, form: str) -> list[Any]:
    """Return the outputs as a list.

    Parameters
    ----------
    outputs : sequence
        One an instance; None for an instance that is wholly open.
    count : int
        Number of instances.
    form : str
        What the list of them looks like, for messages.

    Raises
    ------
    DataError
        What is no list, or has another length.
    """
    if isinstance(outputs, (str, bytes, Mapping)) or not isinstance(outputs, Iterable):
        raise refused(None, f"given={shown(outputs)} is no list of outputs. Give one for every instance: {form}.")
    entries = list(outputs)
    if len(entries) != count:
        raise refused(None, f"given has {len(entries)} outputs for {count} instances. Give one for every instance: {form}.")
    return entries


def listed_cells(output: Any, count: int, number: int, unit: str) -> list[Any]:
    """Return the cells of one output, None where they are open.

    Parameters
    ----------
    output : sequence or None
    count : int
        How many there must be.
    number : int
        Of the instance, from 1.
    unit : str
        What has a cell, in the plural.

    Raises
    ------
    DataError
        What is no list, or has another length.
    """
    if output is None:
        return [None] * count
    if isinstance(output, (str, bytes, Mapping)) or not isinstance(output, Iterable):
        raise refused(number, f"the given output {shown(output)} is no list. Give one cell for each of the {count} {unit}.")
    cells = list(output)
    if len(cells) != count:
        message = f"the given output has {len(cells)} cells for {count} {unit}. Give as many, with None where it is open."
        raise refused(number, message)
    return cells


def label_number(label: Any, labels: Sequence[str], number: int) -> int:
    """Return the number of a label; DataError where the model does not have it."""
    if str(label) not in labels:
        hint = did_you_mean(str(label), labels)
        raise refused(number, f"the given label {shown(label)} is not one of the model's.{hint} Labels: {first_few(labels)}.")
    return list(labels).index(str(label))


def kept_states(numbers: Sequence[int | None], states: int) -> Array:
    """Return which states each variable may have, bool, shape (variables, states): one, or all where it is None."""
    kept = np.array([-1 if number is None else number for number in numbers], np.int64)
    return np.asarray((np.arange(states) == kept[:, None]) | (kept < 0)[:, None])
