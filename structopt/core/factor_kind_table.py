"""The installed kinds of factors, by name and by their number in records.

The core's kinds have the numbers of `structopt.kernels.loopy.factors`. That of any other follows
from its name alone, so that records mean the same in every process and on disk, whatever is
installed there, and in whatever order kinds are used.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from zlib import crc32

from structopt.core.entry_points import Installed, installed
from structopt.core.factor_kind import FactorKind
from structopt.errors import ConfigError, did_you_mean


@cache
def number_of(name: str) -> int:
    """Return the number of an installed kind.

    Raises
    ------
    ConfigError
        If no such kind is installed, or two kinds have one number.
    """
    known = installed("factor_kind")
    if name not in known:
        listing = ", ".join(map(str, known.values()))
        raise ConfigError(
            f"factor_kind '{name}' is not installed.{did_you_mean(name, known)} Installed: "
            f"{listing}"
        )
    number = _number(name)
    if rivals := [other for other in known if other != name and _number(other) == number]:
        owners = f"{known[name]} and {known[rivals[0]]}"
        raise ConfigError(
            f"factor_kind: {owners} have the same number in records, {number}.",
            remedy="Rename one of them.",
        )
    return number


def kind_named(name: str) -> FactorKind:
    """Return an installed kind; it loads no compiled code."""
    return _made(installed("factor_kind")[name])


def kind_of(number: int) -> FactorKind:
    """Return the kind that has a number in records.

    Raises
    ------
    ConfigError
        If no such kind is installed, or it cannot be imported.
    """
    return _made(component_of(number))


@cache
def component_of(number: int) -> Installed:
    """Return the component that has a number in records.

    Raises
    ------
    ConfigError
        If none of the installed kinds has that number.
    """
    known = installed("factor_kind")
    numbered = {_number(name): component for name, component in known.items()}
    if number not in numbered:
        listing = ", ".join(map(str, known.values()))
        raise ConfigError(
            f"A factor graph has factors of kind {number}, and no installed factor_kind "
            "has that number.",
            remedy=f"Install the package that built the graph. Installed: {listing}",
        )
    return numbered[number]


def _number(name: str) -> int:
    """Numbers of kinds beyond the core's are positive int32, none below `FIRST_OPEN`."""
    from structopt.kernels.loopy.factors import FIRST_OPEN, NUMBERS

    return NUMBERS.get(name, FIRST_OPEN + crc32(name.encode()) % (2**31 - FIRST_OPEN))


@cache
def _made(component: Installed) -> FactorKind:
    cls: Any = component.load(FactorKind)
    kind: FactorKind = cls()
    return kind
