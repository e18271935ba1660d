"""Dual points of margins and likelihoods as vectors over parts: mu_i - z_i, mu_i in the marginal
polytope of instance i.

theta(mu) = -C sum_i F_i (mu_i - z_i),
D(mu) = -lambda/2 ||theta(mu)||^2 + (1/m) sum_i ( H(mu_i)/beta + gamma p_i^T (mu_i - z_i) )
"""

from __future__ import annotations

import numpy as np

from structopt.core.objective import Objective
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


def gold_residuals(problem: Objective) -> Array:
    """Return the residuals mu - z at mu = z, over the parts of all instances."""
    return problem.part_vector("marginals")


def weights_at(problem: Objective, residuals: Array) -> Array:
    """Compute theta(mu) anew: the steps of a pass leave rounding errors behind."""
    theta = np.empty(problem.dimension)
    problem.sum_gradients(residuals, theta)
    theta *= -problem.C
    return theta


def dual_at(problem: Objective, theta: Array, total: float) -> float:
    """D(mu) from theta(mu) and total = sum_i H(mu_i)/beta + gamma p_i^T (mu_i - z_i)."""
    return float(total / problem.m - problem.ridge(theta))


def refuse_weights(name: str, weights: Array) -> None:
    """Refuse to start from weights: no dual point belongs to them."""
    if weights.any():
        raise ConfigError(
            "starts from dual variables, which weights do not determine.",
            parameter="optimizer",
            value=name,
            remedy="Leave warm_start=null, or take an optimizer that starts from weights: "
            "dca, sgd, lbfgs.",
        )
