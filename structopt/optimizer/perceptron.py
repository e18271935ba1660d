"""The averaged perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.protocols import Ability, Report, State
from structopt.errors import CompatibilityError
from structopt.kernels.record import Array
from structopt.learning import options


class AveragedPerceptron:
    """Online learner that decodes, and on a mistake adds the features of the gold output and takes those of its own away.

        y' = argmax_y s^T chi(y),    theta <- theta + F (z - chi(y'))

    Parameters
    ----------
    C : float, from 1e-12 to 1e12
        1/(lambda * m) of the objective that is reported; the steps do not depend on it.
    epochs : int
        Passes over the data.
    tolerance : float, from 0 to 1e12
        Must be 0: the method has no dual point, hence no certificate to stop by.
    average : bool
        Return the mean of all iterates (before each update) instead of the last one.

    Notes
    -----
    Collins (2002), "Discriminative training methods for hidden Markov models".
    """

    requires = Ability.MAP
    kernel_modules = ("structopt.kernels.perceptron",)
    mixable = True

    def __init__(self, C: float = 1.0, epochs: int = 10, tolerance: float = 0.0, average: bool = True) -> None:
        options.check(C=C, epochs=epochs)
        options.refuse_tolerance("perceptron", tolerance)
        self.C, self.epochs, self.tolerance, self.average = float(C), epochs, tolerance, average

    def check_loss(self, loss: Any) -> None:
        """Refuse losses with a temperature or a cost."""
        options.need_family("perceptron", loss)
        if loss.temperature != 0.0 or loss.gamma != 0.0:
            raise CompatibilityError(
                f"optimizer=perceptron takes the best output without its cost, loss.beta=inf and loss.gamma=0 (this is "
                f"{loss.member}). Type loss=perceptron, or optimizer=mira for a cost, optimizer=dca for a temperature."
            )

    def init(self, problem: Any, weights: Array) -> State:
        """Start from the given weights."""
        return {"theta": weights.copy(), "lag": np.zeros(problem.dimension if self.average else 0), "visits": 0.0, "epoch": 0}

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt.kernels.perceptron import perceptron_pass

        totals, order = np.zeros(2), problem.order(state["epoch"])
        problem.run(perceptron_pass, order, state["theta"], state["lag"], state["visits"], totals)
        state["visits"] += float(len(order))
        state["epoch"] += 1
        return state, Report(loss=float(totals[0]))

    def weights(self, state: State) -> Array:
        """Return theta, or its average over all visits."""
        theta: Array = state["theta"]
        return theta - state["lag"] / state["visits"] if self.average and state["visits"] else theta
