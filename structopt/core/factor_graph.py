"""The contract of factor graphs: variables, soft factors and hard factors, laid out as parts; no scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from structopt.core.component import Component
from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.kernels.record import Array


class Calculus(NamedTuple):
    """Closed forms of the marginals of positional structures (signatures in `structopt.kernels.signatures`)."""

    entropy: Any
    slope: Any
    conditionals: Any


@dataclass(frozen=True)
class Pruning:
    """A model that leaves each variable few configurations, declared by a graph; the run trains or loads it.

    Attributes
    ----------
    model : str or None
        A run or model folder, or None: one is trained on the training corpus.
    ratio : float
        Configurations less likely than `ratio` times the likeliest go.
    max_heads : int
        The most that stay; 0 for no limit.
    epochs : int
        Passes of its training.
    C : float
        1/(lambda m) of its training.
    projective, single_root : bool
        Which trees it is trained on.
    """

    model: str | None
    ratio: float
    max_heads: int
    epochs: int
    C: float
    projective: bool
    single_root: bool


@dataclass(frozen=True)
class GraphTraits:
    """What a factor graph says of all its structures.

    Attributes
    ----------
    kind : str
        By which an inference finds its algorithms.
    anchored : bool
        Whether no part is ever tied: every factor has parts of its own, whatever is asked.
    pairs_only : bool
        Whether all factors are over two variables.
    labeled : bool
        Whether an output says the labels of the task; trees may go without the relations on their arcs.
    order : int
        Of chains: how many preceding labels a label depends on.
    """

    kind: str
    anchored: bool = False
    pairs_only: bool = False
    labeled: bool = True
    order: int = 1


class FactorGraph(Component):
    """Builds structures: variables, soft factors, hard factors; no scores."""

    kind_of_component: ClassVar[str] = "factor_graph"

    @property
    @abstractmethod
    def traits(self) -> GraphTraits:
        """What it says of all its structures."""

    @abstractmethod
    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of every instance; `positional`: every factor has parts of its own, none are tied."""

    @abstractmethod
    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Part indicators of the gold outputs."""

    @abstractmethod
    def cost(self, encoded: Encoded, structure: Structure, weights: Array, group: str = "") -> SparseVectors:
        """Cost p of eq. (8) up to a constant, from a cost for missing each variable's gold part.

        `group` names the part group that counts (the cost's `part_group`), empty for the first.
        """

    @property
    def kind(self) -> str:
        """Kind of the structures, by which an inference finds its algorithms."""
        return self.traits.kind

    @property
    def calculus(self) -> Calculus | None:
        """Closed forms of its positional structures, whose locally consistent marginals are marginals; None where it has none."""
        return None

    @property
    def rounding(self) -> Any:
        """Kernel of the signature `ROUND` that makes an output of fractional marginals; None where it has none."""
        return None

    @property
    def pruning(self) -> Pruning | None:
        """The model that is to prune its structures; None where none is."""
        return None

    def admit(self, encoded: Encoded) -> tuple[Encoded, str]:
        """Return the training corpus as the graph can represent it, and a sentence on what was changed, or the empty string."""
        return encoded, ""

    def outputs(self, encoded: Encoded, structure: Structure, assignments: Array) -> Array:
        """Turn the numbers of the chosen configurations, shape (variables,), into what the task decodes."""
        return assignments
