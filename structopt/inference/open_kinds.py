"""The kinds of factors that the core does not know: whether an inference can take them, and what its kernels need of them."""

from __future__ import annotations

import numpy as np

from structopt.core.entry_points import installed
from structopt.core.factor_kind import FactorAbility
from structopt.core.factor_kind_table import component_of, kind_of
from structopt.core.inference import Inference
from structopt.errors import CompatibilityError, ConfigError
from structopt.kernels.loopy.factors import FACTORS, FIRST_OPEN
from structopt.kernels.waist.record import Array, Record

WHAT = {
    FactorAbility.ROWS: "a linear description",
    FactorAbility.MAXIMUM: "a compiled maximum",
    FactorAbility.MARGINALS: "compiled marginals",
    FactorAbility.MESSAGES: "compiled messages",
}


def admit_kinds(name: str, inference: Inference, record: Record) -> None:
    """Let an inference's kernels know the kinds of factors of a record, in this process.

    Parameters
    ----------
    name : str
        Of the inference.
    inference : Inference
        Asks for what it needs by `of_factors`.
    record : Record
        Of factor graphs.

    Raises
    ------
    CompatibilityError
        For a kind that lacks something, naming the inferences that can take it.
    """
    for number in open_numbers(record):
        kind, asked = kind_of(number), inference.of_factors or FactorAbility(0)
        for ability in asked & ~kind.provides:
            component, others = component_of(number), ", ".join(_taking(kind.provides)) or "none"
            raise CompatibilityError(
                f"inference={name} needs {WHAT[ability]} of every kind of factor, and factor_kind={component} has none. "
                f"Inferences that can take it: {others}."
            )
        if asked & ~FactorAbility.ROWS:
            from structopt.kernels.loopy.open_kinds import put

            put(number, kind.hard, tuple(kind.kernels))


def open_scratch(record: Record, parts: Array) -> tuple[int, int]:
    """Floats and ints that any factor of such a kind needs, given how many parts the linked variables of each factor have."""
    f, floats, ints = FACTORS.open(record), 0, 0
    for number in open_numbers(record):
        own = np.flatnonzero(f.kinds == number)
        wanted = kind_of(number).scratch(parts[own], f.extras[own], f.extra)
        floats, ints = max(floats, wanted[0]), max(ints, wanted[1])
    return floats, ints


def open_numbers(record: Record) -> list[int]:
    """Numbers of the kinds in a record that the core does not know."""
    kinds = FACTORS.open(record).kinds
    numbers: list[int] = np.unique(kinds[kinds >= FIRST_OPEN]).tolist()
    return numbers


def _taking(provided: FactorAbility) -> list[str]:
    """Names of the installed inferences that can do with this."""
    found = []
    for name, component in installed("inference").items():
        try:
            asked: FactorAbility | None = component.load(Inference).of_factors
        except ConfigError:  # it cannot be imported: then it is no advice either
            continue
        found += [name] if asked is not None and not asked & ~provided else []
    return found
