"""What every inference promises: a convex function of the scores together with its gradient."""

from __future__ import annotations

from math import inf, isclose
from typing import Any
from unittest import SkipTest

import numpy as np

from structopt.config import registry
from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.inference import Inference
from structopt.kernels.waist.record import Array, Record
from structopt.testing.promises import default, promises, required

TEMPERATURES = (0.5, 1.0, 3.0)
MOST = 100_000
"""The most outputs that are listed of an instance."""


def run(
    solve: Any, structure: Structure, i: int, s: Array, temperature: float
) -> tuple[float, Array]:
    """Value and (sub)gradient of one instance, from scratch; the scores are left as they are.

    Raises
    ------
    ArgumentError
        If the instance does not exist, or the scores have another shape or are NaN or +inf.
    """
    _check_scores(structure, i, s)
    z = np.zeros(len(s))
    memory = np.zeros(int(structure.memory[i + 1] - structure.memory[i]))
    work = Record(*(buffer.copy() for buffer in structure.work))
    return float(solve(structure.record, i, s.copy(), temperature, z, memory, work)), z


def _check_scores(structure: Structure, i: int, s: Array) -> None:
    """Refuse scores that a kernel would read beyond their end."""
    checks.integers("i", i, 0, len(structure) - 1, ())
    parts = int(structure.parts[i + 1] - structure.parts[i])
    checks.floats("s", s, (parts,), allow_minus_inf=True)


def finite_differences(value: Any, s: Array, step: float = 1e-5) -> Array:
    """Central differences of a function along every coordinate."""
    return np.array(
        [(value(s + step * e) - value(s - step * e)) / (2 * step) for e in np.eye(len(s))]
    )


def best_listed(
    k_best: Any, structure: Structure, i: int, s: Array, count: int
) -> tuple[Array, Array]:
    """Scores and part vectors of the k best outputs of one instance, shapes (outputs,) and
    (outputs, parts), from scratch.

    What the kernel writes is checked: it keeps within the room that `Structure.most_active` leaves,
    and lists no part twice.

    Raises
    ------
    ArgumentError
        As of `run`.
    """
    _check_scores(structure, i, s)
    room, spare = count * structure.most_active, 3
    values, offsets = np.full(count, np.nan), np.full(count + 1, -1, np.int64)
    parts, counts = np.full(room + spare, -7, np.int32), np.full(room + spare, np.nan)
    work = Record(*(buffer.copy() for buffer in structure.work))
    listed = int(
        k_best(
            structure.record, i, s.copy(), count, values, offsets, parts[:room], counts[:room], work
        )
    )
    assert (parts[room:] == -7).all() and np.isnan(counts[room:]).all(), (
        "the kernel writes beyond its room"
    )
    assert offsets[0] == 0
    assert (np.diff(offsets[: listed + 1]) <= structure.most_active).all()
    vectors = np.zeros((listed, len(s)))
    for vector, begin, end in zip(vectors, offsets[:listed], offsets[1:], strict=False):
        assert len(np.unique(parts[begin:end])) == end - begin, "a part is listed twice"
        vector[parts[begin:end]] = counts[begin:end]
    return values[:listed], vectors


@promises("inference")
class InferenceSuite:
    """Override two fixtures: `inference` returns the inference under test, `structure` a few small
    graphs. Tests of abilities that the inference does not provide are skipped.

    An exact inference must equal the reference; one that is ``UPPER`` must never be below it.
    """

    tolerance = 1e-9
    scales = (1.0, 5.0)

    @required
    def inference(self) -> Any:
        """Return the inference under test."""

    @required
    def structure(self) -> Any:
        """Return a `Structure` of a few small instances, such as
        ``LinearChain().build(random_encoded(0))``.

        Enumeration lists all outputs as the reference. Parametrise the fixture for more graphs.
        """

    @default
    def reference(self, structure: Structure) -> Any:
        """Make the kernels to compare with: all outputs, listed."""
        return registry.create("inference", {"name": "enumeration"}).kernels(structure.kind)

    @default
    def kernels(self, inference: Inference, structure: Structure) -> Any:
        """Pick the kernels under test."""
        return inference.kernels(structure.kind)

    @default
    def abilities(self, inference: Inference, structure: Structure) -> Ability:
        """Ask what is promised."""
        promised: Ability = inference.provides(structure.kind)
        return promised

    @default
    def admit(self, structure: Structure) -> Any:
        """Return a function of an instance and its scores which gives scores that the inference
        takes.

        Override it if the inference refuses some scores.
        """
        return lambda _, s: s

    @default
    def scores(self, structure: Structure, admit: Any) -> list[tuple[int, Array]]:
        """Draw scores for every instance."""
        generator, sizes = np.random.default_rng(0), np.diff(structure.parts)
        return [
            (i, admit(i, scale * generator.normal(size=int(k))))
            for scale in self.scales
            for i, k in enumerate(sizes)
        ]

    def temperatures(self, abilities: Ability) -> tuple[float, ...]:
        """List the temperatures at which the inference works."""
        return (0.0,) * (Ability.MAP in abilities) + TEMPERATURES * (Ability.MARGINALS in abilities)

    def test_value(
        self, kernels: Any, reference: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """Exact values equal the listing's; upper bounds are not below it.

        Compute the maximum at temperature 0 and the log-partition function above, hard constraints
        kept; or do not promise `EXACT` or `UPPER` in `provides`.
        """
        for i, s in scores:
            for temperature in self.temperatures(abilities):
                value = run(kernels.solve, structure, i, s, temperature)[0]
                expected = run(reference.solve, structure, i, s, temperature)[0]
                if Ability.EXACT in abilities:
                    assert isclose(value, expected, rel_tol=self.tolerance, abs_tol=self.tolerance)
                elif Ability.UPPER in abilities:
                    assert value >= expected - self.tolerance * max(1.0, abs(expected))

    def test_exact_marginals(
        self, kernels: Any, reference: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """Exact marginals equal the listing's.

        Write the marginals of all parts into `z`, at temperature 0 the indicators of the best
        output; or do not promise `EXACT`.
        """
        if Ability.EXACT not in abilities:
            raise SkipTest("not exact")
        for i, s in scores:
            for temperature in self.temperatures(abilities):
                z, expected = (
                    run(k.solve, structure, i, s, temperature)[1] for k in (kernels, reference)
                )
                np.testing.assert_allclose(z, expected, atol=10 * self.tolerance)

    def test_marginals_are_the_gradient(
        self, kernels: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """Marginals equal central differences of the value.

        Write the derivative of the value by every score into `z`, tied parts as expected counts; or
        do not promise `MARGINALS`.
        """
        if Ability.MARGINALS not in abilities:
            raise SkipTest("no marginals")
        for i, s in scores[: len(structure)]:
            for temperature in TEMPERATURES:
                z = run(kernels.solve, structure, i, s, temperature)[1]
                slopes = finite_differences(
                    lambda x, i=i, t=temperature: run(kernels.solve, structure, i, x, t)[0], s
                )
                np.testing.assert_allclose(z, slopes, atol=1e-6)

    def test_entropy(
        self, kernels: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """H(z) = (value - s^T z) / temperature is not negative.

        Value and marginals must belong together: value = s^T z + temperature * H(z), H >= 0. Check
        what the temperature divides.
        """
        if Ability.MARGINALS | Ability.CONVEX not in abilities:
            raise SkipTest("no marginals of a convex function")
        for i, s in scores:
            for temperature in TEMPERATURES:
                value, z = run(kernels.solve, structure, i, s, temperature)
                assert (value - s @ z) / temperature >= -1e-8

    def test_cooling(
        self, kernels: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """The value tends to the best score as the temperature falls, and never rises on the way.

        Divide scores by the temperature first, and multiply the log-partition function by it
        afterwards.
        """
        if Ability.MAP | Ability.MARGINALS | Ability.EXACT not in abilities:
            raise SkipTest("not exact, or not both a maximiser and marginals")
        for i, s in scores:
            best, vertex = run(kernels.solve, structure, i, s, 0.0)
            values = [run(kernels.solve, structure, i, s, t)[0] for t in (3.0, 1.0, 0.1, 1e-3)]
            assert all(
                b <= a + self.tolerance * max(1.0, abs(a))
                for a, b in zip(values, [*values[1:], best], strict=True)
            )
            assert isclose(values[-1], best, rel_tol=0.0, abs_tol=0.1)
            assert isclose(s @ vertex, best, rel_tol=self.tolerance, abs_tol=self.tolerance)

    def test_convex(
        self, kernels: Any, structure: Structure, scores: Any, abilities: Ability, admit: Any
    ) -> None:
        """The value at a midpoint is at most the mean of the values at its ends.

        The value must be a convex function of the scores, the same at every call; or do not promise
        `CONVEX` in `provides`.
        """
        if Ability.CONVEX not in abilities:
            raise SkipTest("not convex")
        generator = np.random.default_rng(1)
        for i, a in scores:
            b = admit(i, generator.normal(size=len(a)))
            for temperature in self.temperatures(abilities):
                left, right, middle = (
                    run(kernels.solve, structure, i, s, temperature)[0] for s in (a, b, (a + b) / 2)
                )
                assert middle <= (left + right) / 2 + 1e-8

    def test_extremes(
        self,
        kernels: Any,
        reference: Any,
        structure: Structure,
        scores: Any,
        abilities: Ability,
        admit: Any,
    ) -> None:
        """Scores of +-1e4 do not overflow.

        Add and subtract scores in logarithms with the largest taken out first; never subtract what
        was added before.
        """
        if Ability.EXACT not in abilities:
            raise SkipTest("not exact")
        generator = np.random.default_rng(2)
        for i, s in scores[: len(structure)]:
            extreme = admit(i, generator.choice([-1e4, 1e4, 0.0], len(s)) + s)
            for temperature in self.temperatures(abilities):
                value, z = run(kernels.solve, structure, i, extreme, temperature)
                expected, marginals = run(reference.solve, structure, i, extreme, temperature)
                assert isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)
                np.testing.assert_allclose(z, marginals, atol=1e-7)

    def test_hard_constraints(
        self, kernels: Any, reference: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """What no output contains has no mass, whatever its score.

        Give parts that no output has the score -inf before anything else, and mass 0.
        """
        for i, s in scores[: len(structure)]:
            possible = run(reference.solve, structure, i, np.zeros(len(s)), 1.0)[1] > 0
            tempting = np.where(possible, s, 50.0)
            for temperature in self.temperatures(abilities):
                z = run(kernels.solve, structure, i, tempting, temperature)[1]
                np.testing.assert_allclose(z[~possible], 0.0, atol=self.tolerance)

    def test_k_best(
        self, kernels: Any, reference: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """K-best lists are the beginning of the sorted listing, without duplicates.

        List the best outputs, best first, each once, and fewer where there are fewer; or do not
        promise `K_BEST`.
        """
        if Ability.K_BEST not in abilities:
            raise SkipTest("no k-best lists")
        for i, s in scores:
            for count in (1, 3, 40):
                (values, outputs), (expected, reference_outputs) = (
                    best_listed(one.lists, structure, i, s, count) for one in (kernels, reference)
                )
                np.testing.assert_allclose(
                    values, expected, rtol=self.tolerance, atol=self.tolerance
                )
                assert len(np.unique(outputs, axis=0)) == len(outputs)
                np.testing.assert_array_equal(outputs[:1], reference_outputs[:1])

    def test_k_best_are_outputs(
        self, kernels: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """Listed parts are an output's, with the score that it is listed with.

        Write all parts of each output, tied ones with their counts, and the score that they sum up
        to.
        """
        if Ability.K_BEST not in abilities or structure.kind.vertices is None:
            raise SkipTest("no k-best lists, or no list of outputs")
        for i, s in scores:
            vertices = structure.kind.vertices(structure.record, i, len(s), MOST)
            for value, z in zip(*best_listed(kernels.lists, structure, i, s, 5), strict=True):
                assert isclose(s @ z, value, rel_tol=self.tolerance, abs_tol=self.tolerance)
                assert (vertices == z).all(axis=1).sum() == 1

    def test_restricted(
        self, kernels: Any, reference: Any, structure: Structure, scores: Any, abilities: Ability
    ) -> None:
        """Parts with the score -inf are in no answer: exact inferences answer as the listing of all
        other outputs does.

        Treat the score -inf as forbidden: sums in logarithms must stay -inf, and no such part may
        be in the answer.
        """
        if structure.kind.vertices is None:
            raise SkipTest("no list of outputs")
        generator, first = np.random.default_rng(3), structure.groups[0]
        for i, s in scores[: len(structure)]:
            vertices = structure.kind.vertices(structure.record, i, len(s), MOST)
            kept = vertices[generator.integers(len(vertices))] > 0
            own = np.arange(len(s)) < int(np.diff(first.offsets)[i]) * first.width
            restricted = np.where(own & ~kept & (generator.random(len(s)) < 0.5), -inf, s)
            for temperature in self.temperatures(abilities):
                value, z = run(kernels.solve, structure, i, restricted, temperature)
                expected, marginals = run(reference.solve, structure, i, restricted, temperature)
                np.testing.assert_allclose(z[restricted == -inf], 0.0, atol=1e-9)
                if Ability.EXACT in abilities:
                    assert isclose(value, expected, rel_tol=self.tolerance, abs_tol=self.tolerance)
                    np.testing.assert_allclose(z, marginals, atol=1e-7)
                elif Ability.UPPER in abilities:
                    assert value >= expected - self.tolerance * max(1.0, abs(expected))
