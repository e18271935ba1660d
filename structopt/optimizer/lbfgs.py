"""Limited-memory BFGS on the primal objective, with a smooth penalty or one that sets weights to
0.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, Literal, Self

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report, State
from structopt.core.weights.penalty import Penalty
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning import options
from structopt.learning.orthant_ray import OrthantRay
from structopt.learning.ray import Ray, Sizes

KERNEL_MODULES = (
    "structopt.kernels.quasi_newton.lbfgs",
    "structopt.kernels.waist.passes",
    "structopt.kernels.features.bundles",
    "structopt.kernels.features.attributes.columns",
    "structopt.kernels.arrays.coordinates",
)


class LBFGS(Optimizer):
    r"""Quasi-Newton descent on P(theta); every pass is one iteration, line search included.

        theta <- theta - t H grad P(theta)

    H is an estimate of the inverse Hessian from the last `memory` steps s and changes y of the
    gradient, t a step length that satisfies the strong Wolfe conditions. The loss must be
    differentiable: loss.beta < inf. Where it is convex, and scores are linear in the weights, every
    pass bounds its distance from the minimum, because P has at least the curvature of its ridge:
    P(theta) - P* <= ||grad P(theta)||^2 / (2 lambda).

    With an l1 norm in the penalty this is OWL-QN: every iteration stays within an orthant, where P
    is smooth, and sets weights to 0 that would leave it (`structopt.learning.orthant_ray`).

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
        Stop when ||grad m P(theta)|| <= gradient_tolerance * max(1, ||theta||); with an l1 norm,
        the pseudo-gradient's norm.
    penalty : str
        The regulariser: ``l2`` (lambda/2 ||theta||^2), ``l1`` (lambda ||theta||_1) or ``elastic``
        (the sum of both).
    c1, c2 : float from 0 to 1e12, or None
        In place of C, as CRFsuite counts: m P is c1 ||theta||_1 + c2 ||theta||^2 + sum_i L_i. c1 is
        of ``l1`` and ``elastic``, c2 of ``elastic``. None: 1/C and 1/(2 C).

    Notes
    -----
    Liu and Nocedal (1989), "On the limited memory BFGS method for large scale optimization";
    Nocedal and Wright (2006), Algorithms 7.4 and 3.5; Andrew and Gao (2007), "Scalable training of
    L1-regularized log-linear models". The bound is that of `Objective.certificate`.
    """

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 100,
        tolerance: float = 0.0,
        memory: int = 10,
        gradient_tolerance: float = 1e-5,
        penalty: Literal["l2", "l1", "elastic"] = "l2",
        c1: float | None = None,
        c2: float | None = None,
    ) -> None:
        options.check(C=C, epochs=epochs)
        options.check_tolerance(tolerance)
        options.at_least("gradient_tolerance", gradient_tolerance, 0.0)
        options.one_of("penalty", penalty, ("l2", "l1", "elastic"))
        if memory < 1:
            raise ConfigError("must be at least 1.", parameter="optimizer.memory", value=memory)
        self.C, self.epochs, self.tolerance = float(C), epochs, float(tolerance)
        self.memory, self.gradient_tolerance = memory, float(gradient_tolerance)
        self.penalty, self.c1, self.c2 = penalty, c1, c2
        self._penalty = _penalty(penalty, self.C, c1, c2)
        self._ray: Ray | None = None

    @classmethod
    def replaced(cls, values: Mapping[str, Any]) -> Mapping[str, str]:
        """C, if c1 and c2 set all of the penalty."""
        used = {"l1": ("c1",), "elastic": ("c1", "c2")}.get(values.get("penalty", "l2"), ())
        complete = bool(used) and all(values.get(key) is not None for key in used)
        return {"C": used[-1]} if complete else {}

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A smooth function of any scorer, the same at every evaluation; convex, where it is to
        stop at a gap.
        """
        because, remedy = (
            ": others have no certified gap",
            "Set it to 0; optimizer.gradient_tolerance stops at a stationary point.",
        )
        gap = (
            (Demand(Property.CONVEX, "optimizer.tolerance", because, remedy),)
            if self.tolerance > 0
            else ()
        )
        demands = (Demand(Property.SMOOTH), *gap, Demand(Property.SAME_FUNCTION))
        if self.tolerance > 0:
            return Needs(Ability.MARGINALS | Ability.UPPER, demands, by="optimizer.tolerance")
        return Needs(Ability.MARGINALS | Ability.UPPER, demands, features="any")

    def _penalized(self, penalty: Penalty) -> Self:
        """See `Optimizer`: any penalty."""
        self._penalty, self._ray = penalty, None
        return self

    @property
    def plan(self) -> Plan:
        """Evaluations over all instances."""
        sparse = self._penalty.sparse
        return Plan(
            "batch",
            converges=True,
            finishes=self.gradient_tolerance > 0,
            penalty=self._penalty,
            tolerance=self.tolerance,
            weights=("theta",),
            kernel_modules=(*KERNEL_MODULES, "structopt.kernels.quasi_newton.orthant")
            if sparse
            else KERNEL_MODULES,
            imports=() if sparse else ("scipy.optimize",),
            bound="its steps are built from changes of one objective's gradient, and other data "
            "are another objective",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Weights, gradient and the pairs; beside them the vectors of the line search."""
        moving = sizes.moving_vector
        state = {"weights": sizes.weight_vector, "gradient": moving}
        state |= {f"{self.memory} steps and changes of the gradient": 2 * self.memory * moving}
        # of `Ray`; its indices of weights that move among them
        vectors = 5 if self._penalty.sparse else 4
        return Footprint(state, kept=sizes.weight_vector + vectors * moving, gradients=True)

    def init(self, problem: Objective, weights: Array) -> State:
        """Start from the given weights without pairs; the first step evaluates them."""
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        count = problem.scorer.count
        return {
            "theta": weights.copy(),
            # of P without the l1 norm, over the weights that may move; as the pairs are
            "gradient": np.zeros(count),
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
            self._ray = OrthantRay(problem) if self._penalty.sparse else Ray(problem)
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
            state["loss"],
            primal=state["objective"],
            dual=dual,
            evaluations=evaluations,
            finished=finished,
            failed=stuck and not stationary,
        )

    def weights(self, state: State) -> Array:
        """Return theta."""
        theta: Array = state["theta"]
        return theta

    def _stationary(self, problem: Objective, sizes: Sizes) -> bool:
        bound: float = self.gradient_tolerance * max(1.0, sqrt(sizes.weights))
        return bool(problem.m * sqrt(sizes.gradient) <= bound)


def _penalty(name: str, C: float, c1: float | None, c2: float | None) -> Penalty:
    """The penalty of this name, of lambda = 1/(C m) or of CRFsuite's numbers."""
    if c1 is not None and name == "l2":
        raise ConfigError(
            "has no effect with optimizer.penalty=l2.",
            parameter="optimizer.c1",
            value=c1,
            remedy="Set optimizer.penalty=l1 or elastic.",
        )
    if c2 is not None and name != "elastic":
        alone = (
            f", or optimizer.C={1 / (2 * c2):g} instead of optimizer.c2"
            if name == "l2" and c2 > 0
            else ""
        )
        raise ConfigError(
            f"has no effect with optimizer.penalty={name}.",
            parameter="optimizer.c2",
            value=c2,
            remedy=f"Set optimizer.penalty=elastic{alone}.",
        )
    for key, value in (("c1", c1), ("c2", c2)):
        if value is not None:
            options.at_least(key, value, 0.0)
    shares = {
        "l2": (0.0, 1.0),
        "l1": (_share(c1, C), 0.0),
        "elastic": (_share(c1, C), _share(c2, 2 * C)),
    }[name]
    if not any(shares):
        zeros = " and ".join(
            f"optimizer.{key}=0" for key, value in (("c1", c1), ("c2", c2)) if value is not None
        )
        raise ConfigError(
            f"{zeros} would leave the weights free to grow without bound.",
            remedy="Set a number above 0.",
        )
    return Penalty(*shares)


def _share(number: float | None, unit: float) -> float:
    """The share of lambda that a number of CRFsuite's is, given how many of these lambda is; all of
    it where there is none.
    """
    return 1.0 if number is None else number * unit
