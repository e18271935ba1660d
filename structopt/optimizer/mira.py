"""The margin-infused relaxed algorithm, for one or for the k best outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import MARGINS, UNWEIGHTED, Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Plan
from structopt.kernels.waist.interruptible import run_driver
from structopt.kernels.waist.record import Array
from structopt.optimizer.dca import DCA


class MIRA(DCA):
    """Online learner of margins: the smallest step after which the gold output leads the best ones
    by their cost, if C allows it.

        min_theta  1/2 ||theta - theta_t||^2 + C xi,    xi >= 0,    xi >= theta^T F(z'_j - z) +
        gamma * cost(z'_j),  j = 1..k

    For one output this is the step of dual coordinate ascent at beta = inf, for scores that are not
    linear in the weights with F(z'_1 - z) as their gradient at theta_t; for several a quadratic
    program, which `structopt.kernels.learn.mira_program` solves by moving dual mass between pairs
    of outputs.

    Parameters
    ----------
    average
        See `structopt.learning.options`.
    variant : str
        The outputs z'_j of a step are the best ones under the scores with the cost added
        (``max_loss``), or under the scores alone (``prediction``).
    k_best : int
        How many outputs a step takes into account, k.

    Settings
    --------
    C
        1/(lambda * m): the largest step, and the inverse of the regularisation.
    tolerance
        Must be 0: after the first pass the method has no dual point, hence no certificate to stop
        by.

    Notes
    -----
    Crammer et al. (2006), section 8; McDonald et al. (2005) for k > 1; Martins et al. (2010),
    equations (15) and (17).
    """

    def __init__(
        self,
        average: bool = True,
        variant: Literal["max_loss", "prediction"] = "max_loss",
        k_best: int = 1,
    ) -> None:
        ranges.check_at_least("k_best", k_best, 1)
        super().__init__(average, variant)
        self.k_best = k_best

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """Margins: a maximum over outputs, with a cost, of any scorer; and the k best outputs."""
        if self.k_best > 1:
            return Needs(Ability.K_BEST, (*MARGINS, *UNWEIGHTED), by="`k_best`")
        return Needs(Ability.MAP, MARGINS, features="any")

    @property
    def plan(self) -> Plan:
        """Passes that can be mixed."""
        plan = super().plan
        return (
            plan
            if self.k_best == 1
            else replace(plan, kernel_modules=("structopt.kernels.learn.mira",))
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights and what their mean needs; with several best outputs a gradient of their
        planes.
        """
        return replace(
            super().footprint(sizes, loss), step=sizes.weight_vector if self.k_best > 1 else 0
        )

    def _visit(
        self, problem: Objective, order: Array, theta: Array, lag: Array, visits: float
    ) -> Array:
        if self.k_best == 1:
            return super()._visit(problem, order, theta, lag, visits)
        from structopt.kernels.learn.mira import k_best_pass

        totals, prediction = np.zeros(2), self.variant == "prediction"
        scratch = self._lists(problem), self._bundle(problem, self.k_best)
        of = problem.list_kernels, problem.data, problem.space
        run_driver(
            k_best_pass, *of, order, theta, lag, visits, problem.C, prediction, *scratch, totals
        )
        return totals

    def _planes_of_visit(self, problem: Objective, i: int, theta: Array) -> tuple[Array, Array]:
        if self.k_best == 1:
            return super()._planes_of_visit(problem, i, theta)
        from structopt.kernels.learn.mira import rank

        lists, bundle, prediction = (
            self._lists(problem),
            self._bundle(problem, self.k_best),
            self.variant == "prediction",
        )
        rows, _ = rank(
            problem.list_kernels,
            problem.data,
            problem.space,
            i,
            theta,
            problem.C,
            prediction,
            lists,
            bundle,
        )
        return bundle.residuals[
            1:rows, : problem.structure.parts[i + 1] - problem.structure.parts[i]
        ], bundle.heights[1:rows]

    def _lists(self, problem: Objective) -> Any:
        from structopt.kernels.learn.mira import empty_lists

        return empty_lists(self.k_best, problem.structure.most_active)
