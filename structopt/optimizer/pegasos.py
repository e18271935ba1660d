"""Pegasos: projected subgradient steps whose sizes follow from the regularisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.protocols import Ability, Report, State
from structopt.errors import CompatibilityError
from structopt.kernels.record import Array
from structopt.learning import options


class Pegasos:
    """Subgradient steps of size 1/(lambda t), projected onto a ball that holds the optimum.

        theta <- (1 - 1/t) theta - (1/b) sum_i grad L_i / (lambda t)        over a batch of b instances, t = 1, 2, ...
        theta <- min( 1, R/||theta|| ) theta,    R = sqrt( P(0)/lambda ),   P(0) = (1/m) sum_i L_i(0)

    The optimum is in the ball: there lambda theta* = -(1/m) sum_i grad L_i, so that convexity gives
    P(0) >= (1/m) sum_i L_i(theta*) + lambda ||theta*||^2. (The usual radius, 1/sqrt(lambda), takes losses of at most 1
    for granted.) The first step forgets the weights that it starts from. One pass costs one inference and O(nnz) an
    instance.

    Parameters
    ----------
    C : float
        1/(lambda * m): the inverse of the regularisation.
    epochs : int
        Passes over the data.
    batch_size : int
        Instances a step, b.
    average : bool
        Return the mean of all iterates (before each update, one a visit) instead of the last one.
    certificate : bool
        Bound the optimum after every pass, at the cost of one evaluation of loss and gradient.
    tolerance : float
        Stop when the certified gap, relative to the objective, falls below it; needs `certificate`.

    Notes
    -----
    Shalev-Shwartz, Singer and Srebro (2007), Figure 1. Meshi et al. (2010), section 5, write C_M = m C for 1/lambda.
    """

    kernel_modules = ("structopt.kernels.pegasos",)

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 10,
        batch_size: int = 1,
        average: bool = False,
        certificate: bool = False,
        tolerance: float = 0.0,
    ) -> None:
        options.check(C=C, epochs=epochs)
        options.at_least("batch_size", batch_size, 1)
        options.check_tolerance(tolerance, certificate)
        self.C, self.epochs, self.batch_size, self.average = float(C), epochs, batch_size, average
        self.certificate, self.tolerance = certificate, tolerance
        self.requires = Ability.UPPER | Ability.CONVEX if certificate else Ability(0)

    def check_loss(self, loss: Any) -> None:
        """Refuse losses that are not convex, and one that is zero at zero weights."""
        options.refuse_non_convex("pegasos", loss)
        if loss.in_family and loss.temperature == 0.0 and loss.gamma == 0.0:
            raise CompatibilityError(
                f"optimizer=pegasos needs a loss at zero weights, the size of its ball, and {loss.member} has none: "
                "P(0) = 0. Type loss.gamma=1."
            )

    def init(self, problem: Any, weights: Array) -> State:
        """Measure the ball; the given weights are what would be returned before the first step."""
        radius = float(np.sqrt(problem.objective(np.zeros(problem.dimension)) / problem.regularization))
        total = np.zeros(problem.dimension if self.average else 0)
        return {"theta": weights.copy(), "total": total, "visits": 0.0, "steps": 0.0, "epoch": 0, "radius": radius}

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.pegasos import pegasos_pass

        order, batch = problem.order(state["epoch"]), min(self.batch_size, problem.m)
        room = np.zeros(batch * problem.examples.most_parts)
        theta, total, steps = state["theta"], state["total"], state["steps"]
        losses = problem.run(
            pegasos_pass, order, batch, theta, total, steps, problem.regularization, state["radius"], room
        )
        state["visits"] += float(len(order))
        state["steps"] += float(-(-len(order) // batch))
        state["epoch"] += 1
        return state, Report(loss=float(losses))

    def weights(self, state: State) -> Array:
        """Return theta, or its average over all visits."""
        theta: Array = state["theta"]
        return state["total"] / state["visits"] if self.average and state["visits"] else theta
