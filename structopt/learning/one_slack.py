"""The restricted dual with one slack variable for the mean loss: planes over the weights, and its solution by pair steps."""

from __future__ import annotations

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import State
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

INACTIVE = 50  # rounds after which a plane with alpha = 0 is dropped
FINER = 0.01  # share of the asked accuracy to which the small problem is solved
STEPS = 10_000  # at most, for each plane
REACH = 0.3  # of the way from the best weights to the minimum over the planes: where the next plane is asked for


class OneSlack:
    """Climbs  F(alpha) = sum_j alpha_j b_j - 1/2 ||theta||^2,  theta = -sum_j alpha_j a_j, over planes of the mean loss.

        (1/m) sum_i L_i(theta') >= a_j^T theta' + b_j:   a_j = (1/m) sum_i F_i r_i,   b_j = (1/m) sum_i L_i - a_j^T theta

    alpha >= 0, sum_j alpha_j = 1/lambda. D = lambda F. Row 0 is the null row.

    Parameters
    ----------
    problem : Problem
    state : State
        Holds what `create` made, and ``theta``.
    limit : int
        Bytes for the planes, each 8 a weight that may move. While they are rearranged they may take twice that.
    """

    def __init__(self, problem: Objective, state: State, limit: int) -> None:
        self.problem, self.state = problem, state
        self.most = limit // (8 * problem.scorer.count)

    @classmethod
    def create(cls, problem: Objective, limit: int) -> State:
        """Make the state: the null row."""
        needed = 3 * 8 * problem.scorer.count
        if needed > limit:
            raise ConfigError(
                f"optimizer.cache_mb={limit / 1e6:g} is too small: three planes of {problem.scorer.count} weights need "
                f"{needed / 1e6:.3g} MB. Raise it, or type optimizer.variant=n_slack."
            )
        duals = np.zeros((3, 1))  # alpha, b, and the rounds since the row was active
        duals[0, 0] = 1.0 / problem.regularization
        return {"slack_planes": np.zeros((1, problem.scorer.count)), "slack_duals": duals, "slack_gram": np.zeros((1, 1))}

    def query(self, best: Array) -> Array:
        """Where to ask for the next plane: on the way from the best weights so far to theta.

        It cuts theta off there as well: where P is no less than at `best`, the plane rises towards theta, whose value is below.
        """
        return np.asarray(best + REACH * (self.state["theta"] - best))

    def ask(self, weights: Array, margin: float) -> float:
        """Add the plane that touches the mean loss at the weights, wherever it lies. Returns the sum of the losses."""
        problem, state = self.problem, self.state
        losses, gradient = problem.gradient(weights)
        offset = (losses - float(weights @ gradient)) / problem.m
        while len(state["slack_planes"]) > self.most:
            self._shrink()
        plane = problem.scorer.compress(gradient) / problem.m
        products = state["slack_planes"] @ plane
        state["slack_gram"] = np.block([[state["slack_gram"], products[:, None]], [products, np.array(plane @ plane)]])
        state["slack_planes"] = np.vstack([state["slack_planes"], plane])
        state["slack_duals"] = np.hstack([state["slack_duals"], np.array([[0.0], [offset], [0.0]])])
        return float(losses)

    def solve(self, accuracy: float, epoch: int) -> None:
        """Make pair steps until F, times lambda, is well within `accuracy` of its maximum; compute theta anew."""
        from structopt.kernels.learn.half_space_program import pair_steps

        alpha, offsets, idle = self.state["slack_duals"]
        gram = self.state["slack_gram"]
        pair_steps(gram, offsets - gram @ alpha, alpha, len(alpha), FINER * accuracy, STEPS * len(alpha))
        idle[:] = np.where(alpha > 0, 0.0, idle + 1.0)
        self._keep((alpha > 0) | (idle <= INACTIVE) | (np.arange(len(alpha)) == 0))
        planes, alpha = self.state["slack_planes"], self.state["slack_duals"][0]
        self.state["theta"] = self.problem.scorer.expand(-(alpha @ planes))

    def dual(self) -> float:
        """D at the current point."""
        alpha, offsets, _ = self.state["slack_duals"]
        return float(self.problem.regularization * (alpha @ offsets) - self.problem.ridge(self.state["theta"]))

    def planes(self) -> tuple[Array, Array]:
        """Planes, shape (rows, weights that may move), and offsets, the null row left out."""
        return self.state["slack_planes"][1:], self.state["slack_duals"][1, 1:]

    def _shrink(self) -> None:
        """Drop the plane that was idle longest; if all are active, merge the two oldest: theta and D stay as they are."""
        alpha, offsets, idle = self.state["slack_duals"]
        gram, planes = self.state["slack_gram"], self.state["slack_planes"]
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
        """Leave out the other rows."""
        if not kept.all():
            state = self.state
            state["slack_planes"] = state["slack_planes"][kept]
            state["slack_duals"] = np.ascontiguousarray(state["slack_duals"][:, kept])
            state["slack_gram"] = state["slack_gram"][np.ix_(kept, kept)]
