"""What every kind of factor promises: rows and compiled functions that agree with the
configurations that it allows.
"""

from __future__ import annotations

from itertools import product
from math import inf, log
from typing import Any, NamedTuple
from unittest import SkipTest

import numpy as np
import pytest

from structopt.core.data.polytope import Rows
from structopt.core.factor_kind import FactorAbility, FactorKind
from structopt.kernels.waist.record import Array
from structopt.testing.promises import default, promises, required

SEEDS = 8  # random scores of each test
LIMIT = 1e5


class OneFactor(NamedTuple):
    """A small factor: parts of each linked variable (1: binary), number of private parts, and extra
    numbers.
    """

    widths: tuple[int, ...]
    privates: int = 0
    extra: tuple[int, ...] = ()


@promises("factor kind")
class FactorKindSuite:
    """Override two fixtures: `kind` returns the factor kind under test, `factor` a `OneFactor` with
    few configurations. Parametrise them for more.
    """

    @required
    def kind(self) -> Any:
        """Return the factor kind under test."""

    @required
    def factor(self) -> Any:
        """Return a `OneFactor` with few configurations; the tests list them all."""

    @default
    def configurations(self, kind: FactorKind, factor: OneFactor) -> Array:
        """All that the factor allows: linked parts and private parts, shape (configurations,
        parts).
        """
        listed = []
        for x in _states(factor):
            private = np.zeros(factor.privates)
            if kind.extend(x, private, *_numbers(factor)):
                listed.append(np.concatenate([x, private]))
        return np.array(listed).reshape(len(listed), -1)

    def scores(self, factor: OneFactor, seed: int) -> Array:
        """Random scores; in every fourth a part is forbidden."""
        generator = np.random.default_rng(seed)
        s = generator.normal(size=sum(factor.widths) + factor.privates, scale=(1.0, 4.0)[seed % 2])
        if seed % 4 == 3:
            s[generator.integers(len(s))] = -inf
        return np.asarray(s)

    def test_declared_abilities_are_those_of_its_functions(self, kind: FactorKind) -> None:
        """Compare `declared` with the abilities of the functions.

        Set `declared` to them, or leave it None.
        """
        found = kind.abilities_of_functions
        assert kind.provides == found, f"declared is {kind.declared}, its functions have {found}"

    def test_some_configurations_are_allowed(
        self, kind: FactorKind, factor: OneFactor, configurations: Array
    ) -> None:
        """Not none; and a kind that says that it is not hard allows all.

        Let `extend` return True for configurations that are allowed; of a kind that allows all of
        them set `hard = False`.
        """
        assert len(configurations) > 0
        assert kind.hard or len(configurations) == len(_states(factor))

    def test_rows(self, kind: FactorKind, factor: OneFactor, configurations: Array) -> None:
        """The best integral point is the best configuration, and the best of all points no worse.

        Compare `describe` with `extend`: integral points of the rows must be the allowed
        configurations, private parts included.
        """
        _skip_without(kind, FactorAbility.ROWS)
        for seed in range(SEEDS):
            s = np.maximum(self.scores(factor, seed), -50.0)
            best = (configurations @ s).max()
            assert _best_point(kind, factor, s, True) == pytest.approx(best, abs=1e-6)
            assert _best_point(kind, factor, s, False) >= best - 1e-6

    def test_compiled_configurations(
        self, kind: FactorKind, factor: OneFactor, configurations: Array
    ) -> None:
        """The kernel allows the same states, and writes the same private parts.

        Compare `kernels.extend` with `extend`: both must allow the same states, and set the same
        private parts.
        """
        _skip_without(kind, FactorAbility.MAXIMUM)
        extra, listed = _numbers(factor)[1], []
        for x in _states(factor):
            private = np.zeros(factor.privates)
            if kind.kernels.extend(extra, x, private):
                listed.append(np.concatenate([x, private]))
        np.testing.assert_array_equal(listed, configurations)

    def test_maximum(self, kind: FactorKind, factor: OneFactor, configurations: Array) -> None:
        """Value and configuration are the best; those of a relaxed kind the best point of its rows.

        `kernels.maximum` must return the best score of an allowed configuration (-inf where none is
        possible), and write its parts; of a kind that is `relaxed` the same over the polytope of
        `describe`.
        """
        _skip_without(kind, FactorAbility.MAXIMUM)
        for seed in range(SEEDS):
            s = self.scores(factor, seed)
            value, z = _call(kind, kind.kernels.maximum, factor, s)
            if kind.relaxed:
                assert value == pytest.approx(
                    _best_point(kind, factor, np.maximum(s, -50.0), False), abs=1e-7
                )
                assert np.where(z > 0, s, 0.0) @ z == pytest.approx(value)
                continue
            scores = _scores(configurations, s)
            assert value == pytest.approx(scores.max())
            if value > -inf:
                assert (configurations[np.isclose(scores, value)] == z).all(axis=1).any()

    def test_marginals(self, kind: FactorKind, factor: OneFactor, configurations: Array) -> None:
        """The log of the sum over all configurations, and their marginals.

        `kernels.marginals` must return the log of the sum of exp(score) over the allowed
        configurations, and write their marginals.
        """
        _skip_without(kind, FactorAbility.MARGINALS)
        for seed in range(SEEDS):
            s = self.scores(factor, seed)
            value, z = _call(kind, kind.kernels.marginals, factor, s)
            scores = _scores(configurations, s)
            top = scores.max()
            weights = np.exp(scores - top)
            assert value == pytest.approx(top + log(weights.sum()))
            np.testing.assert_allclose(z, weights @ configurations / weights.sum(), atol=1e-9)

    def test_messages(self, kind: FactorKind, factor: OneFactor, configurations: Array) -> None:
        """What the factor says of each variable without what that says itself.

        `kernels.messages` must leave out the scores of the variable itself, and for wider variables
        be relative to the largest, within +-1e5.
        """
        _skip_without(kind, FactorAbility.MESSAGES)
        for seed, hot in product(range(SEEDS), (False, True)):
            s, shared = np.maximum(self.scores(factor, seed), -50.0), sum(factor.widths)
            scratch, out = _scratch(kind, factor), np.zeros(shared)
            assert kind.kernels.messages(
                _numbers(factor)[1], s[:shared].copy(), s[shared:].copy(), hot, out, *scratch
            )
            first = 0
            for width in factor.widths:
                rest = s.copy()
                rest[first : first + width] = 0.0
                scores = configurations @ rest
                weights = [
                    _total(scores[configurations[:, r] > 0], hot)
                    for r in range(first, first + width)
                ]
                off = (
                    _total(scores[configurations[:, first] == 0], hot)
                    if width == 1
                    else max(weights)
                )
                np.testing.assert_allclose(
                    out[first : first + width],
                    np.clip(np.array(weights) - off, -LIMIT, LIMIT),
                    atol=1e-6,
                )
                first += width

    def test_project(self, kind: FactorKind, factor: OneFactor, configurations: Array) -> None:
        """No point of the hull is better along the gradient at the answer, which is in it.

        `kernels.project` must write the q and c of max a^T q + p^T c / eta - ||q||^2 / 2 over the
        convex hull of the configurations, or of a kind that is `relaxed` over the polytope of
        `describe`.
        """
        if kind.kernels.project is None:
            raise SkipTest(f"{type(kind).__name__} brings no projection")
        for seed, eta in product(range(SEEDS), (0.3, 1.0, 5.0)):
            s, shared, x = (
                self.scores(factor, seed),
                sum(factor.widths),
                np.full(sum(factor.widths) + factor.privates, 7.0),
            )
            s[shared:] = np.maximum(s[shared:], -50.0)
            own = s[:shared].copy(), s[shared:].copy(), eta, x[:shared], x[shared:]
            assert kind.kernels.project(_numbers(factor)[1], *own, *_scratch(kind, factor))
            slope = np.concatenate([np.maximum(s[:shared], -50.0) - x[:shared], s[shared:] / eta])
            best = (
                _best_point(kind, factor, slope, False)
                if kind.relaxed
                else (configurations @ slope).max()
            )
            assert slope @ x == pytest.approx(best, abs=1e-7)
            generator = np.random.default_rng(seed)
            for other in generator.normal(size=(20, len(s))):
                most = (
                    _best_point(kind, factor, other, False)
                    if kind.relaxed
                    else (configurations @ other).max()
                )
                assert other @ x <= most + 1e-7


def _states(factor: OneFactor) -> list[Array]:
    """All joint states of the linked variables, by their parts."""
    one = [
        [np.zeros(1), np.ones(1)] if width == 1 else list(np.eye(width)) for width in factor.widths
    ]
    return [np.concatenate(states) for states in product(*one)]


def _numbers(factor: OneFactor) -> tuple[Array, Array]:
    return np.array(factor.widths, np.int64), np.array(factor.extra, np.int32)


def _skip_without(kind: FactorKind, ability: FactorAbility) -> None:
    if not kind.provides & ability & ~kind.built_in:
        raise SkipTest(f"{type(kind).__name__} brings no {ability.name}")


def _scores(configurations: Array, s: Array) -> Array:
    """Scores of configurations, where 0 * -inf counts as 0."""
    scores: Array = configurations @ np.where(s == -inf, 0.0, s)
    scores[(configurations[:, s == -inf] > 0).any(axis=1)] = -inf
    return scores


def _total(scores: Array, hot: bool) -> float:
    top = float(scores.max(initial=-inf))
    return top + log(np.exp(scores - top).sum()) if hot and top > -inf else top


def _scratch(kind: FactorKind, factor: OneFactor) -> tuple[Array, Array]:
    parts, extra = np.array([sum(factor.widths)]), _numbers(factor)[1]
    floats, ints = kind.scratch(parts, np.zeros(1, np.int64), extra)
    return np.full(floats, 7.0), np.full(ints, 7, np.int32)


def _call(kind: FactorKind, function: Any, factor: OneFactor, s: Array) -> tuple[float, Array]:
    """Value and parts that a kernel finds."""
    shared, out = sum(factor.widths), np.zeros(len(s))
    own = s[:shared].copy(), s[shared:].copy(), out[:shared], out[shared:]
    return float(function(_numbers(factor)[1], *own, *_scratch(kind, factor))), out


def _best_point(kind: FactorKind, factor: OneFactor, s: Array, integral: bool) -> float:
    """Maximum of s over the rows, at integral states of the variables or anywhere."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    (widths, extra), shared = _numbers(factor), sum(factor.widths)
    rows, begins = Rows(len(s)), np.cumsum((0, *factor.widths))
    rows.add(-inf, inf, (np.zeros(1, np.int64), np.zeros(1, np.int64), 1.0), count=1)
    for first, width in zip(begins, factor.widths, strict=False):
        if width > 1:
            rows.add(
                1.0, 1.0, (np.zeros(width, np.int64), np.arange(first, first + width), 1.0), count=1
            )
    kind.describe(rows, np.arange(shared), np.arange(shared, len(s)), widths, extra)
    polytope = rows.polytope(shared)
    costs, columns = np.zeros(rows.columns), np.arange(rows.columns)
    costs[: len(s)] = -s
    constraint = LinearConstraint(polytope.matrix, polytope.lower, polytope.upper)
    solution = milp(
        costs,
        integrality=integral & (columns < shared),
        bounds=Bounds(0, 1),
        constraints=constraint,
    )
    assert solution.status == 0, solution.message
    return -float(solution.fun)
