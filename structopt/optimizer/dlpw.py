"""DLPW: weights and messages learnt together, by Pegasos on an upper bound of the relaxed loss."""

from __future__ import annotations

from typing import Literal

from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.needs import MARGINS, Demand, Needs, Property
from structopt.optimizer.pegasos import Pegasos


class DLPW(Pegasos):
    """Subgradient steps on a bound of the loss, which messages of every instance lower at every
    visit.

        P(theta) = min over d_1..d_m of  lambda/2 ||theta||^2 + (1/m) sum_i ( g_i(d_i; s_i + gamma
        p_i) + gamma q_i - s_i^T z_i )

    where g_i is the bound that the inference computes from the messages d_i; its minimum over d_i
    is the value of the linear relaxation. A visit of an instance makes a few more passes of its
    messages, and then, with these messages fixed, a step of Pegasos. So early passes do not solve
    relaxations at weights that are far from the optimum, and in the end all are solved.

    Parameters
    ----------
    batch_size
        See `structopt.learning.options`.
    average : bool
        Return the mean of the iterates (before each update), weighted by the number of the step,
        instead of the last one.
    delay : float from 0 to 1e12, or "auto"
        t_0 of the step sizes 1/(lambda (t + t_0)), as in `Pegasos`; 0 is the method as it was
        published.

    Notes
    -----
    Meshi et al. (2010), Algorithm 1 (R: `passes`), with the ball and the average of
    `Pegasos`. A visit costs `passes` passes and O(nnz). A subgradient of the bound at some messages
    is not one of P until the messages have converged. A certificate therefore evaluates P and a
    tangent by another inference (`Inference.converged`), on pairs by minimum cuts or linear
    programs; it brackets the minimum of the relaxation's P.
    """

    def __init__(
        self,
        batch_size: int = 1,
        average: bool = True,
        delay: float | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(batch_size, average, delay)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Margins, and messages along the edges of loopy graphs that are kept from visit to
        visit.
        """
        return Needs(
            Ability.UPPER, (Demand(Property.LOOPS), *MARGINS, Demand(Property.KEPT_MESSAGES))
        )
