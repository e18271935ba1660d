"""The expected cost of outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isinf
from typing import Any

from structopt.core.cost import Cost
from structopt.core.data import ranges
from structopt.core.loss import Loss
from structopt.core.parts.batch import Gold
from structopt.core.parts.differences import marginal_slope
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.loss.family import HAMMING


class ExpectedCost(Loss):
    r"""The risk  E_p[cost(y', y)]  of outputs with the probabilities p(y') of the scores.

        L(theta; x, y) = p^T mu + q,    mu = E[z'],    p(y') proportional to exp( beta s^T z' )

    with cost(y', y) = p^T z' + q. Its gradient by the scores is beta Cov(z') p. An evaluation takes
    three inferences, two of them for the gradient, whose error is O(h^2) (`marginal_slope`).

    Parameters
    ----------
    cost : Cost
        Cost of wrong outputs.
    beta : float
        Inverse temperature: from 1e-12 to 1e12.
    cost_weights : mapping of str to float
        The cost's own numbers.

    Raises
    ------
    ArgumentError
        For beta = inf.

    Notes
    -----
    Not convex. `LossDifference` bounds it from above. Smith and Eisner (2006) anneal beta.
    """

    convex = False
    takes_sets = True

    def __init__(
        self,
        cost: Cost = HAMMING,
        beta: float = 1.0,
        cost_weights: Mapping[str, float] | None = None,
    ) -> None:
        ranges.check_inverse_temperature("beta", beta)
        if isinf(beta):
            raise ArgumentError(
                "must be finite: the cost of the best output is not continuous.",
                parameter="beta",
                value=beta,
                remedy="Take the ramp loss, LossDifference(beta=inf).",
            )
        cost.check(cost_weights or {})
        self.cost, self.beta = cost, float(beta)
        self.cost_weights = dict(cost_weights or {})

    @property
    def role(self) -> str:
        """See `Cost.role`."""
        return self.cost.role

    @property
    def temperature(self) -> float:
        """1/beta."""
        return 1.0 / self.beta

    @property
    def member(self) -> str:
        """``expected_cost (beta=1)``."""
        return f"expected_cost (beta={self.beta:g})"

    def value_and_gradient(
        self, scores: Parts, gold: Gold, infer: Callable[..., Any]
    ) -> tuple[Array, Parts]:
        """See `structopt.core.loss.Loss`."""
        p, q = self.cost.parts(gold, self.cost_weights)
        values = p @ infer(scores, temperature=self.temperature).marginals + q
        return values, marginal_slope(infer, scores, p, self.temperature)
