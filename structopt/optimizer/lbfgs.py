"""Limited-memory BFGS on the primal objective."""

from __future__ import annotations

import time
import warnings
from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report, State
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning import options

DECREASE, CURVATURE = 1e-4, 0.9  # constants of the strong Wolfe conditions (Nocedal and Wright, section 3.1)

KERNEL_MODULES = (
    "structopt.kernels.learn.lbfgs", "structopt.kernels.waist.passes", "structopt.kernels.features.bundles",
    "structopt.kernels.features.attribute_columns", "structopt.kernels.arrays.coordinates", "scipy.optimize",
)  # fmt: skip


class LBFGS(Optimizer):
    r"""Quasi-Newton descent on P(theta); every pass is one iteration, line search included.

        theta <- theta - t H grad P(theta)

    H is an estimate of the inverse Hessian from the last `memory` steps s and changes y of the gradient, t a step length that
    satisfies the strong Wolfe conditions. The loss must be differentiable: loss.beta < inf. Where it is convex, and scores are
    linear in the weights, every pass bounds its distance from the minimum, because P has at least the curvature of its ridge:
    P(theta) - P* <= ||grad P(theta)||^2 / (2 lambda).

    Parameters
    ----------
    C
        See `structopt.learning.options`.
    epochs : int
        Iterations. Most evaluate loss and gradient once; the first of a run does so twice.
    tolerance : float, from 0 to 1e12
        Stop when the certified gap falls below this share of P; for convex losses.
    memory : int
        How many pairs (s, y) are kept, at least 1.
    gradient_tolerance : float, from 0 to 1e12
        Stop when ||grad m P(theta)|| <= gradient_tolerance * max(1, ||theta||).

    Notes
    -----
    Liu and Nocedal (1989), "On the limited memory BFGS method for large scale optimization"; Nocedal and Wright (2006),
    Algorithms 7.4 and 3.5. The bound is that of `Objective.certificate`.
    """

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 100,
        tolerance: float = 0.0,
        memory: int = 10,
        gradient_tolerance: float = 1e-5,
    ) -> None:
        options.check(C=C, epochs=epochs)
        options.check_tolerance(tolerance)
        options.at_least("gradient_tolerance", gradient_tolerance, 0.0)
        if memory < 1:
            raise ConfigError(f"optimizer.memory={memory} must be at least 1.")
        self.C, self.epochs, self.tolerance = float(C), epochs, float(tolerance)
        self.memory, self.gradient_tolerance = memory, float(gradient_tolerance)
        self._ray: Ray | None = None

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A smooth function of any scorer, the same at every evaluation; convex, where it is to stop at a gap."""
        because, remedy = (
            ": others have no certified gap",
            "Set it to 0; optimizer.gradient_tolerance stops at a stationary point.",
        )
        gap = (Demand(Property.CONVEX, "optimizer.tolerance", because, remedy),) if self.tolerance > 0 else ()
        demands = (Demand(Property.SMOOTH), *gap, Demand(Property.SAME_FUNCTION))
        if self.tolerance > 0:
            return Needs(Ability.MARGINALS | Ability.UPPER, demands, by="optimizer.tolerance")
        return Needs(Ability.MARGINALS | Ability.UPPER, demands, features="any")

    @property
    def plan(self) -> Plan:
        """Evaluations over all instances."""
        return Plan("batch", tolerance=self.tolerance, kernel_modules=KERNEL_MODULES)

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Weights, gradient and the pairs; beside them the vectors of the line search."""
        moving = sizes.moving_vector
        state = {"weights": sizes.weight_vector, "gradient": moving}
        state |= {f"{self.memory} steps and changes of the gradient": 2 * self.memory * moving}
        return Footprint(state, kept=sizes.weight_vector + 4 * moving, gradients=True)  # the vectors of `Ray`

    def init(self, problem: Objective, weights: Array) -> State:
        """Start from the given weights without pairs; the first step evaluates them."""
        count = problem.scorer.count
        return {
            "theta": weights.copy(),
            "gradient": np.zeros(count),  # of P, over the weights that may move; as the pairs are
            "steps": np.zeros((self.memory, count)),
            "changes": np.zeros((self.memory, count)),
            "curvature": np.zeros((self.memory, 2)),
            "pairs": 0,
            "loss": 0.0,
            "objective": 0.0,
            "evaluated": False,
        }

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """Do one iteration: direction, line search, and the pair (s, y) that results."""
        if self._ray is None or self._ray.problem is not problem:
            self._ray = Ray(problem)
        ray, finished = self._ray, ""
        ray.begin(state)
        if not self._stationary(problem, ray.sizes(state)) and not ray.descend(state):
            finished = "the line search found no lower objective"
        sizes = ray.sizes(state)
        if self._stationary(problem, sizes):
            finished = f"the gradient is within {self.gradient_tolerance:g} of zero"
        dual = _dual(problem, state["loss"], sizes) if problem.convex else None
        evaluations = tuple(ray.seconds)
        return state, Report(state["loss"], primal=state["objective"], dual=dual, evaluations=evaluations, finished=finished)

    def weights(self, state: State) -> Array:
        """Return theta."""
        theta: Array = state["theta"]
        return theta

    def _stationary(self, problem: Objective, sizes: Sizes) -> bool:
        bound: float = self.gradient_tolerance * max(1.0, sqrt(sizes.weights))
        return bool(problem.m * sqrt(sizes.gradient) <= bound)


class Sizes(NamedTuple):
    """||theta||^2, theta^T g and ||g||^2, g the gradient of P."""

    weights: float
    product: float
    gradient: float


def _dual(problem: Objective, loss: float, sizes: Sizes) -> float:
    """Bound the minimum from below as `Objective.certificate` does, at a point whose gradient is known."""
    decay = problem.regularization
    slope = loss / problem.m - sizes.product + decay * sizes.weights
    norm = sizes.gradient - 2 * decay * sizes.product + decay**2 * sizes.weights  # of the losses' mean gradient
    return float(problem.bound(slope, norm))


class Ray:
    """P along start + t * direction, a function of t, and the vectors that every iteration needs again.

    These are so large that allocating new ones takes longer than filling them. `theta` is the vector of the state itself: the
    weights at which P was evaluated last.

    Attributes
    ----------
    moving : int64 vector
        Indices in theta of the weights that may move; `start`, `direction` and `gradient` are over them.
    t, value, slope, loss : float
        The point that was evaluated last, P and its derivative there, and the sum of the losses.
    seconds : list of float
        Of each evaluation of loss and gradient over all instances in this step.
    """

    def __init__(self, problem: Objective) -> None:
        from structopt.kernels.learn import lbfgs

        support = problem.scorer.support
        self.problem, self.kernels = problem, lbfgs
        self.moving = np.arange(problem.dimension) if support is None else np.flatnonzero(support)
        self.theta = self.sums = np.zeros(problem.dimension)
        self.start, self.direction, self.gradient = (np.zeros(len(self.moving)) for _ in range(3))
        self.t = self.value = self.slope = self.loss = 0.0
        self.seconds: list[float] = []

    def begin(self, state: State) -> None:
        """Start from the weights of a state; evaluate P there if that was not done yet."""
        self.theta, self.seconds = state["theta"], []
        self.kernels.take(self.theta, self.moving, self.start)
        if not state["evaluated"]:
            self.direction[:] = 0.0
            self._evaluate(0.0)
            self._accept(state)
            state["evaluated"] = True

    def sizes(self, state: State) -> Sizes:
        """Return the norms of the state's weights and gradient, and their product."""
        return Sizes(*self.kernels.sizes(self.theta, self.moving, state["gradient"]))

    def descend(self, state: State) -> bool:
        """Move the state down the quasi-Newton direction, or else down its gradient; return whether one lowered P."""
        while True:
            slope = self._aim(state)
            if slope < 0 and self._search(state["objective"], slope):
                self._remember(state, slope)
                self._accept(state)
                return True
            if not state["pairs"]:
                self.kernels.move(self.theta, self.moving, self.start, self.direction, 0.0)
                return False
            state["pairs"] = 0  # their estimate of the curvature is wrong here

    def _aim(self, state: State) -> float:
        """Set the direction; return P's derivative along it."""
        pairs = state["steps"], state["changes"], state["curvature"], state["pairs"]
        self.kernels.two_loop(*pairs, state["gradient"], self.direction)
        self.t = nan
        return float(self.kernels.dot(state["gradient"], self.direction))

    def _search(self, value: float, slope: float) -> bool:
        """Find a t that satisfies the strong Wolfe conditions, or at least lowers P; return whether there is one.

        P was evaluated last at that t.
        """
        from scipy.optimize import line_search

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that it did not converge: the answer says so, too
            t = line_search(
                lambda t: self._at(t[0]).value, lambda t: np.array([self._at(t[0]).slope]),
                np.zeros(1), np.ones(1), np.array([slope]), value, c1=DECREASE, c2=CURVATURE,
            )[0]  # fmt: skip
        return t is not None and self._at(t).value < value

    def _at(self, t: float) -> Ray:
        """Evaluate P at t, unless it was evaluated there last: the search needs the value first, and then the slope."""
        if t != self.t:
            self._evaluate(float(t))
        return self

    def _evaluate(self, t: float) -> None:
        problem, decay = self.problem, self.problem.regularization
        square = self.kernels.move(self.theta, self.moving, self.start, self.direction, t)
        started = time.perf_counter()
        self.loss = problem.gradient(self.theta, self.sums)[0]
        self.seconds.append(time.perf_counter() - started)
        self.kernels.add_ridge(self.sums, self.theta, self.moving, problem.m, decay, self.gradient)
        self.t, self.value = t, decay / 2 * square + self.loss / problem.m
        self.slope = self.kernels.dot(self.gradient, self.direction)

    def _remember(self, state: State, slope: float) -> None:
        """Replace the oldest pair by that of this step, unless the search ended where the slope of P had not yet risen enough."""
        if self.slope < CURVATURE * slope:
            return
        slot = state["pairs"] % len(state["steps"])
        arrays = state["steps"], state["changes"], state["curvature"]
        self.kernels.remember(*arrays, slot, self.t, self.direction, state["gradient"], self.gradient)
        state["pairs"] += 1

    def _accept(self, state: State) -> None:
        """Make the point that was evaluated last that of the state."""
        state["objective"], state["loss"] = self.value, self.loss
        state["gradient"][:] = self.gradient
