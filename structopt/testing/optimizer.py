"""What every optimizer promises: passes that depend on the seed and the state alone, and a state
that can be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from structopt.core.memory import NUMBER
from structopt.core.optimizer import Earlier, Optimizer, copied
from structopt.objective.memory import sizes_of
from structopt.objective.problem import Problem
from structopt.testing.problems import random_weights
from structopt.testing.promises import promises

MakesOptimizer = Callable[[], Optimizer]
MakesProblem = Callable[..., Problem]


def passes(optimizer: Optimizer, problem: Problem, state: Any, count: int) -> Any:
    """State after some passes."""
    for _ in range(count):
        state, report = optimizer.step(problem, state)
        assert np.isfinite(report.loss)
    return state


def stored(state: Any) -> Any:
    """State as a checkpoint gives it back: arrays and scalars, copied."""
    return copied(state)


@promises("optimizer")
class OptimizerSuite:
    """Override `optimizer` and `problem`, each a function that makes a fresh one."""

    decrease = 0.9  # largest share of P(0) that may be left after `many` passes
    many = 10

    @pytest.fixture
    def optimizer(self) -> Any:
        """Make a function without arguments that makes the optimizer under test."""
        raise NotImplementedError("override the fixture `optimizer` in the class of the test")

    @pytest.fixture
    def problem(self) -> Any:
        """Make a function that makes a small problem, the same each time for the same `seed`."""
        raise NotImplementedError("override the fixture `problem` in the class of the test")

    def test_same_seed_same_bits(self, optimizer: MakesOptimizer, problem: MakesProblem) -> None:
        """Two runs agree to the last bit.

        Draw random numbers from `problem.order(epoch)` or from a generator seeded by `problem.seed`
        and the pass, and from nothing else.
        """
        runs = []
        for _ in range(2):
            method, small = optimizer(), problem(seed=3)
            runs.append(
                method.weights(
                    passes(method, small, method.init(small, np.zeros(small.dimension)), 3)
                )
            )
        np.testing.assert_array_equal(runs[0], runs[1])

    def test_resumes(self, optimizer: MakesOptimizer, problem: MakesProblem) -> None:
        """Four passes equal two, a checkpoint restored by other objects, and two more.

        Keep all that a pass changes in the state, also counters, and nothing in `self`.
        """
        method, small = optimizer(), problem(seed=3)
        whole = method.weights(
            passes(method, small, method.init(small, np.zeros(small.dimension)), 4)
        )
        method, small = optimizer(), problem(seed=3)
        half = stored(passes(method, small, method.init(small, np.zeros(small.dimension)), 2))
        messages = small.messages
        method, small = optimizer(), problem(seed=3)
        small.messages[:] = messages
        np.testing.assert_array_equal(method.weights(passes(method, small, half, 2)), whole)

    def test_goes_on(self, optimizer: MakesOptimizer, problem: MakesProblem) -> None:
        """Where its state is not bound to its data, going on with the same data equals going on at
        all.

        Name in the plan which entries of the state are over the weights and which stay, and make
        the others in `continued`; or say in `Plan.bound` why training cannot go on with other data.
        """
        method, small = optimizer(), problem(seed=3)
        if method.plan.bound:
            return
        whole = method.weights(
            passes(method, small, method.init(small, np.zeros(small.dimension)), 4)
        )
        method, small = optimizer(), problem(seed=3)
        half = stored(passes(method, small, method.init(small, np.zeros(small.dimension)), 2))
        messages, parts = small.messages, int(small.structure.parts[-1])
        method, small = optimizer(), problem(seed=3)
        small.messages[:] = messages
        state = method.continued(small, Earlier(half, small.m, lambda: np.arange(parts)))
        assert state.keys() == half.keys()
        np.testing.assert_array_equal(method.weights(passes(method, small, state, 2)), whole)

    def test_state_is_arrays_and_scalars(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """A checkpoint can hold the state.

        Return from `init` and `step` a dict of numpy arrays, numbers, truth values and strings.
        """
        method, small = optimizer(), problem(seed=0)
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        assert all(
            isinstance(value, np.ndarray | bool | int | float | str) for value in state.values()
        )

    def test_starts_from_given_weights(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """A warm start begins at the initial weights and leaves their array alone.

        Copy the weights in `init`, and return them from `weights` before the first pass.
        """
        method, small = optimizer(), problem(seed=0)
        initial = random_weights(small, 1)
        kept = initial.copy()
        state = method.init(small, initial)
        np.testing.assert_array_equal(method.weights(state), initial)
        passes(method, small, state, 1)
        np.testing.assert_array_equal(initial, kept)

    def test_asking_for_weights_changes_nothing(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """Weights are finite, of the right size, and can be asked for at any time.

        Compute what `weights` returns from the state, and leave the state alone.
        """
        method, small = optimizer(), problem(seed=0)
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        first = method.weights(state).copy()
        assert first.shape == (small.dimension,)
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(method.weights(state), first)

    def test_footprint(self, optimizer: MakesOptimizer, problem: MakesProblem) -> None:
        """It takes no more memory for its state than it says before it begins.

        Override `footprint`: it returns the bytes of all arrays of the state, by what they are,
        given the sizes of the problem.
        """
        method, small = optimizer(), problem(seed=0)
        sizes = sizes_of(small)
        declared = sum(method.footprint(sizes, small.loss).state.values())
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        taken = sum(value.nbytes for value in state.values() if isinstance(value, np.ndarray))
        assert taken <= 1.05 * declared + NUMBER * (8 + 2 * sizes.instances)

    def test_objective_decreases(self, optimizer: MakesOptimizer, problem: MakesProblem) -> None:
        """Some passes take the primal objective clearly below that of zero weights.

        Check sign and length of the steps: the gradient of P is that of the losses and lambda
        theta. Set `many` or `decrease` in the class of the test for a method that is slow by
        nature.
        """
        method, small = optimizer(), problem(seed=0)
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), self.many)
        start, end = (
            small.objective(w) for w in (np.zeros(small.dimension), method.weights(state))
        )
        assert end <= self.decrease * start
