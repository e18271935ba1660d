"""What every loss promises; a convex one promises more."""

from __future__ import annotations

from math import isclose
from typing import Any
from unittest import SkipTest

import numpy as np

from structopt.objective.problem import Problem
from structopt.testing.problems import (
    gold_and_cost,
    instance_scores,
    loss_and_gradient,
    random_weights,
    residual,
)
from structopt.testing.promises import promises, required


@promises("loss")
class LossSuite:
    """Override the fixture `problem`, which returns a small problem with the loss under test and
    exact inference.

    What holds for convex losses alone is skipped where the loss says that it is not.
    """

    perfect = 60.0  # how much the gold configurations score above all others, in nats
    perfect_tolerance = 1e-9

    @required
    def problem(self) -> Any:
        """Return a small `Problem` with the loss under test and exact inference, such as
        ``make_problem(random_encoded(1), graph, loss, exact)`` of `structopt.testing.problems`.
        """

    def test_not_negative(self, problem: Problem) -> None:
        """L >= 0 at random weights.

        Begin with the score of the best output with its cost, and subtract the gold score of the
        same scores, after `add_cost`.
        """
        for seed in range(4):
            weights = random_weights(problem, seed, 2.0)
            assert all(loss_and_gradient(problem, weights, i)[0] >= -1e-9 for i in range(problem.m))

    def test_convex(self, problem: Problem) -> None:
        """Above its tangents, and below its chords on random segments.

        Where the loss is not convex, set `convex = False` in its class: optimizers that need
        convexity are then refused. Else check value and `r`.
        """
        if not problem.loss.convex:
            raise SkipTest("not convex")
        for seed in range(4):
            a, b = random_weights(problem, seed, 2.0), random_weights(problem, seed + 100, 2.0)
            for i in range(problem.m):
                left, slope = loss_and_gradient(problem, a, i)
                right = loss_and_gradient(problem, b, i)[0]
                assert right >= left + slope @ (b - a) - 1e-8
                for share in (0.25, 0.5, 0.75):
                    inside = loss_and_gradient(problem, share * a + (1 - share) * b, i)[0]
                    assert inside <= share * left + (1 - share) * right + 1e-8

    def test_gradient(self, problem: Problem) -> None:
        """The gradient equals central differences along random directions; kinks are met with
        probability 0.

        Write the derivative of the returned value by every score into `r`: for a function f of a
        loss L, f'(L) times (answer - gold).
        """
        weights, step = random_weights(problem, 7), 1e-5
        for seed in range(4):
            direction = random_weights(problem, seed + 50)
            for i in range(problem.m):
                slope = loss_and_gradient(problem, weights, i)[1] @ direction
                ends = [
                    loss_and_gradient(problem, weights + sign * step * direction, i)[0]
                    for sign in (1, -1)
                ]
                between = (ends[0] - ends[1]) / (2 * step)
                assert isclose(slope, between, rel_tol=0.0, abs_tol=1e-5)

    def test_perfect_scores(self, problem: Problem) -> None:
        """No loss and no gradient where gold parts score far above all others, which an output need
        not have one of.

        Subtract the gold score (`gold_score`) from the value and the gold parts from `r`
        (`add_gold(t, i, -1.0, r)`), so that both vanish where gold is far above all else. Where the
        loss needs a greater distance, or vanishes slowly, set `perfect` or `perfect_tolerance` in
        the class of the test.
        """
        for i in range(problem.m):
            s = np.zeros(len(instance_scores(problem, np.zeros(problem.dimension), i)))
            first = problem.structure.groups[0]
            own = slice(0, int(np.diff(first.offsets)[i]) * first.width)
            s[own] = np.where(
                gold_and_cost(problem, i, len(s))[0][own] > 0, self.perfect, -self.perfect
            )
            value, r = residual(problem, s, i)
            assert isclose(value, 0.0, rel_tol=0.0, abs_tol=self.perfect_tolerance)
            np.testing.assert_allclose(r, 0.0, atol=self.perfect_tolerance)
