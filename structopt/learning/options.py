"""Parameters that several optimizers have: what they mean, and checks of their values.

The docstring of an optimizer says "See `structopt.learning.options`." of those that have no special
meaning there; then schemas take their texts from here (`structopt.config.schema`).

Parameters
----------
C : float, from 1e-12 to 1e12
    1/(lambda * m): the inverse of the regularisation.
epochs : int
    Passes over the data.
tolerance : float, from 0 to 1e12
    Stop when the certified gap, relative to the objective, falls below it; 0 never does. Needs
    `certificate`, where there is such a parameter.
certificate : bool
    Bound the optimum after every pass, at the cost of one evaluation of loss and gradient.
average : bool
    Return the mean of all iterates (before each update, one a visit) instead of the last one.
batch_size : int
    Instances a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from structopt.core.data import ranges
from structopt.errors import ConfigError


def check(C: float, epochs: int) -> None:
    """Refuse a C outside [1e-12, 1e12], and negative epochs."""
    positive("C", C)
    if epochs < 0:
        raise ConfigError(
            "must be at least 0.",
            parameter="optimizer.epochs",
            value=epochs,
        )


def positive(name: str, value: float) -> None:
    """Refuse a value outside [1e-12, 1e12]."""
    ranges.check_positive(f"optimizer.{name}", value)


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value below `least`, or above 1e12."""
    ranges.check_at_least(f"optimizer.{name}", value, least)


def one_of(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise ConfigError(
            f"is unknown. There are: {', '.join(choices)}.",
            parameter=f"optimizer.{name}",
            value=value,
        )


def refuse_tolerance(name: str, tolerance: float) -> None:
    """Refuse a tolerance where there is no gap to compare it with."""
    if tolerance != 0.0:
        raise ConfigError(
            "has no certified gap to compare with optimizer.tolerance; set it to 0.",
            parameter="optimizer",
            value=name,
        )


def check_tolerance(tolerance: float, certificate: bool = True) -> None:
    """Refuse a negative tolerance, and a positive one without a certificate to compare it with."""
    at_least("tolerance", tolerance, 0.0)
    if tolerance > 0 and not certificate:
        raise ConfigError(
            "needs a certified gap; add optimizer.certificate=true, or set it to 0.",
            parameter="optimizer.tolerance",
        )
