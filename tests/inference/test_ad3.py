"""AD3 against the linear relaxation, and where it branches against a list of all outputs."""

from math import inf

import numpy as np
import pytest

from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError
from structopt.factor_graph.kinds import CHAIN, LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.ad3 import AD3
from structopt.inference.local_polytope import local_polytope
from structopt.inference.lp import LP
from structopt.kernels.ad3.work import WORK
from structopt.kernels.loopy.factors import FACTORS
from structopt.kernels.waist.record import Record
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.testing.inference import run
from tests.inference.small_graphs import complete, mixed, outputs, random_rows, structure_of, tree
from tests.messages import raises

ROWS = random_rows()
PLAIN = structure_of(ROWS)
TIGHT = AD3(passes=20_000, tolerance=1e-7)
SOLVE, SOLVE_LP = TIGHT.kernels(LOOPY).solve, LP().kernels(LOOPY).solve


def draws(i, count=8, forbid=0, scale=1.0):
    """Scores of instance i, of which some are -inf on request."""
    generator, size = np.random.default_rng([i, count]), int(np.diff(PLAIN.parts)[i])
    for _ in range(count):
        s = scale * generator.normal(size=size)
        s[generator.choice(size, forbid, replace=False)] = -inf
        yield s


def best(vertices, s):
    """Score of the best output, -inf where there is none."""
    allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
    return (allowed @ np.where(s == -inf, 0.0, s)).max(initial=-inf)


def excess(polytope, z):
    """How far a point of parts breaks the rows that no auxiliary column is in."""
    parts = len(z)
    own = np.abs(polytope.matrix[:, parts:]).sum(axis=1) == 0
    image = polytope.matrix[:, :parts] @ z
    return np.maximum(image - polytope.upper, polytope.lower - image)[own].max(initial=0.0)


@pytest.mark.parametrize("i", range(len(ROWS)))
@pytest.mark.parametrize("forbid", [0, 2])
def test_reaches_the_relaxation_from_above(i, forbid):
    structure = TIGHT.prepare(PLAIN)
    for s in draws(i, forbid=forbid):
        expected = run(SOLVE_LP, PLAIN, i, s, 0.0)[0]
        value, z = run(SOLVE, structure, i, s, 0.0)
        assert value >= expected - 1e-9 * max(1.0, abs(expected))
        if expected > -inf:  # a contradiction between factors has a bound all the same
            assert value == pytest.approx(expected, abs=1e-4)
            assert np.where(s == -inf, 0.0, s) @ z == pytest.approx(expected, abs=1e-4)
            assert not z[s == -inf].any()
            assert excess(local_polytope(PLAIN.record, i, len(s)), z) <= 1e-4


@pytest.mark.parametrize("i", range(len(ROWS)))
def test_any_number_of_passes_gives_a_bound(i):
    """It falls as the passes go on, and is never below the best score."""
    vertices = outputs(ROWS[i])
    for s in draws(i, scale=3.0):
        values = []
        for passes in (1, 3, 10, 30, 100):
            few = AD3(passes=passes)
            values.append(run(SOLVE, few.prepare(PLAIN), i, s, 0.0)[0])
        assert min(values) >= best(vertices, s) - 1e-9
        assert values[-1] <= values[0] + 1e-9


@pytest.mark.parametrize("i", range(len(ROWS)))
@pytest.mark.parametrize("forbid", [0, 2])
def test_branching_finds_the_best_output(i, forbid):
    exact = AD3(exact=True)
    structure, vertices = exact.prepare(PLAIN), outputs(ROWS[i])
    for s in draws(i, forbid=forbid):
        value, z = run(SOLVE, structure, i, s, 0.0)
        expected = best(vertices, s)
        if expected == -inf:
            assert value == -inf
        else:
            assert value == pytest.approx(expected, abs=1e-9)
            assert (vertices == z).all(axis=1).any()
            assert np.where(s == -inf, 0.0, s) @ z == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_second_order_trees(n):
    """Siblings and pairs of arcs: the bound holds, and is the best score where z is integral."""
    generator = np.random.default_rng(n)
    row = tree(n, single_root=True, siblings=True, pairs=3 * n, generator=generator)
    plain, vertices = structure_of([row]), outputs(row)
    relaxed, exact, integral = AD3().prepare(plain), AD3(exact=True).prepare(plain), 0
    for _ in range(10):
        s = np.concatenate(
            [generator.normal(size=n * n), 0.5 * generator.normal(size=vertices.shape[1] - n * n)]
        )
        value, z = run(SOLVE, relaxed, 0, s, 0.0)
        assert value >= (vertices @ s).max() - 1e-9
        if np.isin(z, (0.0, 1.0)).all():
            integral += 1
            assert value == pytest.approx((vertices @ s).max(), abs=1e-9)
        assert run(SOLVE, exact, 0, s, 0.0)[0] == pytest.approx((vertices @ s).max(), abs=1e-9)
    assert integral >= 5


def passes_spent(structure):
    """Passes of the last visit."""
    return int(WORK.open(structure.work).spent[0])


@pytest.mark.parametrize("n", [5, 12])
def test_ties_are_proved_without_passes(n):
    """Scores of zero weights: all trees tie but for the costs of gold arcs, and any tree without
    them is a best output.
    """
    generator = np.random.default_rng(n)
    structure = AD3().prepare(
        structure_of([tree(n, single_root=True, siblings=True, pairs=20 * n, generator=generator)])
    )
    s, z = np.zeros(int(structure.parts[-1])), np.zeros(int(structure.parts[-1]))
    # arc (m, h) is part m * n + h, and that from the root m * n + m
    gold = [m * n + max(0, m - 1) for m in range(n)]
    s[gold] = -1.0
    assert SOLVE(structure.record, 0, s, 0.0, z, np.zeros(0), structure.work) == 0.0
    assert passes_spent(structure) == 0
    assert z[: n * n].sum() == n
    assert not z[gold].any()


@pytest.mark.parametrize("n", [6, 10])
def test_small_integers_end_by_themselves(n):
    """Scores after a first update are hugely tied too: the passes end long before there may be no
    more.
    """
    generator = np.random.default_rng(n)
    plain = structure_of([tree(n, single_root=True, siblings=True, pairs=n, generator=generator)])
    structure, z = AD3().prepare(plain), np.zeros(int(plain.parts[-1]))
    for _ in range(10):
        s = np.round(np.repeat([1.0, 0.5], [n * n, len(z) - n * n]) * generator.normal(size=len(z)))
        value = SOLVE(structure.record, 0, s, 0.0, z, np.zeros(0), structure.work)
        assert passes_spent(structure) < 300
        assert value >= run(SOLVE_LP, plain, 0, s, 0.0)[0] - 1e-9


def test_ends_where_the_bound_stalls():
    """How long no fall of the bound is waited for is a share of the passes that are allowed."""
    values, spent = [], []
    for passes in (600, 20_000):
        structure, s = AD3(passes=passes, tolerance=1e-15).prepare(PLAIN), list(draws(5))[3]
        values.append(
            SOLVE(structure.record, 5, s, 0.0, np.zeros(len(s)), np.zeros(0), structure.work)
        )
        spent.append(passes_spent(structure))
    assert spent[0] < 600
    assert spent[0] < spent[1] < 20_000
    assert values[0] >= values[1] == pytest.approx(run(SOLVE_LP, PLAIN, 5, s, 0.0)[0], abs=1e-6)


def test_value_scales_with_the_scores():
    """The penalty is in units of the scores."""
    structure = AD3(passes=25).prepare(PLAIN)
    for i in range(len(ROWS)):
        s = next(draws(i))
        value, z = run(SOLVE, structure, i, s, 0.0)
        scaled, same = run(SOLVE, structure, i, 1024.0 * s, 0.0)
        assert scaled == pytest.approx(1024.0 * value, rel=1e-9)
        np.testing.assert_allclose(same, z, atol=1e-9)


def test_scores_are_left_alone():
    structure = AD3(exact=True).prepare(PLAIN)
    for i in range(len(ROWS)):
        s = next(draws(i))
        before, z = s.copy(), np.zeros(len(s))
        SOLVE(structure.record, i, s, 0.0, z, np.zeros(0), structure.work)
        np.testing.assert_array_equal(s, before)


@pytest.mark.parametrize("exact", [False, True])
def test_a_visit_does_not_depend_on_the_last(exact):
    """Scratch that other instances have used gives the same bits."""
    structure = AD3(exact=exact).prepare(PLAIN)
    for i in [0, 3, 5, 1, 0]:
        s, z = next(draws(i)), np.zeros(int(np.diff(PLAIN.parts)[i]))
        value = SOLVE(structure.record, i, s, 0.0, z, np.zeros(0), structure.work)
        fresh, same = run(SOLVE, structure, i, s, 0.0)
        assert value == fresh
        np.testing.assert_array_equal(z, same)


def test_warm_starts_need_fewer_passes():
    """At nearly the same scores, five passes from the last visit's messages are nearer than five
    from none.
    """
    i, few = 5, AD3(passes=5, warm_start=True)
    structure, cold = few.prepare(PLAIN), AD3(passes=5).prepare(PLAIN)
    many = AD3(passes=2000, tolerance=1e-7, warm_start=True).prepare(PLAIN)
    gains = []
    for s in draws(i):
        memory, z = np.zeros(int(np.diff(structure.memory)[i])), np.zeros(len(s))
        SOLVE(many.record, i, s, 0.0, z, memory, many.work)
        near = s + 0.01 * np.cos(np.arange(len(s)))
        warm = SOLVE(structure.record, i, near, 0.0, z, memory, structure.work)
        relaxed = run(SOLVE_LP, PLAIN, i, near, 0.0)[0]
        assert warm >= relaxed - 1e-9
        gains.append(run(SOLVE, cold, i, near, 0.0)[0] - warm)
    assert min(gains) >= -1e-3
    assert max(gains) > 0.05


def test_a_variable_without_factors_takes_its_best_state():
    plain = structure_of([complete([2, 2], loose=1)])
    s = np.concatenate([np.zeros(4), [1.0, 3.0, 2.0], np.zeros(4)])
    value, z = run(SOLVE, AD3().prepare(plain), 0, s, 0.0)
    assert value == 3.0
    np.testing.assert_array_equal(z[4:7], [0, 1, 0])


@pytest.mark.parametrize("exact", [False, True])
def test_a_factor_without_configurations_has_no_output(exact):
    structure = AD3(exact=exact).prepare(structure_of([mixed(np.random.default_rng(0))]))
    s = np.zeros(int(structure.parts[-1]))
    s[:3] = -inf  # of which exactly one must be on
    value, z = run(SOLVE, structure, 0, s, 0.0)
    assert value == -inf
    assert not z.any()


def test_tables_with_forbidden_pairs():
    """Tables of two states that are no plain pairs any more."""
    plain = structure_of([complete([2, 2, 2])])
    vertices, generator = outputs(complete([2, 2, 2])), np.random.default_rng(0)
    exact = AD3(exact=True).prepare(plain)
    for _ in range(10):
        s = generator.normal(size=vertices.shape[1])
        s[6 + generator.choice(12, 4, replace=False)] = -inf
        relaxed = run(SOLVE_LP, plain, 0, s, 0.0)[0]
        assert run(SOLVE, exact, 0, s, 0.0)[0] == pytest.approx(best(vertices, s), abs=1e-9)
        if relaxed > -inf:
            assert run(SOLVE, TIGHT.prepare(plain), 0, s, 0.0)[0] == pytest.approx(
                relaxed, abs=1e-4
            )


PAIRWISE = {
    (n, K, spread): structure_of([complete([K] * n)])
    for n, K in ((14, 2), (8, 4))
    for spread in (0.1, 0.3, 1.0)
}


@pytest.mark.parametrize("shape", PAIRWISE)
def test_pairwise_graphs(shape):
    """With default options within 1e-4 of the relaxation, and at it where the passes go on; never
    below.
    """
    _, K, spread = shape
    plain, generator = PAIRWISE[shape], np.random.default_rng(0)
    default, tight = AD3().prepare(plain), TIGHT.prepare(plain)
    states = int(FACTORS.open(plain.record).shared[0])
    scale = np.repeat([1.0, spread], [states, int(plain.parts[-1]) - states])
    for _ in range(3):
        s = scale * generator.normal(size=len(scale))
        expected = run(SOLVE_LP, plain, 0, s, 0.0)[0]
        unit = max(1.0, abs(expected))
        near, z = run(SOLVE, default, 0, s, 0.0)
        assert -1e-9 <= (near - expected) / unit <= 1e-4
        value, z = run(SOLVE, tight, 0, s, 0.0)
        assert -1e-9 <= (value - expected) / unit <= 1e-6
        assert s @ z == pytest.approx(expected, abs=1e-4 * unit)
        assert excess(local_polytope(plain.record, 0, len(s)), z) <= 1e-5


@pytest.mark.parametrize("K", [2, 3])
def test_pairwise_graphs_with_forbidden_parts(K):
    """Scores of -inf at states and pairs of states."""
    plain, generator = structure_of([complete([K] * 6)]), np.random.default_rng(K)
    structure, solved = TIGHT.prepare(plain), 0
    for _ in range(10):
        s = generator.normal(size=int(plain.parts[-1]))
        s[generator.integers(6 * K)] = -inf
        s[6 * K + generator.choice(15 * K * K, 8, replace=False)] = -inf
        expected = run(SOLVE_LP, plain, 0, s, 0.0)[0]
        value, z = run(SOLVE, structure, 0, s, 0.0)
        assert value >= expected - 1e-9
        if expected > -inf:
            solved += 1
            assert value == pytest.approx(expected, abs=1e-5)
            assert not z[s == -inf].any()
    assert solved >= 5


def test_tolerance_that_was_not_given():
    """2e-5 where all factors are tables, 5e-4 elsewhere."""
    assert WORK.open(AD3().prepare(structure_of([ROWS[1], ROWS[2]])).work).tolerance == 2e-5
    assert WORK.open(AD3().prepare(PLAIN).work).tolerance == 5e-4
    assert WORK.open(AD3(tolerance=0.01).prepare(structure_of([ROWS[1]])).work).tolerance == 0.01


def test_what_it_comes_to():
    """With kept messages the value depends on the visits before; what P is reported by does not,
    and is the relaxation's.
    """
    assert (plain := AD3()).converged(PLAIN) is plain
    reported = AD3(passes=3, eta=0.7, exact=True, warm_start=True).converged(PLAIN)
    assert (reported.passes, reported.tolerance, reported.eta, reported.exact) == (
        20_000,
        1e-6,
        0.7,
        True,
    )
    assert not reported.warm_start
    few = AD3(passes=2, warm_start=True)
    i, structure, judge = 1, few.prepare(PLAIN), few.converged(PLAIN).prepare(PLAIN)
    assert judge.memory[-1] == 0
    for s in draws(i, count=4):
        memory, z = np.zeros(int(np.diff(structure.memory)[i])), np.zeros(len(s))
        visits = [SOLVE(structure.record, i, s, 0.0, z, memory, structure.work) for _ in range(30)]
        value, expected = run(SOLVE, judge, i, s, 0.0)[0], run(SOLVE_LP, PLAIN, i, s, 0.0)[0]
        assert value == pytest.approx(expected, abs=1e-5)
        assert min(visits) >= expected - 1e-9
        assert visits[-1] < visits[0] or visits[0] == pytest.approx(expected, abs=1e-9)


def test_refusals():
    with pytest.raises(
        CompatibilityError, match=r"loss.beta=1 needs marginals, but inference=ad3 only maximises"
    ):
        check(Pairwise(), AD3(), LossFamily(beta=1.0, gamma=0.0), DCA())
    with raises(CompatibilityError, parameter="inference", value="AD3"):
        AD3().kernels(CHAIN)
    s = next(draws(0))
    assert np.isnan(run(SOLVE, AD3().prepare(PLAIN), 0, s, 1.0)[0])


def test_what_it_provides():
    assert AD3().provides(LOOPY) == Ability.MAP | Ability.UPPER
    assert (
        AD3(exact=True).provides(LOOPY)
        == Ability.MAP | Ability.UPPER | Ability.EXACT | Ability.CONVEX
    )
    assert not AD3().provides(CHAIN)


def test_scratch_is_one_record_for_all_threads():
    """Prepared structures share nothing that a solver writes to once their work is copied."""
    structure = AD3().prepare(PLAIN)
    first, second = (Record(*(buffer.copy() for buffer in structure.work)) for _ in range(2))
    s = next(draws(5))
    z, other = np.zeros(len(s)), np.zeros(len(s))
    value = SOLVE(structure.record, 5, s, 0.0, z, np.zeros(0), first)
    assert SOLVE(structure.record, 5, s, 0.0, other, np.zeros(0), second) == value
    np.testing.assert_array_equal(z, other)
