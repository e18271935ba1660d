"""Differences of two members of the family: closer to the cost itself, and no longer convex."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import Any, Literal

from structopt.core.cost import Cost
from structopt.core.loss import Beginning
from structopt.errors import ArgumentError, ConfigError
from structopt.loss.family import HAMMING, LossFamily

# after which the convex loss has come near its minimum, where it begins at zero weights
CONVEX_PASSES = 10


class LossDifference(LossFamily):
    r"""L_{beta,gamma} - L_{beta,0}: what the cost adds to a loss, which is bounded by gamma times
    the largest cost.

        delta L(theta; x, y) = (1/beta) log sum_y' p(y') exp( beta * gamma * cost(y', y) ),    p =
        softmax( beta * s )

    At beta = 1 and gamma = 1 it bounds the risk E_p[cost] from above; at beta = inf it is the ramp
    loss, between gamma times the cost of the best output and the hinge loss. One evaluation costs
    two inferences.

    Parameters
    ----------
    beta : float
        Inverse temperature: from 1e-12 to 1e12, or inf.
    gamma : float
        Weight of the cost: greater than 0, to 1e12.
    cost : Cost
        Cost of a wrong output, as in `LossFamily`.
    cost_weights : mapping of str to float
        The cost's own numbers, as in `LossFamily`.
    convex_passes : int or "auto"
        Passes over the data that minimise L_{beta,gamma}, which is convex, before those that
        minimise the difference. ``auto``: 10, and none where the weights of a trained model are the
        start.

    Notes
    -----
    Martins et al. (2010), footnote 1. Not convex: optimizers that follow gradients find a local
    minimum, those that bound the loss by tangents or climb its dual refuse it. Near zero weights
    there are bad ones (one label everywhere): hence the convex passes. The gold output enters
    through its cost alone: one that no weights can reach does no harm.
    """

    convex = False
    in_family = False

    def __init__(
        self,
        beta: float = 1.0,
        gamma: float = 1.0,
        cost: Cost = HAMMING,
        cost_weights: Mapping[str, float] | None = None,
        convex_passes: int | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(beta, gamma, cost, cost_weights)
        if gamma == 0:
            raise ArgumentError(
                "makes the difference L_{beta,gamma} - L_{beta,0} equal to 0 everywhere.",
                parameter="gamma",
                value=gamma,
                remedy="Set gamma=1.",
            )
        if convex_passes != "auto" and convex_passes < 0:
            raise ArgumentError(
                f"must be auto or at least 0. Set 0 to start with {self.member} itself.",
                parameter="convex_passes",
                value=convex_passes,
            )
        self.convex_passes = convex_passes

    @property
    def member(self) -> str:
        """``ramp (beta=inf, gamma=1)``, or ``risk (...)`` where beta is finite."""
        return (
            f"{'ramp' if isinf(self.beta) else 'risk'} (beta={self.beta:g}, gamma={self.gamma:g})"
        )

    def begins_with(self, warm: bool) -> Beginning | None:
        """L_{beta,gamma}, an upper bound of the difference, with the same cost."""
        passes = (
            (0 if warm else CONVEX_PASSES) if self.convex_passes == "auto" else self.convex_passes
        )
        convex = LossFamily(self.beta, self.gamma, self.cost, self.cost_weights)
        return Beginning(convex, passes) if passes else None

    def kernel(self, variant: str = "max_loss") -> Any:
        """Return the compiled loss; a difference has no other variant than ``max_loss``."""
        from structopt.kernels.loss.difference import difference

        if variant != "max_loss":
            raise ConfigError(
                f"does not exist for the loss {self.member}.",
                parameter="variant",
                value=variant,
                remedy="Set variant='max_loss'.",
                kinds={"variant": "optimizer"},
            )
        return difference
