"""The line search of OWL-QN: P with an l1 norm, along a direction within an orthant."""

from __future__ import annotations

import numpy as np

from structopt.core.objective import Objective
from structopt.learning.ray import DECREASE, QuasiNewtonState, Ray, Sizes

HALVINGS = 40
"""Of a step that does not lower P enough: below 2^-40 of a direction rounding decides."""


class OrthantRay(Ray):
    r"""P = f + lambda l1 ||theta||_1 along the projection of start + t * direction on an orthant; f
    has the losses and the ridge.

    Within an orthant P is smooth. The pseudo-gradient, P's subgradient of least norm, stands for
    the gradient: the direction is -H times it, without what does not go down by itself, with H of
    the steps and the changes of the gradient of f alone. The search halves t until P falls by 1e-4
    of what the pseudo-gradient promises for the projected step.

    Notes
    -----
    Andrew and Gao (2007), "Scalable training of L1-regularized log-linear models", Algorithm 1.
    """

    def __init__(self, problem: Objective) -> None:
        from structopt.kernels.quasi_newton import orthant

        super().__init__(problem)
        self.orthant, self.level = orthant, problem.regularization * problem.penalty.l1
        self.pseudo = np.zeros(len(self.moving))
        self.promised = 0.0

    def begin(self, state: QuasiNewtonState) -> None:
        """See `Ray.begin`; the pseudo-gradient is that of the state's weights."""
        self.pseudo[:] = 0.0
        super().begin(state)

    def sizes(self, state: QuasiNewtonState) -> Sizes:
        """Return the squared norms of the state's weights and of the pseudo-gradient there, which
        is set.
        """
        return Sizes(
            *self.orthant.pseudo_gradient(
                self.theta, self.moving, state.gradient, self.level, self.pseudo
            )
        )

    def dual(self, state: QuasiNewtonState) -> float:
        r"""Bound the minimum of P from below at the weights of a state.

        With g the mean gradient of the losses, of which none is below 0, and all are convex, for 0
        <= t <= 1

            P* >= t ((1/m) sum_i L_i - theta^T g) - sum_q max(0, t |g_q| - lambda l1)^2 / (2 lambda
            l2),

        taken at t = 1, and at the largest t at which nothing is subtracted, which is all there is
        without a ridge.
        """
        product, largest, total = self.orthant.excess(
            self.theta, self.moving, state.gradient, self.decay, self.level
        )
        slope = state.loss / self.problem.m - product
        bounds = [0.0, slope * (min(1.0, self.level / largest) if largest > 0 else 1.0)]
        if self.decay > 0:
            bounds.append(slope - total / (2 * self.decay))
        return float(max(bounds))

    def _aim(self, state: QuasiNewtonState) -> float:
        # after a search that found nothing
        self.kernels.move(self.theta, self.moving, self.start, self.direction, 0.0)
        self.sizes(state)
        self._two_loop(state, self.pseudo)
        return float(self.orthant.align(self.direction, self.pseudo))

    def _search(self, value: float, slope: float) -> bool:
        t = 1.0
        for _ in range(HALVINGS):
            self._evaluate(t)
            if self.promised < 0 and self.value <= value + DECREASE * self.promised:
                return self.value < value
            t /= 2
        return False

    def _move(self, t: float) -> float:
        square, absolute, self.promised = self.orthant.move_within(
            self.theta, self.moving, self.start, self.direction, self.pseudo, t
        )
        return self.decay / 2 * float(square) + self.level * float(absolute)

    def _remember(self, state: QuasiNewtonState, slope: float) -> None:
        """Replace the oldest pair by that of the projected step, unless the gradient of f did not
        rise along it.
        """
        self.orthant.take_step(self.theta, self.moving, self.start, self.direction)
        risen = self.kernels.dot(self.direction, self.gradient) - self.kernels.dot(
            self.direction, state.gradient
        )
        if risen > 0.0:
            self._keep(state, 1.0)
