"""The contract of inferences: a convex function of the scores together with a (sub)gradient of
it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from structopt.core.ability import Ability
from structopt.core.component import Component
from structopt.core.data.structure import Structure
from structopt.core.entry_points import installed, name_of
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind import FactorAbility, FactorKind
from structopt.core.factor_kind_table import kind_named
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

WHAT = {
    FactorAbility.ROWS: "a linear description",
    FactorAbility.MAXIMUM: "a compiled maximum",
    FactorAbility.MARGINALS: "compiled marginals",
    FactorAbility.MESSAGES: "compiled messages",
}


class Messages(Enum):
    """Messages that an inference keeps between two visits of an instance.

    NONE: it passes no messages. FRESH: every visit begins with new ones. KEPT: a visit goes on with
    those of the last.
    """

    NONE = "none"
    FRESH = "fresh"
    KEPT = "kept"


class Inference(Component):
    """A convex function of the scores with a (sub)gradient.

    Attributes
    ----------
    decoding_temperature : float
        At which best outputs are read off its marginals; at 0 they are the maximiser's.
    of_factors : FactorAbility or None
        What it needs of every kind of factor in graphs of any factors; None: it takes only kinds
        that it knows.
    """

    kind_of_component: ClassVar[str] = "inference"

    decoding_temperature: float = 0.0
    of_factors: ClassVar[FactorAbility | None] = None

    @abstractmethod
    def provides(self, kind: StructureKind) -> Ability:
        """What the algorithms for that kind of structure can do; no ability where there are
        none.
        """

    @abstractmethod
    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Pick the algorithms for a kind of structure."""

    @property
    def messages(self) -> Messages:
        """What it keeps between visits."""
        return Messages.NONE

    def refusal(self, graph: FactorGraph) -> str:
        """Give the reason if it cannot solve the structures of a graph although it knows their
        kind, else the empty string.

        By default: kinds of factors (`FactorGraph.factor_kinds`) without what `of_factors` asks
        for.
        """
        return refusal_of_kinds(self, {name: kind_named(name) for name in graph.factor_kinds})

    def prepare(self, structure: Structure) -> Structure:
        """Return the structure with the memory and the scratch that it needs."""
        return structure

    def converged(self, structure: Structure | None = None) -> Inference:
        """Return the stateless inference whose value its own approaches in time: by that P is
        reported.

        Given the training structure it may be another and slower one, that is exact. Without it, it
        is the one for predictions, which must not depend on the messages of training.
        """
        return self

    def reports(self, graph: FactorGraph) -> Ability:
        """Return the abilities of `converged` on all training structures of a graph: P and its
        certificates are computed by it.
        """
        return self.provides(graph.kind)

    def untightened(self) -> Inference | None:
        """Return the inference whose upper bounds it tightens, or None."""
        return None

    def decoder(self) -> Inference:
        """Return the inference that predictions are made with."""
        return self.converged()

    def diagnostics(self, messages: Array) -> dict[str, float]:
        """Numbers for metrics.json about the last visits, from the messages of all instances."""
        return {}


def refusal_of_kinds(inference: Inference, kinds: Mapping[str, FactorKind]) -> str:
    """Give the reason if an inference cannot take one of the kinds of factors, given by their
    names, else the empty string.
    """
    for name, kind in kinds.items():
        for ability in (inference.of_factors or FactorAbility(0)) & ~kind.provides:
            return (
                f"inference={name_of('inference', inference)} needs {WHAT[ability]} of every kind "
                f"of factor, and factor_kind={name} has none. Inferences that can take it: "
                f"{', '.join(_taking(kind.provides)) or 'none'}."
            )
    return ""


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
