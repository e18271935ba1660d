"""Dual coordinate ascent for the whole loss family."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from structopt.core.protocols import Ability, Report, State
from structopt.errors import ConfigError
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

    requires = Ability.MAP & ~Ability.MAP

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 10,
        tolerance: float = 0.0,
        average: bool = True,
        variant: Literal["max_loss", "prediction"] = "max_loss",
    ) -> None:
        if not 0 < C < np.inf:
            raise ConfigError(f"optimizer.C={C} must be greater than 0 and finite.")
        if epochs < 0:
            raise ConfigError(f"optimizer.epochs={epochs} must be at least 0.")
        if tolerance != 0.0:
            raise ConfigError("optimizer=dca has no certified gap to compare with optimizer.tolerance; set it to 0.")
        self.C, self.epochs, self.tolerance, self.average, self.variant = float(C), epochs, tolerance, average, variant

    def init(self, problem: Any, weights: Array) -> State:
        """Start from the given weights; compile or load the pass, so that its time is never a pass's."""
        from structopt.kernels.dca import dca_pass

        problem.driver(dca_pass)
        return {"theta": weights.copy(), "lag": np.zeros(problem.dimension if self.average else 0), "visits": 0.0, "epoch": 0}

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.dca import dca_pass

        totals, k = np.zeros(2), problem.kernels
        order = problem.order(state["epoch"])
        run = problem.driver(dca_pass)
        space = problem.workspace
        run(
            k.scores, k.pullback, k.add, k.evaluate, k.solve,
            problem.features, problem.structure.record, problem.target, problem.parameters, problem.structure.parts,
            problem.structure.memory, problem.messages, order,
            state["theta"], state["lag"], state["visits"], self.C,
            space.scores, space.residual, space.work, space.gradient, totals,
        )  # fmt: skip
        state["visits"] += float(len(order))
        state["epoch"] += 1
        return state, Report(loss=float(totals[0]), negative_losses=int(totals[1]))

    def weights(self, state: State) -> Array:
        """Return theta, or its average over all visits."""
        theta: Array = state["theta"]
        return theta - state["lag"] / state["visits"] if self.average and state["visits"] else theta
