"""Limited-memory BFGS on the primal objective, with a smooth penalty or one that sets weights to
0.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.learning.orthant_ray import OrthantRay
from structopt.learning.ray import QuasiNewtonState, Ray, Sizes

KERNEL_MODULES = (
    "structopt.kernels.quasi_newton.lbfgs",
    "structopt.kernels.passes.residuals",
    "structopt.kernels.features.bundles",
    "structopt.kernels.features.attributes.columns",
    "structopt.kernels.arrays.coordinates",
)


class LBFGS(Optimizer):
    r"""Quasi-Newton descent on P(theta); every pass is one iteration, line search included.

        theta <- theta - t H grad P(theta)

    H is an estimate of the inverse Hessian from the last `memory` steps s and changes y of the
    gradient, t a step length that satisfies the strong Wolfe conditions. The loss must be
    differentiable: beta < inf. If it is convex, and scores are linear in the weights, every
    pass bounds its distance from the minimum, because P has at least the curvature of its ridge:
    P(theta) - P* <= ||grad P(theta)||^2 / (2 lambda).

    With an l1 norm in the penalty this is OWL-QN: every iteration stays within an orthant, where P
    is smooth, and sets weights to 0 that would leave it (`structopt.learning.orthant_ray`).

    Parameters
    ----------
    memory : int
        How many pairs (s, y) are kept, at least 1.
    gradient_tolerance : float, from 0 to 1e12
        Stop when ||grad m P(theta)|| <= gradient_tolerance * max(1, ||theta||); with an l1 norm,
        the pseudo-gradient's norm.

    Settings
    --------
    epochs
        Iterations. Most evaluate loss and gradient once; the first of a run does so twice.
    tolerance
        Stop when the certified gap falls below this share of P; for convex losses.
    penalty
        The regulariser: ``l2`` (lambda/2 ||theta||^2), ``l1`` (lambda ||theta||_1) or ``elastic``
        (the sum of both).
    c1, c2
        In place of C, as CRFsuite counts: m P is c1 ||theta||_1 + c2 ||theta||^2 + sum_i L_i. c1 is
        of ``l1`` and ``elastic``, c2 of ``elastic``. None: 1/C and 1/(2 C).

    Notes
    -----
    Liu and Nocedal (1989), "On the limited memory BFGS method for large scale optimization";
    Nocedal and Wright (2006), Algorithms 7.4 and 3.5; Andrew and Gao (2007), "Scalable training of
    L1-regularized log-linear models". The bound is that of `Objective.certificate`.
    """

    state_type = QuasiNewtonState

    def __init__(self, memory: int = 10, gradient_tolerance: float = 1e-5) -> None:
        ranges.check_at_least("gradient_tolerance", gradient_tolerance, 0.0)
        if memory < 1:
            raise ArgumentError("must be at least 1.", parameter="memory", value=memory)
        self.memory, self.gradient_tolerance = memory, float(gradient_tolerance)
        self._ray: Ray | None = None

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A smooth function of any scorer, the same at every evaluation."""
        demands = Demand(Property.SMOOTH), Demand(Property.SAME_FUNCTION)
        return Needs(Ability.MARGINALS | Ability.UPPER, demands, features="any")

    @property
    def plan(self) -> Plan:
        """Evaluations over all instances."""
        return Plan(
            "batch",
            converges=True,
            finishes=self.gradient_tolerance > 0,
            penalties="any",
            kernel_modules=KERNEL_MODULES,
            sparse_kernel_modules=("structopt.kernels.quasi_newton.orthant",),
            imports=("scipy.optimize",),
            bound="its steps are built from changes of one objective's gradient, and other data "
            "are another objective",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Weights, gradient and the pairs; beside them the vectors of the line search."""
        moving = sizes.moving_vector
        state = {"weights": sizes.weight_vector, "gradient": moving}
        state |= {f"{self.memory} steps and changes of the gradient": 2 * self.memory * moving}
        vectors = 5  # of `OrthantRay`; its indices of weights that move among them
        return Footprint(state, kept=sizes.weight_vector + vectors * moving, gradients=True)

    def init(self, problem: Objective, weights: Array) -> QuasiNewtonState:
        """Start from the given weights without pairs; the first step evaluates them."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        count = problem.scorer.count
        return QuasiNewtonState(
            theta=weights.copy(),
            gradient=np.zeros(count),
            steps=np.zeros((self.memory, count)),
            changes=np.zeros((self.memory, count)),
            curvature=np.zeros((self.memory, 2)),
        )

    def step(self, problem: Objective, state: QuasiNewtonState) -> tuple[QuasiNewtonState, Report]:
        """Do one iteration: direction, line search, and the pair (s, y) that results."""
        if self._ray is None or self._ray.problem is not problem:
            self._ray = OrthantRay(problem) if problem.penalty.sparse else Ray(problem)
        ray, finished = self._ray, ""
        ray.begin(state)
        stuck = not self._stationary(problem, ray.sizes(state)) and not ray.descend(state)
        stationary = self._stationary(problem, ray.sizes(state))
        if stationary:
            finished = f"the gradient is within {self.gradient_tolerance:g} of zero"
        elif stuck:
            finished = "the line search found no lower objective"
        dual = ray.dual(state) if problem.convex else None
        evaluations = tuple(ray.seconds)
        return state, Report(
            state.loss,
            primal=state.objective,
            dual=dual,
            evaluations=evaluations,
            finished=finished,
            failed=stuck and not stationary,
        )

    def weights(self, state: QuasiNewtonState) -> Array:
        """Return theta."""
        return state.theta

    def _stationary(self, problem: Objective, sizes: Sizes) -> bool:
        bound: float = self.gradient_tolerance * max(1.0, sqrt(sizes.weights))
        return bool(problem.m * sqrt(sizes.gradient) <= bound)
