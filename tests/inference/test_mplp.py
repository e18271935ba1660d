"""MPLP: every update by hand, a bound that never rises, and the linear relaxation where it must
come down to it.
"""

from itertools import pairwise
from math import inf, log

import numpy as np
import pytest

from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError
from structopt.factor_graph.factor_rows import FactorRows
from structopt.factor_graph.kinds import CHAIN, LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.ad3 import AD3
from structopt.inference.cut import Cut
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.kernels.loopy.factors import TABLE
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.testing.inference import InferenceSuite, finite_differences, run
from tests.covering import covering
from tests.inference.small_graphs import complete, outputs, structure_of, tree
from tests.messages import raises


def graph(widths, edges):
    row = FactorRows(np.array(widths, np.int32))
    for a, b in edges:
        row.add(TABLE, [a, b], widths[a] * widths[b])
    return row


GRID = [
    (v, v + step) for v in range(9) for step in (1, 3) if v + step < 9 and (step == 3 or v % 3 < 2)
]
ROWS = [
    complete([2] * 5),
    graph([2] * 9, GRID),
    graph([2] * 5, [(0, 1), (1, 2), (1, 3)]),  # a tree, and a variable alone
    complete([3, 2, 4, 3], loose=1),
    graph([3] * 9, GRID),
    complete([2, 3]),
]
BINARY = (0, 1, 2)
PLAIN = structure_of(ROWS)
SOLVE_LP = LP().kernels(LOOPY).solve
each = pytest.mark.parametrize("i", range(len(ROWS)))


def value_of(i, s, memory=None, **options):
    """Value and z of one visit; the memory, where it is given, is read and written."""
    inference = MPLP(**{"tolerance": 0.0, "warm_start": memory is not None} | options)
    structure, z = inference.prepare(PLAIN), np.zeros(len(s))
    kept = np.zeros(0) if memory is None else memory
    return inference.kernels(LOOPY).solve(structure.record, i, s, 0.0, z, kept, structure.work), z


def room(i):
    return int(np.diff(MPLP(warm_start=True).prepare(PLAIN).memory)[i])


def draws(i, count=5, spread=1.0, forbid=0):
    """Scores: normal ones of the variables, and of the edges with the given deviation; some -inf on
    request.
    """
    generator, shared = np.random.default_rng([i, count, forbid]), int(ROWS[i].widths.sum())
    for _ in range(count):
        s = generator.normal(size=int(np.diff(PLAIN.parts)[i]))
        s[shared:] *= spread
        s[generator.choice(len(s), forbid, replace=False)] = -inf
        yield s


def relaxed(i, s):
    return run(SOLVE_LP, PLAIN, i, s, 0.0)[0]


class Dense:
    """Node and edge scores of an instance as tables, messages as one vector an edge and side, and
    the formulas on them.
    """

    def __init__(self, i, s, K=0.0):
        row, self.K = ROWS[i], K
        ends = np.cumsum([0, *row.widths, *row.privates])
        blocks = [s[a:b] for a, b in pairwise(ends)]
        self.nodes, self.edges = blocks[: len(row.widths)], row.links
        tables = zip(blocks[len(row.widths) :], row.links, strict=True)
        self.tables = [table.reshape(row.widths[a], row.widths[b]) for table, (a, b) in tables]
        self.messages = [[np.zeros(row.widths[v]) for v in linked] for linked in row.links]

    def top(self, x, axis=None):
        if not self.K:
            return np.max(x, axis=axis)
        return np.log(np.exp(self.K * x).sum(axis=axis)) / self.K

    def star(self, j):
        """Update all messages into variable j."""
        into, heard = (
            [(e, list(pair).index(j)) for e, pair in enumerate(self.edges) if j in pair],
            [],
        )
        for e, side in into:
            a = self.tables[e] if side == 0 else self.tables[e].T
            heard.append(self.top(a - self.messages[e][1 - side], axis=1))
        share = (self.nodes[j] + sum(heard)) / (1 + len(into))
        for (e, side), v in zip(into, heard, strict=True):
            self.messages[e][side] = v - share

    def bound(self):
        beliefs = [b.copy() for b in self.nodes]
        total = 0.0
        for (a, b), (to_a, to_b), table in zip(self.edges, self.messages, self.tables, strict=True):
            beliefs[a] += to_a
            beliefs[b] += to_b
            total += self.top(table - to_a[:, None] - to_b)
        return total + sum(map(self.top, beliefs))

    def flat(self, i):
        """Messages as an instance's memory holds them."""
        every = [m for pair in self.messages for m in pair]
        return np.array([m[1] - m[0] for m in every]) if i in BINARY else np.concatenate(every)


class TestMPLP(InferenceSuite):
    @pytest.fixture(params=[0, 3, 200])
    def inference(self, request):
        return MPLP(passes=request.param)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(structure_of([ROWS[0], ROWS[2], ROWS[3], ROWS[5]]))


@each
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_passes_by_hand(i, smoothing):
    for s in draws(i):
        dense, memory = Dense(i, s, smoothing), np.zeros(room(i))
        for _ in range(3):
            for j in range(len(ROWS[i].widths)):
                dense.star(j)
            value, _ = value_of(i, s, memory, passes=1, smoothing=smoothing)
            assert value == pytest.approx(dense.bound(), abs=1e-11)
            np.testing.assert_allclose(memory, dense.flat(i), atol=1e-11)


@pytest.mark.parametrize(
    ("i", "smoothing", "forbid"), covering(range(len(ROWS)), [0.0, 5.0], [0, 3])
)
def test_the_bound_never_rises_and_stays_above_the_relaxation(i, smoothing, forbid):
    falls = []
    for s in draws(i, forbid=forbid):
        values = [value_of(i, s, passes=passes, smoothing=smoothing)[0] for passes in range(25)]
        assert all(after <= before + 1e-9 for before, after in pairwise(values))
        assert min(values) >= relaxed(i, s) - 1e-9
        falls.append(values[0] - values[-1])
    assert max(falls) > 0.1


@each
def test_a_bound_at_any_messages(i):
    """And its derivative by the scores is z, at these messages; the soft bound lies above."""
    generator = np.random.default_rng(i)
    for s in draws(i):
        messages = generator.normal(size=room(i))
        values = []
        for smoothing in (0.0, 8.0, 1.0):
            value, z = value_of(i, s, messages.copy(), passes=0, smoothing=smoothing)
            values.append(value)
            slope = finite_differences(
                lambda x, K=smoothing, m=messages: value_of(i, x, m.copy(), passes=0, smoothing=K)[
                    0
                ],
                s,
            )
            np.testing.assert_allclose(z, slope, atol=1e-6)
        assert relaxed(i, s) - 1e-9 <= values[0] < values[1] < values[2]


@pytest.mark.parametrize(("i", "spread", "forbid"), covering(BINARY, [0.3, 1.0, 3.0], [0, 2]))
def test_two_states_reach_the_relaxation(i, spread, forbid):
    inference = MPLP().converged()
    structure, solve = inference.prepare(PLAIN), inference.kernels(LOOPY).solve
    for s in draws(i, 10, spread, forbid):
        expected, value = relaxed(i, s), run(solve, structure, i, s, 0.0)[0]
        if expected > -inf:
            assert value == pytest.approx(expected, rel=1e-4, abs=1e-4)
        else:
            assert value == -inf


def test_also_where_the_relaxation_is_fractional():
    """Variables that would all differ from each other: no output is as good as half of either
    state.
    """
    s = np.zeros(int(np.diff(PLAIN.parts)[0]))
    s[10:] = np.tile([0.0, 1.0, 1.0, 0.0], 10)
    s[:10] = 0.01 * np.arange(10)
    outcome = (outputs(ROWS[0]) @ s).max()
    value = value_of(0, s, passes=1000)[0]
    assert value > outcome + 1.0
    assert value == pytest.approx(relaxed(0, s), rel=1e-6)


@each
def test_the_soft_bound_comes_down_to_the_relaxation(i):
    """But for log(configurations) / K a factor or variable."""
    K = 30.0
    slack = sum(log(n) for n in [*ROWS[i].widths, *ROWS[i].privates]) / K
    for s in draws(i, 8, 2.0):
        soft = value_of(i, s, passes=20_000, smoothing=K, tolerance=1e-7)[0]
        assert relaxed(i, s) - 1e-9 <= soft <= relaxed(i, s) + slack


def test_smoothing_goes_on_where_the_maximum_sticks():
    """The maximum itself, at the messages that the soft one leads to, is nearer to the relaxation
    than without.
    """
    row = complete([4] * 8)
    plain, generator = structure_of([row]), np.random.default_rng(0)
    stuck, led = [], []
    for _ in range(5):
        s, messages = generator.normal(size=int(plain.parts[-1])), np.zeros(8 * 7 * 4)
        expected = run(SOLVE_LP, plain, 0, s, 0.0)[0]
        for options, gaps in (
            ({"passes": 5000, "tolerance": 1e-9}, stuck),
            ({"passes": 5000, "tolerance": 1e-9, "smoothing": 100.0}, None),
            ({"passes": 0}, led),
        ):
            memory = np.zeros(len(messages)) if gaps is stuck else messages
            inference, z = MPLP(warm_start=True, **options), np.zeros(len(s))
            structure = inference.prepare(plain)
            value = inference.kernels(LOOPY).solve(
                structure.record, 0, s, 0.0, z, memory, structure.work
            )
            if gaps is not None:
                gaps.append(value - expected)
    assert min(stuck) >= -1e-9
    assert min(led) >= -1e-9
    assert max(stuck) > 0.3
    assert np.mean(led) < 0.2 * np.mean(stuck)


def test_predictions_are_the_best_output_where_the_bound_is_tight():
    for i, shape in ((2, 11), (5, 5)):  # trees of two states, and of three
        vertices = outputs(ROWS[i])
        for s in draws(i):
            value, z = value_of(i, s, passes=500)
            best = vertices[(vertices @ s).argmax()]
            assert value == pytest.approx(best @ s, abs=1e-6)
            np.testing.assert_array_equal(z[: shape - 1], best[: shape - 1])


@each
def test_visits_go_on_where_the_last_one_ended(i):
    for s in draws(i):
        memory = np.zeros(room(i))
        value_of(i, s, memory, passes=3)
        value, z = value_of(i, s, memory, passes=4)
        whole, expected = value_of(i, s, passes=7)
        assert value == pytest.approx(whole, abs=1e-12)
        np.testing.assert_array_equal(z, expected)
        assert memory.any()


def test_memory_is_one_number_an_edge_and_variable_of_two_states_else_one_a_state():
    kept = np.diff(MPLP(warm_start=True).prepare(PLAIN).memory)
    assert kept.tolist() == [20, 24, 6, 36, 72, 5]
    assert not MPLP().prepare(PLAIN).memory.any()


def test_a_visit_does_not_depend_on_the_last_and_leaves_the_scores_alone():
    inference = MPLP(passes=7)
    structure, solve = inference.prepare(PLAIN), inference.kernels(LOOPY).solve
    for i in [3, 0, 4, 2, 0, 5, 1]:
        s = next(draws(i, forbid=2))
        before, z = s.copy(), np.zeros(len(s))
        value = solve(structure.record, i, s, 0.0, z, np.zeros(0), structure.work)
        fresh, same = run(solve, structure, i, s, 0.0)
        assert value == fresh
        np.testing.assert_array_equal(z, same)
        np.testing.assert_array_equal(s, before)


@each
def test_the_tolerance_ends_the_passes(i):
    """Where a pass lowers the bound by less, and not before."""
    for s in draws(i):
        values = [value_of(i, s, passes=passes)[0] for passes in range(60)]
        falls = -np.diff(values)
        last = next(p for p in range(1, 59) if falls[p] <= 0.05)
        assert value_of(i, s, tolerance=0.05)[0] == pytest.approx(values[last + 1], abs=1e-12)


@each
def test_forbidden_parts_are_never_chosen(i):
    vertices = outputs(ROWS[i])
    for s in draws(i, 10, forbid=4):
        allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
        value, z = value_of(i, s, passes=50)
        if len(allowed):
            assert value >= (allowed @ np.where(s == -inf, 0.0, s)).max() - 1e-9
            assert not z[s == -inf].any()


@pytest.mark.parametrize("i", [0, 3])
def test_where_nothing_is_allowed(i):
    """A variable without states at once; states that no pairs of two edges allow, after some
    passes.
    """
    widths = ROWS[i].widths
    s = np.zeros(int(np.diff(PLAIN.parts)[i]))
    s[: widths[0]] = -inf
    value, z = value_of(i, s, passes=0)
    assert value == -inf
    assert not z.any()
    s[:] = 0.0
    first = int(widths.sum())
    s[first : first + widths[0] * widths[1]].reshape(widths[0], widths[1])[:] = -inf
    assert value_of(i, s, passes=0)[0] == -inf
    s[first : first + widths[0] * widths[1]].reshape(widths[0], widths[1])[0, 0] = 0.0
    s[0] = -inf
    assert value_of(i, s, passes=0)[0] > -inf
    assert value_of(i, s, passes=5)[0] == -inf


def test_what_it_comes_to():
    """The relaxation's value: by cuts if all variables have two states, else by the linear program,
    and by AD3 with other factors.
    """
    stateful = MPLP(passes=1, smoothing=3.0, warm_start=True)
    two = stateful.converged(structure_of([ROWS[i] for i in BINARY]))
    assert isinstance(two, Cut)
    assert (stateful.converged().smoothing, stateful.converged().warm_start) == (0.0, False)
    assert isinstance(stateful.converged(), MPLP)
    assert isinstance(stateful.converged(structure_of([tree(3)])), AD3)
    assert isinstance(stateful.converged(PLAIN), LP)


def test_what_it_provides():
    assert MPLP().provides(LOOPY) == Ability.MAP | Ability.UPPER
    assert not MPLP().provides(CHAIN)


def test_refuses_sums():
    with pytest.raises(
        CompatibilityError, match=r"loss.beta=1 needs marginals, but inference=mplp only maximises"
    ):
        check(Pairwise(), MPLP(), LossFamily(beta=1.0, gamma=0.0), DCA())
    with raises(CompatibilityError, parameter="inference", value="MPLP"):
        MPLP().kernels(CHAIN)
    solve = MPLP().kernels(LOOPY).solve
    assert np.isnan(run(solve, MPLP().prepare(PLAIN), 0, next(draws(0)), 1.0)[0])
