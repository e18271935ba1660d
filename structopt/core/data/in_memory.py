"""Splits in memory, in the place of files: instances with their outputs, and what each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structopt.errors import ConfigError
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
    """Return weights of instances as numbers, float64, shape (count,).

    Raises
    ------
    ConfigError
        Weights that are not as many, no finite numbers, below 0, or all 0.
    """
    try:
        numbers = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            "The weights of instances are no numbers. Give one number from 0 on for every instance."
        ) from None
    if numbers.shape != (count,):
        raise ConfigError(
            f"The weights have the shape {numbers.shape} for {count} instances. Give one for "
            "every instance."
        )
    if not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise ConfigError(
            "The weights of instances must be finite numbers from zero on, and not all zero."
        )
    return np.ascontiguousarray(numbers)
