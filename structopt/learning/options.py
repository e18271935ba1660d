"""Checks that optimizers share: ranges of their options."""

from __future__ import annotations

from structopt.core.data import ranges
from structopt.errors import ConfigError


def check(C: float, epochs: int) -> None:
    """Refuse a C outside [1e-12, 1e12], and negative epochs."""
    positive("C", C)
    if epochs < 0:
        raise ConfigError(f"optimizer.epochs={epochs} must be at least 0.")


def positive(name: str, value: float) -> None:
    """Refuse a value outside [1e-12, 1e12]."""
    ranges.check_positive(f"optimizer.{name}", value)


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value below `least`, or above 1e12."""
    ranges.check_at_least(f"optimizer.{name}", value, least)


def refuse_tolerance(name: str, tolerance: float) -> None:
    """Refuse a tolerance where there is no gap to compare it with."""
    if tolerance != 0.0:
        raise ConfigError(f"optimizer={name} has no certified gap to compare with optimizer.tolerance; set it to 0.")


def check_tolerance(tolerance: float, certificate: bool = True) -> None:
    """Refuse a negative tolerance, and a positive one without a certificate to compare it with."""
    at_least("tolerance", tolerance, 0.0)
    if tolerance > 0 and not certificate:
        raise ConfigError("optimizer.tolerance needs a certified gap; add optimizer.certificate=true, or set it to 0.")
