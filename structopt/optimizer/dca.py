"""Dual coordinate ascent for the whole loss family."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from structopt.core import options
from structopt.core.protocols import Ability, Report, State
from structopt.kernels.record import Array


class DualCoordinateAscent:
    """Online learner without a learning rate: each visit solves a linearised dual problem of one instance exactly.

        eta_t = min( C, L_t / ||grad L_t||^2 ),    theta <- theta - eta_t * grad L_t

    With loss.beta = inf this is 1-best MIRA. One pass costs one inference and O(nnz) an instance.

    Parameters
    ----------
    C : float
        1/(lambda * m): the largest step, and the inverse of the regularisation.
    epochs : int
        Passes over the data.
    tolerance : float
        Must be 0: after the first pass the method has no dual point, hence no certificate to stop by.
    average : bool
        Return the mean of all iterates (before each update) instead of the last one.
    variant : str
        ``max_loss`` (cost-augmented), or at beta = inf ``prediction`` (the mode under the scores alone, footnote 7).

    Notes
    -----
    Martins et al. (2010), Algorithms 1 and 2, equations (11)-(15).
    """

    requires = Ability(0)

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 10,
        tolerance: float = 0.0,
        average: bool = True,
        variant: Literal["max_loss", "prediction"] = "max_loss",
    ) -> None:
        options.check(C=C, epochs=epochs)
        options.refuse_tolerance("dca", tolerance)
        self.C, self.epochs, self.tolerance, self.average = float(C), epochs, tolerance, average
        self.variant = self.loss_variant = variant

    def check_loss(self, loss: Any) -> None:
        """Refuse losses that are not convex, whose tangents are no bounds."""
        options.refuse_non_convex("dca", loss)

    def init(self, problem: Any, weights: Array) -> State:
        """Start from the given weights."""
        return {"theta": weights.copy(), "lag": np.zeros(problem.dimension if self.average else 0), "visits": 0.0, "epoch": 0}

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.dca import dca_pass

        totals, order = np.zeros(2), problem.order(state["epoch"])
        problem.run(dca_pass, order, state["theta"], state["lag"], state["visits"], self.C, totals)
        state["visits"] += float(len(order))
        state["epoch"] += 1
        return state, Report(loss=float(totals[0]), negative_losses=int(totals[1]))

    def weights(self, state: State) -> Array:
        """Return theta, or its average over all visits."""
        theta: Array = state["theta"]
        return theta - state["lag"] / state["visits"] if self.average and state["visits"] else theta
