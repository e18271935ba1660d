"""What every scorer promises: scores of any instances in any order, their gradient, and a state
that can be stored.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.weights.coordinates import Occurring
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.waist.record import Array
from structopt.loss.family import LossFamily
from structopt.objective.problem import Problem
from structopt.testing.problems import make_problem, random_encoded
from structopt.testing.promises import default, promises, required

STEP, TOLERANCE = 1e-5, 1e-6  # of the central differences


@promises("scorer")
class ScorerContract:
    """Override the fixture `scorer`, which returns a scorer that is not fitted; and `graph` and
    `encoded`, if the scorer is not for sequences.
    """

    @required
    def scorer(self) -> Any:
        """Return the scorer under test, which is not fitted."""

    @default
    def graph(self) -> FactorGraph:
        """Make a factor graph with an exact inference."""
        return LinearChain()

    @pytest.fixture(params=[False, True], ids=["ones", "values"])
    def encoded(self, request: Any) -> Encoded:
        """Make a small corpus, instances of one variable among the others, and variables without
        attributes.
        """
        return random_encoded(1, (3, 1, 2, 4, 1), values=request.param)

    @default
    def problem(self, scorer: Scorer, graph: FactorGraph, encoded: Encoded) -> Problem:
        """P with a loss that is smooth and has a cost."""
        return make_problem(encoded, graph, LossFamily(1.0, 0.5), Exact(), scorer=scorer)

    @default
    def weights(self, problem: Problem) -> Array:
        """Weights at which nothing is zero that may move."""
        drawn = problem.scorer.initial(1) + 0.5 * np.random.default_rng(2).normal(
            size=problem.dimension
        )
        return drawn if problem.scorer.support is None else drawn * problem.scorer.support

    def test_first_weights_come_from_the_seed(self, problem: Problem) -> None:
        """Same seed, same bits; they are finite, and zero where they may not move.

        Draw the weights of `initial` from a generator with that seed alone, finite, and zero where
        `support` is False.
        """
        first, again = (problem.scorer.initial(3) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert first.shape == (problem.dimension,)
        assert np.isfinite(first).all()
        assert problem.scorer.covers(first)

    def test_scores_are_those_of_the_instances_asked_for(
        self, problem: Problem, weights: Array
    ) -> None:
        """A vector of all parts of some instances, in their order; twice the same bits; of none,
        nothing.

        Return the scores of the instances asked for, in that order, group by group; they must not
        depend on the other instances.
        """
        parts, examples = problem.structure.parts, problem.examples
        whole = examples.scores(weights, np.arange(problem.m))
        order = np.arange(problem.m)[::-2]
        scores = examples.scores(weights, order)
        expected = np.concatenate([whole[parts[i] : parts[i + 1]] for i in order])
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(scores, examples.scores(weights, order))
        assert examples.scores(weights, order[:0]).shape == (0,)

    def test_an_empty_corpus(self, problem: Problem, weights: Array) -> None:
        """Has no scores, and nothing to be pulled back.

        Return an empty vector of scores, and zeros as gradient, where there are no instances.
        """
        scorer, encoded = problem.scorer, problem.examples.encoded.subset(0, 0)
        graphs = problem.examples.graphs
        assert graphs is not None
        prepared, none = scorer.prepare(encoded, graphs(encoded)), np.zeros(0, np.int64)
        assert scorer.scores(weights, prepared, none).shape == (0,)
        np.testing.assert_array_equal(
            scorer.pullback(weights, prepared, none, np.zeros(0)), np.zeros(problem.dimension)
        )

    def test_pullback_is_the_slope_of_the_scores(self, problem: Problem, weights: Array) -> None:
        """For any residuals r, the gradient of r^T s(theta) equals central differences along random
        directions.

        Return from `pullback` the derivative of r^T scores(theta) by all weights, at the same
        theta.
        """
        generator, examples, chosen = (
            np.random.default_rng(5),
            problem.examples,
            np.arange(problem.m)[::2],
        )
        r = generator.normal(size=len(examples.scores(weights, chosen)))
        gradient = problem.scorer.pullback(weights, examples.prepared, chosen, r)
        for direction in self._directions(problem, generator):
            ahead, behind = (
                examples.scores(weights + sign * STEP * direction, chosen) for sign in (1, -1)
            )
            assert _slope(float(r @ ahead), float(r @ behind)) == _about(
                float(gradient @ direction)
            )

    def test_gradient_of_the_losses(self, problem: Problem, weights: Array) -> None:
        """Through scores, inference and loss, the gradient equals central differences of the
        losses.

        Check `pullback` at the weights that it is given, not at those of an earlier call.
        """
        losses, gradient = problem.minibatch(weights, np.arange(problem.m))
        assert losses == pytest.approx(problem.losses(weights), rel=1e-10)
        for direction in self._directions(problem, np.random.default_rng(6)):
            ahead, behind = (problem.losses(weights + sign * STEP * direction) for sign in (1, -1))
            assert _slope(ahead, behind) == _about(float(gradient @ direction))

    def test_equal_noise_gives_equal_bits(self, problem: Problem, weights: Array) -> None:
        """In training, whatever is random in scores and gradient is drawn from the noise alone.

        Seed the generator of `training` with `noise`, and with nothing else; leave no trace in
        later calls.
        """
        chosen, found = np.arange(problem.m), []
        for noise in ((1, 2), (1, 3), (1, 2)):
            scores, pullback = problem.scorer.training(
                weights, problem.examples.prepared, chosen, noise
            )
            found.append((np.array(scores), np.array(pullback(np.ones(len(scores))))))
        for first, again in zip(found[0], found[2], strict=True):
            np.testing.assert_array_equal(first, again)

    def test_all_at_once_or_in_batches(self, problem: Problem, weights: Array) -> None:
        """The gradient over all instances is the sum of those of batches.

        Sum over the instances in `pullback`: no mean, and nothing kept from call to call.
        """
        order = np.random.default_rng(0).permutation(problem.m)
        batches = [problem.minibatch(weights, batch) for batch in np.array_split(order, 2)]
        losses, gradient = problem.gradient(weights)
        assert losses == pytest.approx(sum(one for one, _ in batches), rel=1e-10)
        np.testing.assert_allclose(gradient, sum(one for _, one in batches), rtol=1e-9, atol=1e-12)

    def test_stores_all_that_it_learnt(self, problem: Problem, weights: Array) -> None:
        """A stored state scores to the same bits; its values survive JSON, and its arrays have
        names without dots.

        Return from `state` JSON values and arrays that `restore` needs, and undo it there exactly.
        """
        layout, arrays = problem.scorer.state()
        assert all("." not in name and name != "weights" for name in arrays)
        again = type(problem.scorer).restore(json.loads(json.dumps(layout)), arrays)
        assert again.dimension == problem.dimension
        prepared, chosen = (
            again.prepare(problem.examples.encoded, problem.structure),
            np.arange(problem.m),
        )
        np.testing.assert_array_equal(
            again.scores(weights, prepared, chosen), problem.examples.scores(weights, chosen)
        )
        np.testing.assert_array_equal(again.expand(again.compress(weights)), weights)

    def test_fitting_twice(self, scorer: Scorer, problem: Problem) -> None:
        """Equal corpora give equal layouts, and the scorer that was fitted is left as it was.

        Return a new scorer from `fit`, or make all that it changes anew; draw no random numbers
        there.
        """
        structure = problem.structure
        again = scorer.fit(problem.examples.encoded, structure, problem.targets.points)
        assert json.dumps(again.state()[0]) == json.dumps(problem.scorer.state()[0])
        np.testing.assert_array_equal(again.initial(0), problem.scorer.initial(0))

    def test_parts_are_made_of_weights_that_have_names(
        self, problem: Problem, weights: Array
    ) -> None:
        """Where scores are linear, every weight that the gold parts of the first instance read has
        a name.

        Let `tables_of` say which rows and columns belong to which attribute and configuration, or
        find the names of weights that parts share in `named`.
        """
        scorer, examples, targets = problem.scorer, problem.examples, problem.targets
        if not isinstance(scorer, SparseFeatures):
            return
        read, indicators = np.zeros(problem.dimension), np.zeros(int(problem.structure.parts[1]))
        indicators[targets.points.parts[: targets.points.offsets[1]]] = 1.0
        scorer.kernels.accumulate(examples.features, 0, indicators, read)
        occurring = Occurring(examples.encoded, problem.structure, targets.points)
        named = scorer.named(np.flatnonzero(read), _Numbers(), occurring)
        assert named.keys() == {*np.flatnonzero(read).tolist()} and all(named.values())

    def test_tables_have_every_weight_once(self, problem: Problem, weights: Array) -> None:
        """Where weights have tables, these are all there is, and weights can be made of them.

        Give every weight a row and a column in `tables_of`, nothing else there but `absent`, and
        undo it in `vector_of`.
        """
        scorer = problem.scorer
        if (
            not isinstance(scorer, SparseFeatures)
            or (tables := scorer.tables_of(np.arange(problem.dimension), -1)) is None
        ):
            return
        numbers = np.concatenate([table.ravel() for table in tables.values()])
        np.testing.assert_array_equal(np.sort(numbers[numbers >= 0]), np.arange(problem.dimension))
        np.testing.assert_array_equal(scorer.vector_of(scorer.tables_of(weights) or {}), weights)

    def _directions(self, problem: Problem, generator: np.random.Generator) -> list[Array]:
        """Random directions in which weights may move."""
        support = (
            np.ones(problem.dimension) if problem.scorer.support is None else problem.scorer.support
        )
        return [generator.normal(size=problem.dimension) * support for _ in range(4)]


class _Numbers:
    """Names that are numbers."""

    def attributes(self, group: str, size: int) -> list[str]:
        return [f"attribute {k}" for k in range(size)]

    def configurations(self, group: str, width: int) -> list[str]:
        return [f"configuration {k}" for k in range(width)]

    def values(self, column: str) -> dict[int, str]:
        return {}


def _slope(ahead: float, behind: float) -> float:
    return (ahead - behind) / (2 * STEP)


def _about(slope: float) -> Any:
    return pytest.approx(slope, rel=TOLERANCE, abs=TOLERANCE)
