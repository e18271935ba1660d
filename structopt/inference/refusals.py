"""Refusals of inferences on graphs of variables and factors: other structures, temperatures, kinds
of factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structopt.core.factor_kind import FactorAbility
from structopt.core.factor_kind_table import component_of, kind_of
from structopt.core.inference import Inference, refusal_of_kinds
from structopt.core.structure_kind import StructureKind
from structopt.errors import CompatibilityError, ConfigError
from structopt.kernels.waist.record import Array, Record

if TYPE_CHECKING:
    from structopt.kernels.loopy.factors import Factors


def check_kind(name: str, kind: StructureKind) -> None:
    """Refuse structures other than graphs of variables and factors.

    Raises
    ------
    CompatibilityError
    """
    if not kind.loopy:
        raise CompatibilityError(
            f"solves factor graphs of kind 'factors', not '{kind}'.",
            parameter="inference",
            value=name,
            remedy="Use Exact().",
        )


def check_temperature(name: str, temperature: float) -> None:
    """Refuse to give marginals.

    Raises
    ------
    ConfigError
    """
    if temperature != 0.0:
        raise ConfigError(
            f"only maximises: it has no marginals at temperature {temperature:g}.",
            parameter="inference",
            value=name,
        )


def admit_kinds(inference: Inference, record: Record) -> None:
    """Let an inference's kernels know the kinds of factors of a record, in this process.

    Parameters
    ----------
    inference : Inference
        Asks for what it needs by `of_factors`.
    record : Record
        Of factor graphs.

    Raises
    ------
    CompatibilityError
        For a kind that lacks something, naming the inferences that can take it.
    """
    from structopt.kernels.loopy.factors import FACTORS

    numbers = open_numbers(FACTORS.open(record).kinds)
    kinds = {str(component_of(number)): kind_of(number) for number in numbers}
    if reason := refusal_of_kinds(inference, kinds):
        raise CompatibilityError(reason)
    if (inference.of_factors or FactorAbility(0)) & ~FactorAbility.ROWS:
        from structopt.kernels.loopy.open_kinds import put

        for number, kind in zip(numbers, kinds.values(), strict=True):
            put(number, kind.hard, tuple(kind.kernels))


def check_tables(name: str, what: str, f: Factors) -> None:
    """Refuse factors other than tables over two variables.

    Parameters
    ----------
    name : str
        Class of the inference.
    what : str
        Verb and object of a sentence about its work.
    f : Factors

    Raises
    ------
    CompatibilityError
    """
    from structopt.kernels.loopy.factors import TABLE

    numbers = np.unique(f.kinds[f.kinds != TABLE]).tolist()
    others = [component_of(number).name.upper() for number in numbers]
    if others or (f.widths < 2).any():
        unfit = (
            f"factors of other kinds: {', '.join(others)}"
            if others
            else "variables that are not listed state by state"
        )
        raise CompatibilityError(
            f"{what}, and this factor graph has {unfit}.",
            parameter="inference",
            value=name,
            remedy="Use AD3(), which takes all kinds, or LP() or ILP().",
        )


def open_numbers(kinds: Array) -> list[int]:
    """Numbers among the kinds of factors that the core does not know, but plugins bring."""
    from structopt.kernels.loopy.factors import FIRST_OPEN

    numbers: list[int] = np.unique(kinds[kinds >= FIRST_OPEN]).tolist()
    return numbers
