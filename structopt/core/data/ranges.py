"""Ranges of numbers: values of features in data, and settings; what is refused, and the messages.

Learning multiplies values, weights and scores with each other and squares them. The bounds leave
room for that: what lies within them may still overflow together, which is an error when it happens.
"""

from __future__ import annotations

from math import inf, isfinite, nan

import numpy as np

from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array

LARGEST_VALUE = 1e100
"""Values of features are at most this in absolute value."""
SMALLEST, LARGEST = 1e-12, 1e12
"""Range of the numbers of losses and optimizers that must be greater than 0; of others, the
most.
"""


def fault(value: float) -> str:
    """Say why a number cannot be a feature's value, as ``is ...``; the empty string where it
    can.
    """
    if not isfinite(value):
        return "is not a finite number"
    if abs(value) > LARGEST_VALUE:
        return f"is above {LARGEST_VALUE:g} in absolute value, too large to compute with"
    return ""


def number(text: str) -> float:
    """Return the number that a text is in a data file; nan where it is none, as where Python would
    read 1_0, or other digits.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else nan
    except ValueError:
        return nan


def first_fault(values: Array) -> int:
    """Index of the first number that cannot be a feature's value; -1 where all can."""
    sound = np.abs(values.astype(np.float64, copy=False)) <= LARGEST_VALUE  # false for nan
    return -1 if sound.all() else int(np.argmin(sound))


def finite(array: Array) -> bool:
    """Whether all numbers of an array are finite; costs one sum, unless there is one that is
    not.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(array.sum())
    return isfinite(total) or bool(np.isfinite(array).all())


def check_positive(parameter: str, value: float) -> None:
    """Refuse an argument outside [1e-12, 1e12].

    Raises
    ------
    ArgumentError
        With the parameter, the value and the range.
    """
    if not SMALLEST <= value <= LARGEST:
        raise ArgumentError(
            f"must be greater than 0 and finite: from {SMALLEST:g} to {LARGEST:g}.",
            parameter=parameter,
            value=value,
        )


def check_at_least(parameter: str, value: float, least: float = 0.0) -> None:
    """Refuse an argument below `least`, or above 1e12.

    Raises
    ------
    ArgumentError
        With the parameter, the value and the range.
    """
    if not least <= value <= LARGEST:
        raise ArgumentError(
            f"must be at least {least:g} and finite: from {least:g} to {LARGEST:g}.",
            parameter=parameter,
            value=value,
        )


def check_inverse_temperature(parameter: str, value: float) -> None:
    """Refuse an inverse temperature that is neither in [1e-12, 1e12] nor infinite.

    Raises
    ------
    ArgumentError
        With the parameter, the value and the range.
    """
    if value != inf and not SMALLEST <= value <= LARGEST:
        raise ArgumentError(
            f"must be in (0, inf]: from {SMALLEST:g} to {LARGEST:g}, or inf. "
            "beta=1 gives CRFs, beta=inf margins.",
            parameter=parameter,
            value=value,
        )
