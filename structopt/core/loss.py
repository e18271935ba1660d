"""The contract of losses: scores and gold of one instance to a loss and its residual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from structopt.core.ability import Ability
from structopt.core.component import Component
from structopt.kernels.waist.record import Array

MAX_LOSS = "max_loss"
"""The variant that every loss has: the residual at the output that maximises the loss."""


class Beginning(NamedTuple):
    """The convex loss that training begins with, and for how many passes."""

    loss: Loss
    passes: int


class Loss(Component):
    """Scores and gold of one instance to a loss and its residual.

    Attributes
    ----------
    gamma : float
        Weight of the cost; 0 for losses without.
    convex : bool
        Whether it is a convex function of the scores.
    in_family : bool
        Whether it is a member of the family L_{beta,gamma}, whose dual the dual methods climb.
    takes_sets : bool
        Whether its kernel looks for targets that are sets of outputs (`is_set`); others would take
        such a set for no gold at all.
    """

    kind_of_component: ClassVar[str] = "loss"

    gamma: float = 0.0
    convex: bool = True
    in_family: bool = False
    takes_sets: bool = False

    @property
    @abstractmethod
    def temperature(self) -> float:
        """1/beta; 0 for losses that maximise."""

    @property
    @abstractmethod
    def requires(self) -> Ability:
        """What it needs of the inference."""

    @property
    @abstractmethod
    def member(self) -> str:
        """What a person would call it."""

    @property
    def role(self) -> str:
        """What the cost counts, one of `FactorGraph.roles`."""
        return "variable"

    @abstractmethod
    def variable_costs(self, labels: Sequence[str], gold: Array, lengths: Array) -> Array:
        """Cost of missing each variable's gold label, shape (variables,); `lengths` counts the
        variables an instance.
        """

    @abstractmethod
    def kernel(self, variant: str = MAX_LOSS) -> Any:
        """Return the function of signature `structopt.kernels.waist.signatures.EVALUATE` (compiled
        or plain Python).

        The variant is the optimizer's (`Plan.variant`): ``max_loss``, which every loss has, or
        ``prediction`` (the residual at the output that is best under the scores alone).
        """

    def begins_with(self, warm: bool) -> Beginning | None:
        """The convex loss, of the same cost and the same needs, that is minimised first by a loss
        with bad local minima, or None.

        `warm` says that training begins at the weights of a trained model.
        """
        return None

    @abstractmethod
    def parameters(self) -> Array:
        """Return the vector of numbers that the kernel reads (temperature, gamma, ...)."""
