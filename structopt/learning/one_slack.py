"""The restricted dual of cutting planes with one slack variable for the mean loss: its planes, and
its solution by pair steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer_state import OptimizerState, absent, over_weights
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

INACTIVE = 50  # rounds after which a plane with alpha = 0 is dropped
FINER = 0.01  # share of the accuracy asked for, to which the quadratic program is solved
STEPS = 10_000  # at most, for each plane
# share of the way from the best weights to the minimum over the planes: there the next plane
# touches the mean loss
REACH = 0.3


@dataclass(kw_only=True)
class SlackArrays(OptimizerState):
    """Planes of the mean loss, and the weights of their dual variables; None where there are none.

    Attributes
    ----------
    theta : float64, shape (dimension,)
    slack_planes : float64, shape (planes, weights that may move)
    slack_duals : float64, shape (3, planes)
        alpha, b, and the rounds since the plane last had alpha > 0.
    slack_gram : float64, shape (planes, planes)
    """

    theta: Array = over_weights()
    slack_planes: Array = absent()
    slack_duals: Array = absent()
    slack_gram: Array = absent()


class OneSlack:
    """Climbs  F(alpha) = sum_j alpha_j b_j - 1/2 ||theta||^2,  theta = -sum_j alpha_j a_j, over
    planes of the mean loss.

        (1/m) sum_i L_i(theta') >= a_j^T theta' + b_j:   a_j = (1/m) sum_i F_i r_i,   b_j = (1/m)
        sum_i L_i - a_j^T theta

    alpha >= 0, sum_j alpha_j = 1/lambda. D = lambda F. Row 0 of the arrays is the null plane.

    Parameters
    ----------
    problem : Objective
    state : SlackArrays
        With the arrays of `create`.
    limit : int
        Bytes for the planes, each 8 a weight that may move. While they are rearranged they may take
        twice that.
    """

    def __init__(self, problem: Objective, state: SlackArrays, limit: int) -> None:
        self.problem, self.state = problem, state
        self.most = limit // (8 * problem.scorer.count)

    @classmethod
    def create(cls, problem: Objective, limit: int) -> dict[str, Any]:
        """Return the arrays of a state with the null plane alone."""
        needed = 3 * 8 * problem.scorer.count
        if needed > limit:
            raise ConfigError(
                f"`cache_mb={limit / 1000000.0:g}` is too small: three planes of "
                f"{problem.scorer.count} weights need {needed / 1000000.0:.3g} MB.",
                remedy="Raise it, or set variant='n_slack'.",
                kinds={"cache_mb": "optimizer", "variant": "optimizer"},
            )
        duals = np.zeros((3, 1))  # alpha, b, and the rounds since the plane last had alpha > 0
        duals[0, 0] = 1.0 / problem.regularization
        return {
            "slack_planes": np.zeros((1, problem.scorer.count)),
            "slack_duals": duals,
            "slack_gram": np.zeros((1, 1)),
        }

    def next_point(self, best: Array) -> Array:
        """Return the weights at which the next plane is to touch the mean loss: between the best
        weights so far and theta.

        The plane cuts off theta from there, too: where P is no less than at `best`, it rises
        towards theta, whose bound is lower.
        """
        return np.asarray(best + REACH * (self.state.theta - best))

    def add_planes(self, weights: Array, margin: float) -> float:
        """Add the plane that touches the mean loss at the weights, whatever the margin. Return the
        sum of the losses.
        """
        problem, state = self.problem, self.state
        losses, gradient = problem.gradient(weights)
        offset = (losses - float(weights @ gradient)) / problem.m
        while len(state.slack_planes) > self.most:
            self._shrink()
        plane = problem.scorer.compress(gradient) / problem.m
        products = state.slack_planes @ plane
        state.slack_gram = np.block(
            [[state.slack_gram, products[:, None]], [products, np.array(plane @ plane)]]
        )
        state.slack_planes = np.vstack([state.slack_planes, plane])
        state.slack_duals = np.hstack([state.slack_duals, np.array([[0.0], [offset], [0.0]])])
        return float(losses)

    def solve(self, accuracy: float, epoch: int) -> None:
        """Make pair steps until F, times lambda, is well within `accuracy` of its maximum; compute
        theta anew.
        """
        from structopt.kernels.learn.mira_program import pair_steps

        alpha, offsets, idle = self.state.slack_duals
        gram = self.state.slack_gram
        pair_steps(
            gram, offsets - gram @ alpha, alpha, len(alpha), FINER * accuracy, STEPS * len(alpha)
        )
        idle[:] = np.where(alpha > 0, 0.0, idle + 1.0)
        self._keep((alpha > 0) | (idle <= INACTIVE) | (np.arange(len(alpha)) == 0))
        planes, alpha = self.state.slack_planes, self.state.slack_duals[0]
        self.state.theta = self.problem.scorer.expand(-(alpha @ planes))

    def dual(self) -> float:
        """Return D at the present alpha."""
        alpha, offsets, _ = self.state.slack_duals
        return float(
            self.problem.regularization * (alpha @ offsets) - self.problem.ridge(self.state.theta)
        )

    def planes(self) -> tuple[Array, Array]:
        """Return the planes, shape (planes, weights that may move), and offsets, without the null
        plane.
        """
        return self.state.slack_planes[1:], self.state.slack_duals[1, 1:]

    def _shrink(self) -> None:
        """Drop the plane that was idle longest; if all are active, merge the two oldest, which
        changes neither theta nor D.
        """
        alpha, offsets, idle = self.state.slack_duals
        gram, planes = self.state.slack_gram, self.state.slack_planes
        kept = np.ones(len(alpha), bool)
        unused = np.flatnonzero(alpha[1:] == 0) + 1
        if len(unused):
            kept[unused[np.argmax(idle[unused])]] = False
        else:
            total = alpha[1] + alpha[2]
            mix = alpha[1:3] / total
            planes[1], offsets[1], alpha[1] = mix @ planes[1:3], mix @ offsets[1:3], total
            gram[1] = mix @ gram[1:3]
            gram[:, 1] = gram[:, 1:3] @ mix
            kept[2] = False
        self._keep(kept)

    def _keep(self, kept: Array) -> None:
        """Drop the planes that a mask does not keep."""
        if not kept.all():
            state = self.state
            state.slack_planes = state.slack_planes[kept]
            state.slack_duals = np.ascontiguousarray(state.slack_duals[:, kept])
            state.slack_gram = state.slack_gram[np.ix_(kept, kept)]
