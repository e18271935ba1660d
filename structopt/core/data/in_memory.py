"""Splits in memory, in the place of files: instances with their outputs, and what each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.core import checks
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

NAME = Path("<memory>")
"""Stands for a file's name in messages."""


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
    numbers = checks.floats(name, weights, (count,), least=0.0, place=checks.of_instance)
    if not numbers.any():
        raise ArgumentError("must be above 0 for at least one instance.", parameter=name)
    return numbers
