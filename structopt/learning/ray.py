"""The line search of batch methods: P along a quasi-Newton direction, and the pairs that the next
direction is made of.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer_state import OptimizerState, over_weights
from structopt.kernels.waist.record import Array

# constants of the strong Wolfe conditions (Nocedal and Wright, section 3.1)
DECREASE, CURVATURE = 1e-4, 0.9
LENGTHS = (1.0, 1e-3, 1e-6, 1e-9)
"""Lengths of the first step, tried in this order if the gradient itself is too long a step: on
numbers that are not scaled, P curves by their squares.
"""


class Sizes(NamedTuple):
    """||theta||^2, and the squared norm of the (sub)gradient of P by which it is stationary or
    not.
    """

    weights: float
    gradient: float


@dataclass(kw_only=True)
class QuasiNewtonState(OptimizerState):
    """Weights, and the steps and gradients that determine the next direction.

    Attributes
    ----------
    theta : float64, shape (dimension,)
    gradient : float64, shape (weights that may move,)
        The gradient of P without its l1 norm.
    steps, changes : float64, shape (memory, weights that may move)
        Pairs: steps, and the changes of the gradient along them.
    curvature : float64, shape (memory, 2)
        Products of the pairs.
    pairs : int
        Pairs so far.
    loss, objective : float
        Sum of the L_i, and P.
    evaluated : bool
        Whether P was evaluated at theta.
    """

    theta: Array = over_weights()
    gradient: Array
    steps: Array
    changes: Array
    curvature: Array
    pairs: int = 0
    loss: float = 0.0
    objective: float = 0.0
    evaluated: bool = False


class Ray:
    """P along start + t * direction, a function of t, and the vectors that every iteration needs
    again.

    These are so large that allocating new ones takes longer than filling them. `theta` is the
    vector of the state itself: the weights at which P was evaluated last.

    Attributes
    ----------
    moving : int64 vector
        Indices in theta of the weights that may move; `start`, `direction` and `gradient` are over
        them.
    decay : float
        What the gradient of the penalty's square adds: decay * theta.
    t, value, slope, loss : float
        The point that was evaluated last, P and its derivative there, and the sum of the losses.
    seconds : list of float
        Of each evaluation of loss and gradient over all instances in this step.
    """

    def __init__(self, problem: Objective) -> None:
        from structopt.kernels.quasi_newton import lbfgs

        support = problem.scorer.support
        self.problem, self.kernels = problem, lbfgs
        self.decay = problem.regularization * problem.penalty.l2
        self.moving = np.arange(problem.dimension) if support is None else np.flatnonzero(support)
        self.theta = self.sums = np.zeros(problem.dimension)
        self.start, self.direction, self.gradient = (np.zeros(len(self.moving)) for _ in range(3))
        self.t = self.value = self.slope = self.loss = 0.0
        self.seconds: list[float] = []

    def begin(self, state: QuasiNewtonState) -> None:
        """Start from the weights of a state; evaluate P there if that was not done yet."""
        self.theta, self.seconds = state.theta, []
        self.kernels.take(self.theta, self.moving, self.start)
        if not state.evaluated:
            self.direction[:] = 0.0
            self._evaluate(0.0)
            self._accept(state)
            state.evaluated = True

    def sizes(self, state: QuasiNewtonState) -> Sizes:
        """Return the squared norms of the state's weights and gradient."""
        weights, _, gradient = self.kernels.sizes(self.theta, self.moving, state.gradient)
        return Sizes(weights, gradient)

    def dual(self, state: QuasiNewtonState) -> float:
        """Bound the minimum from below as `Objective.certificate` does, at the weights of a
        state.
        """
        problem, decay = self.problem, self.decay
        weights, product, gradient = self.kernels.sizes(self.theta, self.moving, state.gradient)
        slope = state.loss / problem.m - product + decay * weights
        norm = gradient - 2 * decay * product + decay**2 * weights  # of the losses' mean gradient
        return float(problem.bound(slope, norm))

    def descend(self, state: QuasiNewtonState) -> bool:
        """Move the state down the quasi-Newton direction, or else down its gradient; return whether
        one lowered P.
        """
        lengths, scale = iter(LENGTHS), 1.0
        while True:
            slope = scale * self._aim(state)
            self.direction *= scale
            if slope < 0 and self._search(state.objective, slope):
                self._remember(state, slope)
                self._accept(state)
                return True
            if state.pairs:
                state.pairs = 0  # their estimate of the curvature is wrong here
                continue
            length = next(lengths, None)
            if length is None or slope >= 0:
                self.kernels.move(self.theta, self.moving, self.start, self.direction, 0.0)
                return False
            scale = length / sqrt(-slope / scale)  # without pairs, the slope is -||gradient||^2

    def _aim(self, state: QuasiNewtonState) -> float:
        """Set the direction; return P's derivative along it."""
        self._two_loop(state, state.gradient)
        return float(self.kernels.dot(state.gradient, self.direction))

    def _two_loop(self, state: QuasiNewtonState, gradient: Array) -> None:
        """Set the direction to -H times a vector, with the state's pairs."""
        pairs = state.steps, state.changes, state.curvature, state.pairs
        self.kernels.two_loop(*pairs, gradient, self.direction)
        self.t = nan

    def _search(self, value: float, slope: float) -> bool:
        """Find a t that satisfies the strong Wolfe conditions, or at least lowers P; return whether
        there is one.

        P was evaluated last at that t.
        """
        from scipy.optimize import line_search

        with warnings.catch_warnings():
            # that it did not converge: the answer says so, too
            warnings.simplefilter("ignore", RuntimeWarning)
            t = line_search(
                lambda t: self._at(t[0]).value,
                lambda t: np.array([self._at(t[0]).slope]),
                np.zeros(1),
                np.ones(1),
                np.array([slope]),
                value,
                c1=DECREASE,
                c2=CURVATURE,
            )[0]
        return t is not None and self._at(t).value < value

    def _at(self, t: float) -> Ray:
        """Evaluate P at t, unless it was evaluated there last: the search needs the value first,
        and then the slope.
        """
        if t != self.t:
            self._evaluate(float(t))
        return self

    def _evaluate(self, t: float) -> None:
        """Evaluate P and its gradient at t, and its derivative along the direction."""
        self.value = self._move(t) + self._losses() / self.problem.m
        self.slope = self.kernels.dot(self.gradient, self.direction)
        self.t = t

    def _move(self, t: float) -> float:
        """Set theta to the point at t; return the penalty there."""
        return (
            self.decay
            / 2
            * float(self.kernels.move(self.theta, self.moving, self.start, self.direction, t))
        )

    def _losses(self) -> float:
        """Sum of the losses at theta; sets it, and the gradient of P without the kinks of its
        penalty.
        """
        problem, started = self.problem, time.perf_counter()
        self.loss = problem.gradient(self.theta, self.sums)[0]
        self.seconds.append(time.perf_counter() - started)
        self.kernels.add_ridge(
            self.sums, self.theta, self.moving, problem.m, self.decay, self.gradient
        )
        return self.loss

    def _remember(self, state: QuasiNewtonState, slope: float) -> None:
        """Replace the oldest pair by that of this step, unless the search ended where the slope of
        P had not yet risen enough.
        """
        if self.slope >= CURVATURE * slope:
            self._keep(state, self.t)

    def _keep(self, state: QuasiNewtonState, t: float) -> None:
        """Replace the oldest pair by that of the step t * direction."""
        slot = state.pairs % len(state.steps)
        arrays = state.steps, state.changes, state.curvature
        self.kernels.remember(*arrays, slot, t, self.direction, state.gradient, self.gradient)
        state.pairs += 1

    def _accept(self, state: QuasiNewtonState) -> None:
        """Make the point that was evaluated last that of the state."""
        state.objective, state.loss = self.value, self.loss
        state.gradient[:] = self.gradient
