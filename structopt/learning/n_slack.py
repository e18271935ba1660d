"""The restricted dual of cutting planes with one slack variable an instance: its planes, its
solution by sweeps, and a check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structopt.core.objective import Objective
from structopt.kernels.waist.record import Array
from structopt.learning.minibatches import VISITS, answering_helper
from structopt.learning.plane_cache import PlaneCache

# at most, a round: another round gains more than further digits of a problem that is about to
# change
SWEEPS = 20


class NSlack:
    """Climbs  F(alpha) = sum_ij alpha_ij b_ij - 1/2 ||theta||^2,  theta = -sum_ij alpha_ij F_i
    r_ij, over cached planes.

    alpha_i >= 0, sum_j alpha_ij = C. D = F / (C m).

    Parameters
    ----------
    problem : Objective
    state : PlaneArrays
        With the arrays of `create`, and ``theta``.
    limit : int
        Bytes for the planes.
    """

    def __init__(self, problem: Objective, state: Any, limit: int) -> None:
        self.problem, self.state = problem, state
        self.cache = PlaneCache(state, problem.structure.parts, limit)

    @classmethod
    def create(cls, problem: Objective, limit: int) -> dict[str, Any]:
        """Return the arrays of a state without planes."""
        return PlaneCache.create(problem.m, problem.C, limit)

    def next_point(self, best: Array) -> Array:
        """Return the weights at which the next planes are to touch the losses: theta."""
        theta: Array = self.state.theta
        return theta

    def add_planes(self, weights: Array, margin: float) -> float:
        """Call the oracle for all instances; cache planes violated by more than a margin. Return
        the sum of the losses.
        """
        from structopt.kernels.learn.answers import empty_answers
        from structopt.kernels.learn.cutting_plane import collect_pass

        problem, totals, cache = self.problem, np.zeros(2), self.cache
        # an instance may be visited again when the cache is full, which would move its messages
        threads = 1 if len(problem.messages) else problem.threads(problem.m)
        slots = 1 if threads == 1 else min(problem.m, VISITS * threads)
        answers = empty_answers(slots, problem.examples.most_parts, scores=True)
        dense, scratch = np.zeros(problem.dimension), cache.scratch()

        def run(order: Array) -> int:
            return int(
                problem.run_together(
                    collect_pass,
                    answering_helper,
                    threads,
                    (order, weights, answers),
                    cache.planes,
                    dense,
                    problem.loss.gamma,
                    margin,
                    scratch,
                    totals,
                )
            )

        cache.visit(np.arange(problem.m), run)
        return float(totals[0])

    def solve(self, accuracy: float, epoch: int) -> None:
        """Sweep over the instances, theta included, until F, divided by C m, is within `accuracy`
        of its maximum.

        Between two sweeps over all instances, there are sweeps over those that were not yet solved
        to the accuracy.
        """
        from structopt.kernels.learn.cutting_plane import sweep

        problem, cache = self.problem, self.cache
        generator = np.random.default_rng([problem.seed, epoch, 1])
        planes, scratch, gaps = cache.planes, cache.scratch(), np.zeros(problem.m)
        everyone = np.flatnonzero(planes.counts > 1)
        pending = everyone
        for _ in range(SWEEPS):
            order = generator.permutation(pending)
            problem.run(
                sweep, planes, order, self.state.theta, problem.C, 0.5 * accuracy, scratch, gaps
            )
            if len(pending) == len(everyone) and gaps.sum() <= accuracy * problem.m:
                break
            pending = pending[gaps[pending] > accuracy]
            if not len(pending):
                pending = everyone
        cache.grow_older()

    def dual(self) -> float:
        """Return D at the present alpha."""
        return dual(self.problem, self.cache, self.state.theta)


def dual(problem: Objective, cache: PlaneCache, theta: Array) -> float:
    """Return D = lambda (sum_ij alpha_ij b_ij - 1/2 ||theta||^2)."""
    return float(problem.regularization * cache.offsets() - problem.ridge(theta))


Solve = Callable[[Array, Array, Array, float], Array]


def block_difference(
    problem: Objective, cache: PlaneCache, theta: Array, instances: Sequence[int], solve: Solve
) -> float:
    """Compare pair steps with another solution of the problem of one instance over its planes, the
    other instances fixed.

    Parameters
    ----------
    problem : Objective
    cache : PlaneCache
        Not changed.
    theta : float64, shape (dimension,)
    instances : sequence of int
    solve : callable
        (center, rows, offsets, cap) to  argmin 1/2 ||theta' - center||^2 + cap max(0, max_j rows_j
        theta' + offsets_j).

    Returns
    -------
    float
        The largest difference of theta', relative to the distance of theta' from the center; or of
        the cached Gram matrix, relative to its largest entry, where that is larger.
    """
    from structopt.kernels.learn.mira_program import pair_steps

    largest = 0.0
    for i in instances:
        planes = cache.rows(i)[1:]
        if not planes:
            continue
        rows = np.stack([_pulled_back(problem, i, plane.residual) for plane in planes])
        touched = np.flatnonzero(rows.any(axis=0))
        rows, here = np.ascontiguousarray(rows[:, touched]), theta[touched]
        offsets, alpha = (
            np.array([getattr(plane, name) for plane in planes]) for name in ("offset", "alpha")
        )
        gram = np.pad(rows @ rows.T, ((1, 0), (1, 0)))
        masses = np.array([problem.C - alpha.sum(), *alpha])
        masses[0] = max(0.0, masses[0])
        center = here + alpha @ rows
        pair_steps(
            gram, np.array([0.0, *(rows @ here + offsets)]), masses, len(masses), 1e-13, 100_000
        )
        ours, theirs = center - masses[1:] @ rows, solve(center, rows, offsets, problem.C)
        moved = max(
            float(np.linalg.norm(theirs - center)),
            1e-6 * problem.C * float(np.sqrt(gram.max())),
            1e-300,
        )
        difference = np.abs(cache.gram(i) - gram).max() / max(gram.max(), 1e-300)
        largest = max(largest, float(np.linalg.norm(ours - theirs)) / moved, float(difference))
    return largest


def _pulled_back(problem: Objective, i: int, residual: Array) -> Array:
    """F_i r as a dense vector, zero where a weight may not move."""
    dense = np.zeros(problem.dimension)
    problem.kernels.accumulate(problem.data.features, i, residual, dense)
    return dense if problem.scorer.support is None else dense * problem.scorer.support
