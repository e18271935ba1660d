"""What every optimizer promises: passes that depend on the seed and the state alone, and a state
that can be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any
from unittest import SkipTest

import numpy as np

from structopt.core.memory import NUMBER
from structopt.core.optimizer import Earlier, Optimizer, taken
from structopt.core.optimizer_state import copied, values_of
from structopt.objective.memory import sizes_of
from structopt.objective.problem import Problem
from structopt.testing.components import component
from structopt.testing.problems import random_weights
from structopt.testing.promises import default, promises, required

MakesOptimizer = Callable[[], Optimizer]
MakesProblem = Callable[..., Problem]


def passes(optimizer: Optimizer, problem: Problem, state: Any, count: int) -> Any:
    """State after some passes."""
    for _ in range(count):
        state, report = taken(optimizer.step(problem, state))
        assert report is None or np.isfinite(report.loss)
    return state


def stored(state: Any) -> Any:
    """State as a checkpoint gives it back: arrays and scalars, copied."""
    return copied(state)


def arrays_of(state: Any) -> dict[str, Any]:
    """Return the arrays of a state by name."""
    return {key: one for key, one in values_of(state).items() if isinstance(one, np.ndarray)}


@promises("optimizer")
class OptimizerSuite:
    """Override two fixtures: `optimizer` and `problem` each return a function that creates one.

    Two tests need more, and are skipped without it: override `optimum` to compare P with its
    minimum, and `python_inference` to compare the compiled kernels with plain Python.
    """

    decrease = 0.9  # largest share of P(0) that may be left after `many` passes
    many = 10
    within: float | None = None  # largest P/P* - 1 after `enough` passes; None: no guarantee
    enough = 100
    accuracy = 1e-7  # of `optimum`
    dual_rises = False  # whether D never falls from one pass to the next
    start = 0.0  # scale of the initial weights of these two tests; dual methods need zeros
    python_passes = 2
    python_tolerance = 1e-9  # largest difference of a weight from that of plain Python

    @required
    def optimizer(self) -> Any:
        """Return a function without arguments that creates the optimizer under test."""

    @required
    def problem(self) -> Any:
        """Return a function that creates a small `Problem`: ``problem(seed=0, **options)``.

        Equal seeds give equal problems. `structopt.testing.problems.make_problem` takes the
        options; `inference` is one if the fixture `python_inference` is overridden.
        """

    @default
    def optimum(self) -> Any:
        """Return a function of a problem that computes its least P, or None if P is not convex.

        By default it returns None, and the test of the optimum is skipped.
        """
        return None

    @default
    def python_inference(self) -> Any:
        """Return an inference in plain Python, which `problem` accepts as its argument `inference`.

        By default there is none, and the test in plain Python is skipped.
        """
        return None

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
        earlier = Earlier(values_of(half), small.m, lambda: np.arange(parts))
        state = method.continued(small, earlier)
        assert values_of(state).keys() == earlier.state.keys()
        np.testing.assert_array_equal(method.weights(passes(method, small, state, 2)), whole)

    def test_state_is_arrays_and_scalars(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """A checkpoint can hold the state.

        Return from `init` and `step` a dict, or a dataclass, of numpy arrays, numbers, truth values
        and strings.
        """
        method, small = optimizer(), problem(seed=0)
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        assert all(
            isinstance(value, np.ndarray | bool | int | float | str)
            for value in values_of(state).values()
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
        sizes = sizes_of(small, epochs=10)
        declared = sum(method.footprint(sizes, small.loss).state.values())
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 1)
        taken = sum(value.nbytes for value in arrays_of(state).values())
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

    def test_reaches_the_optimum_between_its_bounds(
        self, optimizer: MakesOptimizer, problem: MakesProblem, optimum: Any
    ) -> None:
        """D <= P* <= P after every pass, and P comes as near to P* as the suite demands.

        Check the terms of D, which must belong to a point that is feasible, and the length of the
        last steps. Set `enough` and `within` in the class of the test, `within = None` for a
        method without a guarantee, and `dual_rises` for a method whose D never falls.
        """
        method, small = optimizer(), problem(seed=0)
        best = optimum(small) if optimum is not None else None
        if best is None:
            raise SkipTest("the fixture `optimum` of this suite knows no optimum of this problem")
        slack, dual = self.accuracy * (1 + best), -inf
        state = method.init(small, random_weights(small, 1, self.start))
        for epoch in range(self.enough):
            state, report = method.step(small, state)
            last = bool(report.finished) or epoch == self.enough - 1
            if report.dual is not None:
                assert report.dual <= best + slack
                assert report.dual >= dual - 1e-11 or not self.dual_rises
                dual = report.dual
            if last or epoch < 10:
                primal = small.objective(method.weights(state))
                assert primal >= best - slack
            if last:
                break
        if self.within is not None:
            assert primal - best <= self.within * best
            assert dual == -inf or best - dual <= self.within * best

    def test_plain_python_gives_the_same_weights(
        self, optimizer: MakesOptimizer, problem: MakesProblem, python_inference: Any
    ) -> None:
        """Compiled kernels and the same kernels in plain Python give the same weights.

        Look for integers that overflow, for divisions by zero, and for arrays that are read beyond
        their ends: compiled kernels do not raise.
        """
        if python_inference is None:
            raise SkipTest("this suite has no fixture `python_inference`")
        weights = []
        for options in ({}, {"inference": python_inference}):
            method, small = optimizer(), problem(seed=0, **options)
            state = method.init(small, random_weights(small, 1, self.start))
            weights.append(method.weights(passes(method, small, state, self.python_passes)))
        compiled, python = weights
        np.testing.assert_allclose(compiled, python, atol=self.python_tolerance, rtol=1e-7)

    def test_state_keeps_to_the_support(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """Weights that may not move stay zero, and so does all of the state that is over weights.

        Update the coordinates of the gradient only, or multiply by the support of the features.
        """
        method, small = optimizer(), problem(seed=0)
        support = getattr(small.examples.scorer, "support", None)
        if support is None or support.all():
            raise SkipTest("all weights of the problem of this suite may move")
        state = passes(method, small, method.init(small, np.zeros(small.dimension)), 2)
        arrays = arrays_of(state)
        over_weights = [arrays[name] for name in method.names("weights") if name in arrays]
        for values in (method.weights(state), *over_weights):
            assert len(values) == 0 or not values[~support].any()

    def test_any_number_of_workers_same_bits(
        self, optimizer: MakesOptimizer, problem: MakesProblem
    ) -> None:
        """The number of threads that evaluate loss and gradient does not change a bit of the
        weights.

        Add up sums in the order of the shards, as `problem.gradient` does, not in the order in
        which they are finished.
        """
        if optimizer().plan.form != "batch":
            raise SkipTest("passes of this optimizer visit one instance after the other")
        weights = []
        for workers in (1, 2, 5):
            method, small = optimizer(), problem(seed=0)
            small.executor = component("executor", "threads", workers=workers)
            state = passes(method, small, method.init(small, np.zeros(small.dimension)), 3)
            weights.append(method.weights(state))
        for other in weights[1:]:
            np.testing.assert_array_equal(other, weights[0])
