"""Refusals of inferences on graphs of variables and factors: other structures, temperatures, kinds
of factors.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from structopt.core.entry_points import installed
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind import FactorAbility, FactorKind
from structopt.core.factor_kind_table import component_of, kind_named, kind_of
from structopt.core.inference import Inference
from structopt.core.structure_kind import StructureKind
from structopt.errors import CompatibilityError, ConfigError
from structopt.kernels.waist.record import Array, Record

WHAT = {
    FactorAbility.ROWS: "a linear description",
    FactorAbility.MAXIMUM: "a compiled maximum",
    FactorAbility.MARGINALS: "compiled marginals",
    FactorAbility.MESSAGES: "compiled messages",
}


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
            remedy="Set inference=exact.",
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
    from structopt.kernels.loopy.factors import FACTORS

    numbers = open_numbers(FACTORS.open(record).kinds)
    kinds = {str(component_of(number)): kind_of(number) for number in numbers}
    if reason := _refusal(name, inference, kinds):
        raise CompatibilityError(reason)
    if (inference.of_factors or FactorAbility(0)) & ~FactorAbility.ROWS:
        from structopt.kernels.loopy.open_kinds import put

        for number, kind in zip(numbers, kinds.values(), strict=True):
            put(number, kind.hard, tuple(kind.kernels))


def refusal_of_kinds(name: str, inference: Inference, graph: FactorGraph) -> str:
    """Give the reason if an inference cannot take a kind of factor of a graph
    (`FactorGraph.factor_kinds`), else the empty string.
    """
    return _refusal(name, inference, {kind: kind_named(kind) for kind in graph.factor_kinds})


def _refusal(name: str, inference: Inference, kinds: Mapping[str, FactorKind]) -> str:
    """Give the reason for kinds by their names."""
    for kind_name, kind in kinds.items():
        for ability in (inference.of_factors or FactorAbility(0)) & ~kind.provides:
            return (
                f"inference={name} needs {WHAT[ability]} of every kind of factor, and "
                f"factor_kind={kind_name} has none. Inferences that can take it: "
                f"{', '.join(_taking(kind.provides)) or 'none'}."
            )
    return ""


def open_numbers(kinds: Array) -> list[int]:
    """Numbers among the kinds of factors that the core does not know, but plugins bring."""
    from structopt.kernels.loopy.factors import FIRST_OPEN

    numbers: list[int] = np.unique(kinds[kinds >= FIRST_OPEN]).tolist()
    return numbers


def _taking(provided: FactorAbility) -> list[str]:
    """Names of the installed inferences for which this is enough."""
    names = []
    for name, component in installed("inference").items():
        try:
            asked: FactorAbility | None = component.load(Inference).of_factors
        except ConfigError:  # it cannot be imported: then it is no advice either
            continue
        names += [name] if asked is not None and not asked & ~provided else []
    return names
