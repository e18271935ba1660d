"""The contract of losses: scores and gold to a loss and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structopt.core.ability import Ability
from structopt.core.component import Component
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.core.parts.batch import Gold
    from structopt.core.parts.parts import Parts

MAX_LOSS = "max_loss"
"""The variant that every loss has: the residual at the output that maximises the loss."""


class Beginning(NamedTuple):
    """The convex loss that training begins with, and for how many passes."""

    loss: Loss
    passes: int


class Loss(Component):
    """The loss of some instances, and its gradient by their scores, from scores and gold.

    A class has `value_and_gradient`, in NumPy, over a batch; or `kernel`, a function over one
    instance that compiled passes call, with `temperature`, `requires`, `variable_costs` and
    `parameters`.

    Attributes
    ----------
    gamma : float
        Weight of the cost; 0 for losses without.
    convex : bool
        Whether it is a convex function of the scores.
    in_family : bool
        Whether it is a member of the family L_{beta,gamma}, whose dual the dual methods climb.
    takes_sets : bool
        Whether it handles targets that are sets of outputs. Of kernels: whether the kernel looks
        for them (`is_set`); others would take such a set for no gold at all.
    """

    kind_of_component: ClassVar[str] = "loss"

    gamma: float = 0.0
    convex: bool = True
    in_family: bool = False
    takes_sets: bool = False

    @classmethod
    def lacking(cls) -> list[str]:
        """Return `value_and_gradient` if the class has neither this nor `kernel`."""
        has_none = cls.kernel is Loss.kernel and cls.value_and_gradient is Loss.value_and_gradient
        return [*super().lacking(), *(["value_and_gradient"] if has_none else [])]

    @property
    def has_kernel(self) -> bool:
        """Whether compiled passes can call it."""
        return type(self).kernel is not Loss.kernel

    @property
    def temperature(self) -> float:
        """1/beta; 0 for losses that maximise."""
        return 1.0

    @property
    def requires(self) -> Ability:
        """What it needs of the inference."""
        return Ability.MARGINALS

    @property
    def member(self) -> str:
        """Its name in messages."""
        return type(self).__name__

    @property
    def role(self) -> str:
        """What the cost counts, one of `FactorGraph.roles`."""
        return "variable"

    def variable_costs(self, labels: Sequence[str], gold: Array, lengths: Array) -> Array:
        """Cost of missing each variable's gold label, shape (variables,), or of each label in its
        place, shape (variables, labels); `lengths` counts the variables of each instance.
        """
        return np.zeros(len(gold))

    def value_and_gradient(
        self, scores: Parts, gold: Gold, infer: Callable[..., Any]
    ) -> tuple[Array, Parts]:
        """Return the loss of each instance, and its (sub)gradient by the scores.

        Parameters
        ----------
        scores : Parts
            s_i of all instances of a batch (nats).
        gold : Gold
            Their gold outputs.
        infer : callable
            ``infer(scores, temperature=T)`` returns an `Inferred`: values and marginals by the
            inference of the problem.

        Returns
        -------
        (float64 of shape (instances,), Parts)
        """
        raise NotImplementedError

    def kernel(self, variant: str = MAX_LOSS) -> Any:
        """Return the function of signature `structopt.kernels.waist.signatures.EVALUATE` (compiled
        or plain Python).

        The variant is the optimizer's (`Plan.variant`): ``max_loss``, which every loss has, or
        ``prediction`` (the residual at the output that is best under the scores alone).
        """
        raise NotImplementedError

    def check_variant(self, variant: str) -> None:
        """Refuse a variant that the loss does not have.

        Raises
        ------
        ConfigError
        """
        if variant == MAX_LOSS:  # which every loss has
            return
        if not self.has_kernel:
            raise ConfigError(
                f"{variant} needs the method kernel of losses, which {self.member} does not have.",
                parameter="variant",
                remedy=f"Set variant={MAX_LOSS}.",
            )
        self.kernel(variant)

    def begins_with(self, warm: bool) -> Beginning | None:
        """The convex loss, of the same cost and the same needs, that is minimised first by a loss
        with bad local minima, or None.

        `warm` says that training begins at the weights of a trained model.
        """
        return None

    def at_epoch(self, epoch: int) -> Loss:
        """Return the loss of an epoch, from 1: another one if the loss changes during training,
        such as a temperature that falls.

        It must have the same costs and needs as this one. P and its bounds in an epoch belong to
        the loss of the epoch. Optimizers that converge to the minimum of one P refuse such a loss.
        """
        return self

    @property
    def follows_epoch(self) -> bool:
        """Whether the loss changes during training."""
        return type(self).at_epoch is not Loss.at_epoch

    def parameters(self) -> Array:
        """Return the vector of numbers that the kernel reads (temperature, gamma, ...)."""
        return np.zeros(2)
