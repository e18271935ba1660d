"""Gold outputs in memory, with which instances are trained on and scored: as many as there are instances, each in its form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structopt.errors import DataError
from structopt.formats.in_memory.instances import shown

OUTPUTS = "<outputs>"
"""Stands for a file's name in messages."""


def refused(number: int | None, message: str) -> DataError:
    """Return the error for the output of an instance, counted from 1, or for all of them (None)."""
    return DataError(OUTPUTS, number, message)


def gold_list(outputs: Any, count: int, form: str) -> list[Any]:
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
    if isinstance(outputs, (str, bytes, Mapping)) or not isinstance(outputs, Iterable):
        raise refused(None, f"{shown(outputs)} is no list of outputs. Give one for every instance: {form}.")
    entries = list(outputs)
    if len(entries) != count:
        raise refused(None, f"there are {len(entries)} outputs for {count} instances. Give one for every instance: {form}.")
    return entries


def gold_cells(output: Any, count: int, number: int, unit: str) -> list[Any]:
    """Return the cells of the output of instance `number`, from 1: as many as it has of a `unit`, which is in the plural.

    Raises
    ------
    DataError
        What is no list, or has another length.
    """
    if isinstance(output, (str, bytes, Mapping)) or not isinstance(output, Iterable):
        raise refused(number, f"the output {shown(output)} is no list. Give one cell for each of the {count} {unit}.")
    cells = list(output)
    if len(cells) != count:
        raise refused(number, f"the output has {len(cells)} cells for {count} {unit}. Give as many.")
    return cells


def gold_elements(output: Any, number: int, what: str, advice: str) -> list[Any]:
    """Return the elements of the output of instance `number`, from 1, or of a part of it: any number of them.

    Raises
    ------
    DataError
        What is no list: it says that it is none of `what`, in the plural, and gives the `advice`.
    """
    if isinstance(output, (str, bytes, Mapping)) or not isinstance(output, Iterable):
        raise refused(number, f"the output {shown(output)} is no list of {what}. {advice}")
    return list(output)


def gold_sets(outputs: Any, count: int) -> list[tuple[Any, ...]]:
    """Return sets of labels, one an instance, each as a tuple.

    Raises
    ------
    DataError
        What is no list of lists, has another length, or names a label twice.
    """
    sets = []
    for number, output in enumerate(gold_list(outputs, count, "[['a', 'b'], []]"), 1):
        labels = tuple(gold_elements(output, number, "labels", "Write [['a', 'b'], []]."))
        if len(set(labels)) < len(labels):
            raise refused(number, f"a label stands twice in {shown(list(labels))}. Keep one of them.")
        sets.append(labels)
    return sets
