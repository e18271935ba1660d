"""MPLP on factors beyond pairs: updates by hand, a bound that never rises, kept messages, and DLPW on
second-order trees.
"""

from math import inf

import numpy as np
import pytest

from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError
from structopt.factor_graph.factor_rows import FactorRows
from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.second_order import SecondOrder
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.kernels.loopy.factors import EXACTLY_ONE, PAIRS
from structopt.loss.family import LossFamily
from structopt.optimizer.dlpw import DLPW
from structopt.testing.inference import InferenceSuite, run
from structopt.testing.problems import make_problem, random_trees
from tests.inference.small_graphs import binary, outputs, random_rows, structure_of, tree
from tests.messages import raises

ROWS = random_rows()
PLAIN = structure_of(ROWS)
OTHERS = (0, 3, 4, 5, 6)  # with other factors than tables
each = pytest.mark.parametrize("i", OTHERS)
SOLVE_LP = LP().kernels(LOOPY).solve


def value_of(i, s, memory=None, **options):
    """Value and z of one visit; the memory, if there is one, is read and written."""
    inference = MPLP(**{"tolerance": 0.0, "warm_start": memory is not None} | options)
    structure, z = inference.prepare(PLAIN), np.zeros(len(s))
    kept = np.zeros(0) if memory is None else memory
    return inference.kernels(LOOPY).solve(structure.record, i, s, 0.0, z, kept, structure.work), z


def draws(i, count=4):
    generator = np.random.default_rng(i)
    for _ in range(count):
        yield generator.normal(size=int(np.diff(PLAIN.parts)[i]))


def room(i):
    return int(np.diff(MPLP(warm_start=True).prepare(PLAIN).memory)[i])


class TestMPLP(InferenceSuite):
    @pytest.fixture(params=[0, 3, 100])
    def inference(self, request):
        return MPLP(passes=request.param)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(PLAIN)

    def test_hard_constraints(self):
        """Skipped: z are the maximisers of single variables and factors, which need not agree."""


@each
def test_the_bound_never_rises_and_stays_above_the_relaxation(i):
    for s in draws(i):
        values = [value_of(i, s, passes=passes)[0] for passes in (0, 1, 2, 3, 5, 10, 50)]
        assert all(b <= a + 1e-9 for a, b in zip(values, values[1:], strict=False))
        relaxed = run(SOLVE_LP, PLAIN, i, s, 0.0)[0]
        assert values[-1] >= relaxed - 1e-7
        assert values[-1] <= values[0]


@each
def test_the_bound_comes_near_the_relaxation(i):
    """Within 10 % of the distance of the first bound, on the mean over scores."""
    first, last = [], []
    for s in draws(i):
        relaxed = run(SOLVE_LP, PLAIN, i, s, 0.0)[0]
        first.append(value_of(i, s, passes=0)[0] - relaxed)
        last.append(value_of(i, s, passes=500)[0] - relaxed)
    assert np.mean(last) < 0.1 * np.mean(first)


@each
def test_z_is_a_subgradient(i):
    """At fixed messages the bound is a maximum of linear functions, and z their slope."""
    generator = np.random.default_rng(i)
    for s in draws(i):
        memory = generator.normal(size=room(i))
        value, z = value_of(i, s, memory.copy(), passes=0)
        for _ in range(3):
            other = s + generator.normal(size=len(s))
            assert value_of(i, other, memory.copy(), passes=0)[0] >= value + z @ (other - s) - 1e-9


@each
def test_any_messages_give_a_bound(i):
    vertices, generator = outputs(ROWS[i]), np.random.default_rng(i)
    for s in draws(i):
        memory = 3 * generator.normal(size=room(i))
        assert value_of(i, s, memory, passes=0)[0] >= (vertices @ s).max() - 1e-9


@each
def test_messages_are_kept(i):
    """Two visits of three passes end where one visit of six does."""
    for s in draws(i):
        memory, other = np.zeros(room(i)), np.zeros(room(i))
        for _ in range(2):
            twice = value_of(i, s, memory, passes=3)[0]
        assert twice == pytest.approx(value_of(i, s, other, passes=6)[0], abs=1e-9)
        np.testing.assert_allclose(memory, other, atol=1e-9)


def test_updates_by_hand():
    """A pair and an EXACTLY_ONE factor over the same variables."""
    row = binary(3)
    row.add(PAIRS, [0, 1], 1)
    row.add(EXACTLY_ONE, [0, 1, 2])
    structure = MPLP(passes=1, tolerance=0.0, warm_start=True).prepare(structure_of([row]))
    s, memory, z = np.array([0.5, -1.0, 0.2, 2.0]), np.zeros(5), np.zeros(4)
    MPLP().kernels(LOOPY).solve(structure.record, 0, s, 0.0, z, memory, structure.work)
    a, b, c, w = s
    m = [max(a, a + b + w) - max(0, b), max(b, a + b + w) - max(0, a)]
    first = [m[0] / 2 - a, m[1] / 2 - b]
    n = np.array([m[0] / 2, m[1] / 2, c])
    second = [(n[j] - np.delete(n, j).max()) / 3 - n[j] for j in range(3)]
    np.testing.assert_allclose(memory, [*first, *second], atol=1e-12)


def test_contradictions_have_no_output():
    row = binary(2)
    row.add(EXACTLY_ONE, [0, 1])
    structure = MPLP().prepare(structure_of([row]))
    value, z = run(MPLP().kernels(LOOPY).solve, structure, 0, np.array([-inf, -inf]), 0.0)
    assert value == -inf
    assert not z.any()
    value, z = run(MPLP().kernels(LOOPY).solve, structure, 0, np.array([-inf, 1.5]), 0.0)
    assert (value, z.tolist()) == (pytest.approx(1.5), [0.0, 1.0])


def test_dlpw_learns_second_order_trees():
    """P, which AD3 computes, falls; messages are kept per instance."""
    kept = MPLP(passes=5, tolerance=0.0, warm_start=True)
    check(SecondOrder(), kept, LossFamily(inf, 1.0), DLPW())
    options = {"templates": ["bias", "h.upos & m.upos"], "siblings": ["s.upos & m.upos"]}
    options |= {"grandparents": ["g.upos & m.upos"], "hash_bits": 10}
    encoded = random_trees(1, (3, 4, 4, 3))
    problem = make_problem(encoded, SecondOrder(), LossFamily(inf, 1.0), kept, options=options)
    optimizer = DLPW()
    state = optimizer.init(problem, np.zeros(problem.dimension))
    start = optimizer.objective(problem, state)
    for _ in range(20):
        state, _ = optimizer.step(problem, state)
    assert problem.messages.any()
    assert optimizer.objective(problem, state) < 0.8 * start


def test_abilities_and_refusals():
    assert MPLP().provides(LOOPY) == Ability.MAP | Ability.UPPER
    assert Ability.CONVEX not in MPLP().reports(SecondOrder())
    with raises(CompatibilityError, match="has other factors", parameter="smoothing", value=2.0):
        MPLP(smoothing=2.0).prepare(structure_of([tree(3)]))


def test_a_variable_alone():
    structure = MPLP().prepare(structure_of([FactorRows(np.ones(2, np.int32))]))
    value, z = run(MPLP().kernels(LOOPY).solve, structure, 0, np.array([1.0, -2.0]), 0.0)
    assert (value, z.tolist()) == (1.0, [1.0, 0.0])
