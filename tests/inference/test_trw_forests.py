"""trw_bp on graphs of pairs: a bound at any potentials that never rises and comes down to the least
of its kind.
"""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from structopt.factor_graph import kinds
from structopt.inference.enumeration import Enumeration
from structopt.inference.lp import LP
from structopt.inference.spanning_forests import spanning_forests
from structopt.inference.trw_bp import TRWBP
from structopt.kernels.loopy.forests.layout import EDGE
from structopt.kernels.waist.record import Record
from structopt.reference.relaxation import tree_weighted
from structopt.testing.inference import InferenceSuite, finite_differences, run
from tests.inference.factor_problems import (
    chain_edges,
    complete_edges,
    factor_structure,
    random_scores,
    table_rows,
)

pytestmark = pytest.mark.nightly("rest")

GRID = [
    (v, v + step) for v in range(6) for step in (1, 3) if v + step < 6 and (step == 3 or v % 3 < 2)
]
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
ACYCLIC = {
    "chain": table_rows([2] * 6, chain_edges(6)),
    "star": table_rows([4, 4, 4, 4], [(0, 2), (1, 2), (2, 3)]),
    "mixed chain": table_rows([2, 3, 2, 4], chain_edges(4)),
    "no edges": table_rows([2, 3], []),
    "one variable": table_rows([3], []),
}
LOOPY = {
    "complete": table_rows([2] * 6, complete_edges(6)),
    "odd": table_rows([2] * 5, complete_edges(5)),
    "four states": table_rows([4] * 4, complete_edges(4)),
    "grid": table_rows([2] * 6, GRID),
    "cycle": table_rows([3] * 5, CYCLE),
    "mixed": table_rows([2, 4, 3, 2], [*complete_edges(3), (0, 3)]),
    "twice": table_rows([2, 2, 3], [(0, 1), (0, 1), (1, 2)]),
    "in parts": table_rows([2] * 7, [*complete_edges(3), (3, 4), (4, 5)]),
}
GRAPHS = ACYCLIC | LOOPY
SOLVE = TRWBP().kernels(kinds.LOOPY).solve
graphs = pytest.mark.parametrize("name", GRAPHS)
loopy = pytest.mark.parametrize("name", LOOPY)


def bounded(name, s, temperature, memory=None, **options):
    """Value and z of one visit; the memory, where it is given, is read and written."""
    structure = TRWBP(**{"tolerance": 0.0, "warm_start": memory is not None} | options).prepare(
        factor_structure([GRAPHS[name]])
    )
    z, kept = np.zeros(len(s)), np.zeros(0) if memory is None else memory
    work = Record(*(buffer.copy() for buffer in structure.work))
    return SOLVE(structure.record, 0, s, temperature, z, kept, work), z


def listed(name, s, temperature):
    return run(
        Enumeration().kernels(kinds.LOOPY).solve,
        factor_structure([GRAPHS[name]]),
        0,
        s,
        temperature,
    )


def forests_of(name):
    rows = GRAPHS[name]
    return spanning_forests(len(rows.widths), np.reshape(rows.links, (-1, 2)))


def room(name):
    return len(forests_of(name).nodes) * int(np.sum(GRAPHS[name].widths))


class TestForests(InferenceSuite):
    """With the potentials as they come, where the value is smooth."""

    @pytest.fixture
    def inference(self):
        return TRWBP(passes=0)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(
            factor_structure(
                [GRAPHS[name] for name in ("complete", "mixed", "one variable", "chain")]
            )
        )


@graphs
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 3.0])
def test_a_bound_at_any_potentials_and_after_any_passes(name, temperature):
    generator = np.random.default_rng(5)
    for seed in range(4):
        s = random_scores(GRAPHS[name], seed, (0.3, 1.0, 5.0, 50.0)[seed])
        expected = listed(name, s, temperature)[0]
        for size in (0.0, 0.1, 1.0, 100.0):
            for passes in (0, 1, 4):
                memory = size * generator.normal(size=room(name))
                value = bounded(name, s, temperature, memory, passes=passes)[0]
                assert value >= expected - 1e-10 * max(1.0, abs(expected), size)


@loopy
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_never_rises(name, temperature):
    falls = []
    for seed in range(5):
        s = random_scores(GRAPHS[name], seed, (1.0, 20.0)[seed % 2])
        values = [bounded(name, s, temperature, passes=passes)[0] for passes in (*range(8), 20, 50)]
        assert all(
            after <= before + 1e-10 * max(1.0, abs(before)) for before, after in pairwise(values)
        )
        falls.append(values[0] - values[-1])
    assert max(falls) > 0.1


@loopy
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_comes_down_to_the_least_of_its_kind(name, spread):
    """The greatest mean of the forests' entropies and scores over the local polytope."""
    rows, forests = GRAPHS[name], forests_of(name)
    chosen = [[int(e) for e in nodes[:, EDGE] if e >= 0] for nodes in forests.nodes]
    for temperature in (1.0, 2.0):
        s = random_scores(rows, 3, 1.0, spread)
        expected, marginals = tree_weighted(
            rows.widths, np.array(rows.links), chosen, s, temperature
        )
        value, z = bounded(name, s, temperature, passes=20_000, tolerance=1e-10)
        assert value == pytest.approx(expected, abs=1e-6)
        np.testing.assert_allclose(z, marginals, atol=2e-3)


@pytest.mark.parametrize("name", ACYCLIC)
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_exact_without_cycles(name, temperature):
    for seed in range(4):
        s = random_scores(GRAPHS[name], seed, 5.0)
        expected, marginals = listed(name, s, temperature)
        for passes in (0, 1, 3):
            value, z = bounded(name, s, temperature, passes=passes)
            assert value == pytest.approx(expected, rel=1e-12)
            np.testing.assert_allclose(z, marginals, atol=1e-10)


@graphs
def test_the_derivative_at_fixed_deviations(name):
    for seed in range(2):
        s, memory = (
            random_scores(GRAPHS[name], seed),
            np.random.default_rng(seed).normal(size=room(name)),
        )
        for temperature in (0.7, 1.0, 3.0):
            z = bounded(name, s, temperature, memory.copy(), passes=0)[1]
            slopes = finite_differences(
                lambda x, t=temperature, m=memory: bounded(name, x, t, m.copy(), passes=0)[0], s
            )
            np.testing.assert_allclose(z, slopes, atol=1e-6)


@graphs
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_answer_is_a_subgradient(name, temperature):
    """At the potentials where the passes ended, and with other scores."""
    s, memory = random_scores(GRAPHS[name], 3), np.zeros(room(name))
    value, z = bounded(name, s, temperature, memory, passes=5)
    for seed in range(10):
        other = random_scores(GRAPHS[name], 10 + seed)
        assert (
            bounded(name, other, temperature, memory.copy(), passes=0)[0]
            >= value + z @ (other - s) - 1e-9
        )


@loopy
def test_no_less_than_the_linear_relaxation(name):
    highs, gaps = LP().kernels(kinds.LOOPY).solve, []
    for seed in range(6):
        s = random_scores(GRAPHS[name], seed, 3.0)
        expected = run(highs, factor_structure([GRAPHS[name]]), 0, s, 0.0)[0]
        value, z = bounded(name, s, 0.0, passes=500, tolerance=1e-9)
        assert value >= expected - 1e-7
        assert z.min() >= 0.0
        gaps.append(value - expected)
    assert min(gaps) < 1e-6


@loopy
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_forbidden_states_and_pairs(name, temperature):
    for seed in range(6):
        s = random_scores(GRAPHS[name], seed)
        s[np.random.default_rng(seed).choice(len(s), 3, replace=False)] = -inf
        expected = listed(name, s, temperature)[0]
        memory = np.zeros(room(name))
        for passes in (0, 1, 10):
            value, z = bounded(name, s, temperature, memory, passes=passes)
            assert value >= expected - 1e-9
            assert np.isfinite(z).all()
            assert not z[s == -inf].any()
            assert np.isfinite(memory).all()
        # what was kept does no harm when nothing is forbidden
        finite = random_scores(GRAPHS[name], 20 + seed)
        assert (
            bounded(name, finite, temperature, memory, passes=0)[0]
            >= listed(name, finite, temperature)[0] - 1e-9
        )


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_where_nothing_is_allowed(temperature):
    """A variable without states, an edge without pairs, and what only several forests together can
    tell.
    """
    s = np.zeros(12 + 4 * 15)
    for forbidden in (slice(0, 2), slice(12, 16)):
        t = s.copy()
        t[forbidden] = -inf
        value, z = bounded("complete", t, temperature)
        assert value == -inf
        assert not z.any()
    forests, first = forests_of("complete"), 12
    same = [
        int(next(e for e in nodes[:, EDGE] if e >= 0 and 0 in GRAPHS["complete"].links[e]))
        for nodes in forests.nodes[:2]
    ]
    # each edge of variable 0 forbids one of its states
    for e, state in zip(same, (0, 1), strict=True):
        table = s[first + 4 * e : first + 4 * e + 4].reshape(2, 2)
        table[state if GRAPHS["complete"].links[e][0] == 0 else slice(None)] = -inf
    assert listed("complete", s, temperature)[0] == -inf
    assert bounded("complete", s, temperature, passes=0)[0] > -inf
    value, z = bounded("complete", s, temperature, passes=2)
    assert value == -inf
    assert not z.any()


@loopy
@pytest.mark.parametrize("temperature", [1e-3, 1.0])
def test_large_scores_lose_nothing(name, temperature):
    """Where exponentials of an edge's scores vanish beside each other, and the variables' make up
    for it.
    """
    rows, generator = GRAPHS[name], np.random.default_rng(1)
    for _ in range(4):
        s = random_scores(rows, 0) + generator.choice([-2e3, 0.0, 2e3], len(random_scores(rows)))
        expected = listed(name, s, temperature)[0]
        values = [bounded(name, s, temperature, passes=passes)[0] for passes in (0, 1, 5, 20)]
        assert all(after <= before + 1e-8 for before, after in pairwise(values))
        assert values[-1] >= expected - 1e-8


def test_exact_where_exponentials_vanish():
    """A chain in which the best states are those that the edges forbid all but entirely."""
    s = np.concatenate([np.tile([0.0, 900.0], 6), np.tile([900.0, 0.0, 0.0, -850.0], 5)])
    s += 0.1 * np.random.default_rng(0).normal(size=len(s))
    for temperature in (0.5, 1.0):
        expected, marginals = listed("chain", s, temperature)
        value, z = bounded("chain", s, temperature, passes=3)
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(z, marginals, atol=1e-9)


@loopy
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_visits_go_on_where_the_last_one_ended(name, temperature):
    """A pass forwards and one backwards twice are four."""
    s, memory = random_scores(GRAPHS[name], 1, 2.0), np.zeros(room(name))
    bounded(name, s, temperature, memory, passes=2)
    again = bounded(name, s, temperature, memory, passes=2)[0]
    assert again == pytest.approx(bounded(name, s, temperature, passes=4)[0], abs=1e-9)
    assert memory.any()
    np.testing.assert_allclose(
        memory.reshape(len(forests_of(name).nodes), -1).mean(0), 0.0, atol=1e-10
    )


@loopy
def test_what_is_kept_helps_when_scores_have_changed_a_little(name):
    s, memory = random_scores(GRAPHS[name], 1, 2.0), np.zeros(room(name))
    bounded(name, s, 1.0, memory, passes=50)
    near = s + 0.01 * random_scores(GRAPHS[name], 2)
    first, least = (bounded(name, near, 1.0, passes=passes)[0] for passes in (0, 200))
    assert bounded(name, near, 1.0, memory, passes=0)[0] - least < 0.1 * (first - least)


@loopy
def test_the_tolerance_ends_the_passes(name):
    """Where one lowers the bound by no more, and not before."""
    s = random_scores(GRAPHS[name], 2, 2.0)
    for temperature in (0.5, 1.0):
        values = [bounded(name, s, temperature, passes=passes)[0] for passes in range(60)]
        last = next(
            p for p, (before, after) in enumerate(pairwise(values)) if before - after <= 0.05
        )
        assert bounded(name, s, temperature, passes=100, tolerance=0.05)[0] == pytest.approx(
            values[last + 1], abs=1e-10
        )


def test_tighter_than_counting_numbers():
    """Than c = 1/(d - 1) an edge, which a lonely binary variable more asks for (and log 2 of its
    own): two thirds of the gap.
    """
    forests, counted, joined = [], [], complete_edges(6)
    more = table_rows([2] * 6, joined)
    more.widths = np.array([*more.widths, 1])
    for seed in range(5):
        for spread in (0.3, 1.0, 3.0):
            s = random_scores(LOOPY["complete"], seed, 1.0, spread)
            expected = listed("complete", s, 1.0)[0]
            forests.append(bounded("complete", s, 1.0, passes=500)[0] - expected)
            structure = TRWBP(passes=500, tolerance=1e-6).prepare(factor_structure([more]))
            counted.append(
                run(SOLVE, structure, 0, np.insert(s, 12, 0.0), 1.0)[0] - np.log(2.0) - expected
            )
    shares = np.array(forests) / np.array(counted)
    print(
        f"shares of the distance from log Z that is left: {np.round(np.sort(shares), 2).tolist()}"
    )
    assert shares.max() < 1.0
    assert shares.mean() < 0.8


def test_corpora_of_many_shapes():
    """Graphs of pairs beside others: each instance gets what suits it, and room for what it keeps;
    equal graphs share forests.
    """
    other = table_rows([2, 2], [(0, 1)])
    other.widths = np.array([2, 2, 1])
    rows = [GRAPHS["grid"], other, GRAPHS["four states"], GRAPHS["grid"], GRAPHS["no edges"]]
    structure = TRWBP(passes=5, warm_start=True).prepare(factor_structure(rows))
    assert np.diff(structure.memory).tolist() == [2 * 12, 4, 2 * 16, 2 * 12, 5]
    single = TRWBP().prepare(factor_structure([GRAPHS["grid"]]))
    several = TRWBP().prepare(factor_structure([GRAPHS["grid"]] * 5))
    assert len(single.work.ints) == len(several.work.ints)
    for i in (3, 1, 0, 4, 2, 0):
        s = random_scores(rows[i], i)
        before, z, memory = s.copy(), np.zeros(len(s)), np.zeros(int(np.diff(structure.memory)[i]))
        value = SOLVE(structure.record, i, s, 1.0, z, memory, structure.work)
        alone = TRWBP(passes=5).prepare(factor_structure([rows[i]]))
        expected, marginals = run(SOLVE, alone, 0, s, 1.0)
        assert value == expected
        np.testing.assert_array_equal(z, marginals)
        np.testing.assert_array_equal(s, before)
