"""MPLP by trees: a pass by hand on a tree, a bound that never rises, the linear relaxation, kept
messages, and DLPW.
"""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

import structopt
from structopt.config.compatibility import check
from structopt.errors import ArgumentError, CompatibilityError
from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.cut import Cut
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.loss.family import LossFamily
from structopt.optimizer.dlpw import DLPW
from structopt.testing.inference import InferenceSuite, finite_differences, run
from structopt.testing.problems import make_problem, random_graphs
from tests.covering import covering
from tests.inference.small_graphs import complete, outputs, structure_of, tree
from tests.inference.test_mplp import BINARY, GRID, graph
from tests.messages import raises

TREE = graph([2, 3, 2, 4, 3], [(0, 1), (2, 1), (1, 3)])  # and a variable alone
ROWS = [
    complete([2] * 5),
    graph([2] * 9, GRID),
    graph([2] * 5, [(0, 1), (1, 2), (1, 3)]),
    complete([3, 2, 4, 3], loose=1),
    graph([3] * 9, GRID),
    TREE,
    graph([2] * 5, [(v, (v + 1) % 5) for v in range(5)]),
]
PLAIN = structure_of(ROWS)
SOLVE_LP = LP().kernels(LOOPY).solve
each = pytest.mark.parametrize("i", range(len(ROWS)))


def value_of(i, s, memory=None, **options):
    """Value and z of one visit; the memory, if there is one, is read and written."""
    options = {"tolerance": 0.0, "warm_start": memory is not None, "blocks": "trees"} | options
    inference = MPLP(**options)
    structure, z = inference.prepare(PLAIN), np.zeros(len(s))
    kept = np.zeros(0) if memory is None else memory
    return inference.kernels(LOOPY).solve(structure.record, i, s, 0.0, z, kept, structure.work), z


def room(i):
    return int(np.diff(MPLP(warm_start=True, blocks="trees").prepare(PLAIN).memory)[i])


def draws(i, count=4, forbid=0):
    generator = np.random.default_rng([i, count, forbid])
    for _ in range(count):
        s = generator.normal(size=int(np.diff(PLAIN.parts)[i]))
        s[generator.choice(len(s), forbid, replace=False)] = -inf
        yield s


def relaxed(i, s):
    return run(SOLVE_LP, PLAIN, i, s, 0.0)[0]


class TestMPLP(InferenceSuite):
    @pytest.fixture(params=[0, 3, 200])
    def inference(self, request):
        return MPLP(passes=request.param, blocks="trees")

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(structure_of([ROWS[0], ROWS[2], ROWS[3], ROWS[5]]))


@pytest.mark.parametrize("i", [2, 5])
def test_a_pass_solves_a_tree(i):
    """Whatever the messages are before."""
    vertices, generator = outputs(ROWS[i]), np.random.default_rng(i)
    for s in draws(i):
        best = (vertices @ s).max()
        memory = generator.normal(size=room(i))
        value, z = value_of(i, s, memory, passes=1)
        assert value == pytest.approx(best, abs=1e-12)
        assert s @ z == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("i", "forbid"), covering(range(len(ROWS)), [0, 3]))
def test_the_bound_never_rises_and_stays_above_the_relaxation(i, forbid):
    falls = []
    for s in draws(i, forbid=forbid):
        values = [value_of(i, s, passes=passes)[0] for passes in range(20)]
        assert all(after <= before + 1e-9 for before, after in pairwise(values))
        assert min(values) >= relaxed(i, s) - 1e-9
        falls.append(values[0] - values[-1] if values[-1] > -inf else 0.0)
    assert max(falls) > 0.1


@pytest.mark.parametrize(("i", "forbid"), covering((*BINARY, 6), [0, 2]))
def test_two_states_reach_the_relaxation(i, forbid):
    for s in draws(i, 8, forbid):
        expected, value = relaxed(i, s), value_of(i, s, passes=5000, tolerance=1e-9)[0]
        if expected > -inf:
            assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)
        else:
            assert value == -inf


@each
def test_a_bound_at_any_messages_and_its_slope(i):
    generator = np.random.default_rng(i)
    for s in draws(i):
        messages = generator.normal(size=room(i))
        value, z = value_of(i, s, messages.copy(), passes=0)
        assert value >= relaxed(i, s) - 1e-9
        slope = finite_differences(lambda x, m=messages: value_of(i, x, m.copy(), passes=0)[0], s)
        np.testing.assert_allclose(z, slope, atol=1e-6)


@each
def test_messages_are_kept(i):
    """A number per state of each variable of an edge; two visits do what one does."""
    assert room(i) == sum(ROWS[i].widths[v] for pair in ROWS[i].links for v in pair)
    for s in draws(i):
        memory = np.zeros(room(i))
        value_of(i, s, memory, passes=2)
        value, z = value_of(i, s, memory, passes=3)
        whole, expected = value_of(i, s, passes=5)
        assert value == pytest.approx(whole, abs=1e-10)
        np.testing.assert_array_equal(z, expected)


def test_a_visit_does_not_depend_on_the_last():
    inference = MPLP(passes=3, blocks="trees")
    structure, solve = inference.prepare(PLAIN), inference.kernels(LOOPY).solve
    for i in (3, 0, 6, 5, 2, 0):
        s = next(draws(i))
        z = np.zeros(len(s))
        value = solve(structure.record, i, s, 0.0, z, np.zeros(0), structure.work)
        assert (value, z.tolist()) == (value_of(i, s, passes=3, tolerance=1e-4)[0], z.tolist())


def test_dlpw_learns_with_trees():
    """P, which cuts compute, falls as far as with stars."""
    ends = {}
    for blocks in ("stars", "trees"):
        kept = MPLP(passes=3, tolerance=0.0, warm_start=True, blocks=blocks)
        check(Pairwise(), kept, LossFamily(inf, 1.0), DLPW())
        encoded = random_graphs(1, (4, 5, 3, 4), 2, "complete", values=True)
        problem = make_problem(encoded, Pairwise(), LossFamily(inf, 1.0), kept)
        assert isinstance(kept.converged(problem.structure), Cut)
        optimizer = DLPW()
        state = optimizer.init(problem, np.zeros(problem.dimension))
        start = optimizer.objective(problem, state)
        for _ in range(60):
            state, _ = optimizer.step(problem, state)
        ends[blocks] = optimizer.objective(problem, state)
        assert ends[blocks] < 0.8 * start
    assert ends["trees"] == pytest.approx(ends["stars"], rel=0.02)


def test_refusals():
    with raises(ArgumentError, match="'stars' or 'trees'", parameter="blocks", value="edges"):
        MPLP(blocks="edges")
    with raises(ArgumentError, parameter="smoothing", value=2.0):
        MPLP(smoothing=2.0, blocks="trees")
    with raises(CompatibilityError, match="has other factors", parameter="blocks", value="trees"):
        MPLP(blocks="trees").prepare(structure_of([tree(3)]))


@pytest.mark.parametrize(
    "row", [graph([3], []), graph([2, 2], []), graph([2, 3], [(0, 1), (1, 0), (0, 1)])]
)
def test_small_graphs(row):
    """No edges; several edges between two variables."""
    structure = MPLP(blocks="trees", tolerance=1e-10).prepare(structure_of([row]))
    s = np.random.default_rng(0).normal(size=int(structure.parts[-1]))
    value, _ = run(MPLP().kernels(LOOPY).solve, structure, 0, s, 0.0)
    assert value == pytest.approx((outputs(row) @ s).max(), abs=1e-6)


@pytest.mark.parametrize("options", [{"blocks": "trees"}, {"clusters": 20}])
def test_threads_change_no_bits(options):
    """And `argmax` has the bound of every instance."""
    batch = structopt.Pairwise("complete").batch([5, 6, 0, 4, 7, 3, 6, 5], labels=3)
    generator = np.random.default_rng(0)
    n, edges = 36, sum(n * (n - 1) // 2 for n in (5, 6, 0, 4, 7, 3, 6, 5))
    scores = batch.scores(
        label=generator.normal(size=(n, 3)), edge=generator.normal(size=(edges, 3, 3))
    )
    one, two = (structopt.argmax(scores, MPLP(**options), threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.upper, two.upper)
    np.testing.assert_array_equal(one.score, two.score)
    exact = structopt.argmax(scores).score
    assert (one.upper >= exact - 1e-9).all()
    np.testing.assert_allclose(one.score[one.optimal], exact[one.optimal])
