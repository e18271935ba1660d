"""Splits in memory, in the place of files: instances with their outputs, and what each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import is_
from pathlib import Path
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

NAME = Path("<memory>")
"""Stands for a file's name in messages."""
PLAIN = frozenset({str, dict, int, float, bool})
"""Types of most elements; their values are not searched."""
FREE = ("_", "?")
"""Labels that leave every label open."""
EITHER = "|"
"""Joins several labels, one of them right."""
DEEPEST = 3
"""Instances, their elements, and the cells of an element."""


def read_once(name: str, value: Any, depth: int = DEEPEST) -> Any:
    """Return an argument with iterators replaced by lists, so that it can be read again.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Generators, maps, zips and other iterators, also within lists and tuples, become lists; all
        other values are returned as they are.
    depth : int
        How many levels of lists are searched.

    Raises
    ------
    ArgumentError
        For a set of instances: its order differs between processes.
    """
    if isinstance(value, (set, frozenset)):
        raise ArgumentError(
            "is a set, which has no order.", parameter=name, remedy="Give a list of instances."
        )
    if type(value) is list and depth == DEEPEST and _is_plain(value):
        return value
    return _read_once(value, depth)


def _is_plain(instances: list[Any]) -> bool:
    """Whether instances are lists whose elements need no search, as most are."""
    if not set(map(type, instances)) <= {list, tuple}:
        return False
    return set(map(type, chain.from_iterable(instances))) <= PLAIN


def _read_once(value: Any, depth: int) -> Any:
    if type(value) not in (list, tuple):
        if not hasattr(type(value), "__next__"):
            return value
        value = list(value)
    if depth <= 1:
        return value
    # the types of the elements are few: most sentences are returned without a look at each token
    kinds = set(map(type, value))
    if kinds <= PLAIN or not any(map(_is_searched, kinds, repeat(depth - 1))):
        return value
    elements = [_read_once(element, depth - 1) for element in value]
    return value if all(map(is_, elements, value)) else elements


def _is_searched(kind: type, depth: int) -> bool:
    """Whether values of a type are iterators, or lists whose elements may be."""
    return hasattr(kind, "__next__") or (depth > 1 and kind in (list, tuple))


@dataclass(frozen=True)
class InMemory:
    """A split in memory.

    Attributes
    ----------
    instances, outputs : sequence
        As the task's `labelled` takes them.
    weights : float64, shape (instances,), or None
        w_i, by which the loss of each instance counts in training: P = lambda/2 ||theta||^2 + (1/m)
        sum_i w_i L_i; None: all 1.
    """

    instances: Sequence[Any]
    outputs: Sequence[Any]
    weights: Array | None = None


def checked_weights(weights: Any, count: int) -> Array:
    """Return the weights of instances, float64, shape (count,).

    Parameters
    ----------
    weights : array-like
        The argument `sample_weight` of the user.
    count : int
        Number of instances.

    Raises
    ------
    ArgumentError
        If the weights have another shape, are not finite numbers, are below 0, or are all 0.
    """
    name = "sample_weight"
    weights = read_once(name, weights, 1)
    numbers = checks.floats(name, weights, (count,), least=0.0, place=checks.of_instance)
    if not numbers.any():
        raise ArgumentError("must be above zero for at least one instance.", parameter=name)
    return numbers


def is_missing(cell: object) -> bool:
    """Whether a label is missing: None, NaN, pandas' NA, or a string without characters."""
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, (float, np.floating)):
        return bool(cell != cell)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")  # pandas need not be loaded


def is_open(label: str) -> bool:
    """Whether a label is left open: ``_`` or ``?``, or several labels such as ``A|B``."""
    return label in FREE or EITHER in label
