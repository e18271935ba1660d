"""The quadratic problems of single factors against cvxpy, over the lists of their
configurations.
"""

from itertools import combinations, product
from math import inf

import numpy as np
import pytest

from structopt.inference.ad3 import AD3
from structopt.kernels.ad3.active_set import private_score, solve_quadratic
from structopt.kernels.ad3.configuration_set import capacity, open_set, set_size
from structopt.kernels.ad3.projections import (
    joint_mass,
    project_onto_budget,
    project_onto_sum,
    project_pair,
    project_small_table,
    small_table_masses,
)
from structopt.kernels.ad3.table_active_set import solve_table, table_size
from structopt.kernels.ad3.work import WORK
from structopt.kernels.loopy.factors import AUTOMATON, FACTORS, TREE
from structopt.reference.relaxation import quadratic_step
from tests.inference.small_graphs import automaton, binary, complete, outputs, structure_of, tree

PAIR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)


@pytest.mark.parametrize("c", [-3.0, -0.4, 0.0, 0.3, 2.0])
def test_pairs(c):
    generator = np.random.default_rng(0)
    for _ in range(12):
        a = generator.normal(0.5, 1.0, 2)
        q = project_pair(a[0], a[1], c)
        np.testing.assert_allclose(q, quadratic_step(PAIR, np.array([0, 0, 0, c]), a), atol=1e-5)


def test_excluded_pairs():
    generator = np.random.default_rng(1)
    for _ in range(12):
        a = generator.normal(0.5, 1.0, 2)
        np.testing.assert_allclose(
            project_pair(a[0], a[1], -inf), quadratic_step(PAIR[:3], np.zeros(3), a), atol=1e-5
        )


@pytest.mark.parametrize("c", [-inf, -1.0, 0.0, 1.0])
def test_pairs_with_a_forbidden_variable(c):
    assert project_pair(-inf, 0.4, c) == pytest.approx((0.0, 0.4))
    assert project_pair(0.4, -inf, c) == pytest.approx((0.4, 0.0))
    assert project_pair(-inf, -inf, c) == (0.0, 0.0)


def test_joint_mass_is_the_best_one():
    assert joint_mass(0.7, 0.6, 1.0) == 0.6
    assert joint_mass(0.7, 0.6, -1.0) == pytest.approx(0.3)
    assert joint_mass(0.3, 0.6, -1.0) == 0.0
    assert joint_mass(0.5, 0.5 + 1e-6, -inf) == 0.0


@pytest.mark.parametrize("total", [1, 2, 4])
def test_sums_and_budgets(total):
    generator = np.random.default_rng(total)
    vertices = np.array(list(product([0.0, 1.0], repeat=6)))
    exact = vertices[vertices.sum(axis=1) == total]
    within = vertices[vertices.sum(axis=1) <= total]
    for scale in (0.2, 1.0, 5.0):
        a, q = generator.normal(0.3, scale, 6), np.zeros(6)
        project_onto_sum(a, float(total), q)
        assert q.sum() == pytest.approx(total, abs=1e-12)
        np.testing.assert_allclose(q, quadratic_step(exact, np.zeros(len(exact)), a), atol=1e-5)
        project_onto_budget(a, float(total), q)
        np.testing.assert_allclose(q, quadratic_step(within, np.zeros(len(within)), a), atol=1e-5)


def test_sums_of_ties_extremes_and_forbidden_entries():
    q = np.zeros(4)
    project_onto_sum(np.zeros(4), 1.0, q)
    np.testing.assert_allclose(q, 0.25)
    project_onto_sum(np.array([1e8, 1e8, 0.0, -1e8]), 1.0, q)
    np.testing.assert_allclose(q, [0.5, 0.5, 0.0, 0.0], atol=1e-7)
    project_onto_sum(np.array([-inf, 0.2, 0.6, -inf]), 1.0, q)
    np.testing.assert_allclose(q, [0.0, 0.3, 0.7, 0.0])
    project_onto_sum(np.array([-inf, -5.0, -inf, -inf]), 1.0, q)
    np.testing.assert_array_equal(q, [0.0, 1.0, 0.0, 0.0])
    project_onto_budget(np.array([-inf, 0.9, 2.0, -1.0]), 1.0, q)
    np.testing.assert_allclose(q, [0.0, 0.0, 1.0, 0.0], atol=1e-12)


def table_vertices(K, width):
    """Configurations of a TABLE factor: the states of both variables side by side."""
    return np.array(
        [np.concatenate([np.eye(K)[x], np.eye(width)[y]]) for x in range(K) for y in range(width)]
    )


def closed_form(a, p, eta):
    """What `project_small_table` gives for a table, written among other numbers."""
    q = np.full(6, 7.0)
    project_small_table(
        np.concatenate([[9.0], a, [9.0]]), 1, np.concatenate([[5.0, 5.0], p]), 2, eta, q
    )
    assert q[0] == q[5] == 7.0
    return q[1:5]


def test_tables_of_two_states_are_pairs():
    generator = np.random.default_rng(0)
    for eta in (0.1, 1.0, 10.0):
        for _ in range(5):
            a, p = generator.normal(0.5, 1.0, 4), generator.normal(size=4)
            expected = quadratic_step(table_vertices(2, 2), p / eta, a)
            np.testing.assert_allclose(closed_form(a, p, eta), expected, atol=1e-5)


FORBIDDEN = [chosen for count in (1, 2, 3) for chosen in combinations(range(4), count)]


@pytest.mark.parametrize("forbidden", FORBIDDEN)
@pytest.mark.parametrize("by_variable", [False, True])
def test_tables_of_two_states_with_forbidden_pairs(forbidden, by_variable):
    """A triangle, a segment or a point; also where a state of a variable is what is forbidden."""
    generator, vertices = np.random.default_rng(1), table_vertices(2, 2)
    for _ in range(4):
        a, p = generator.normal(0.5, 1.0, 4), generator.normal(size=4)
        p[list(forbidden)] = -inf
        if by_variable:
            a[generator.integers(4)] = -inf
        allowed = np.flatnonzero((p > -inf) & ~(vertices[:, a == -inf] > 0).any(axis=1))
        if len(allowed):
            expected = quadratic_step(
                vertices[allowed], p[allowed] / 0.7, np.where(a == -inf, 0.0, a)
            )
            q = closed_form(a, p, 0.7)
            np.testing.assert_allclose(q, expected, atol=1e-5)
            masses = np.zeros(5)
            small_table_masses(q[0], q[2], np.concatenate([[3.0], p]), 1, masses)
            np.testing.assert_allclose(vertices.T @ masses[1:], q, atol=1e-12)
            assert not masses[1:][p == -inf].any()


@pytest.mark.parametrize("state", range(4))
def test_tables_of_two_states_with_a_forbidden_state(state):
    generator, vertices = np.random.default_rng(2), table_vertices(2, 2)
    for _ in range(4):
        a, p = generator.normal(0.5, 1.0, 4), generator.normal(size=4)
        a[state] = -inf
        left = vertices[:, state] == 0
        expected = quadratic_step(vertices[left], p[left], np.where(a == -inf, 0.0, a))
        np.testing.assert_allclose(closed_form(a, p, 1.0), expected, atol=1e-5)


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 3), (4, 4), (6, 2)])
@pytest.mark.parametrize("forbidden", [0, 3])
def test_sets_of_tables(K, L, forbidden):
    """From scratch, and from the set that the last problem left: the solution, with the weights of
    a forest.
    """
    generator, k, vertices = np.random.default_rng([K, L]), K + L, table_vertices(K, L)
    floats, ints = table_size(k)
    sets, members, counts, q = (
        np.zeros(3 + floats),
        np.zeros(2 + ints, np.int64),
        np.zeros(2, np.int64),
        np.zeros(k + 1),
    )
    x = WORK.open(AD3().prepare(structure_of([complete([K, L])])).work).scratch
    p = np.concatenate([[5.0], generator.normal(size=K * L)])
    p[1 + generator.choice(K * L, forbidden, replace=False)] = -inf
    allowed, most = np.flatnonzero(p[1:] > -inf), 0
    for eta in (0.05, 0.3, 0.3, 0.3, 2.0, 2.0, 50.0, 0.3):
        a, visits = (
            np.concatenate([[9.0], generator.normal(0.5, 0.2 if eta == 0.3 else 1.0 / eta, k)]),
            1,
        )
        while not solve_table(a, 1, p, 1, K, L, eta, sets, 3, members, 2, counts, 1, x, q):
            visits += 1
        assert visits <= 5
        np.testing.assert_allclose(
            q[1:], quadratic_step(vertices[allowed], p[1 + allowed] / eta, a[1:]), atol=3e-5
        )
        count = counts[1]
        weights, pairs = sets[3 : 3 + count], members[2 : 2 + 2 * count].reshape(-1, 2)
        assert weights.sum() == pytest.approx(1.0, abs=1e-9)
        assert (weights >= 0).all()
        rows = pairs[:, 0] * L + pairs[:, 1]
        np.testing.assert_allclose(vertices[rows].T @ weights, q[1:], atol=1e-12)
        values = vertices @ (a[1:] - q[1:]) + p[1:] / eta
        # no pair is better
        assert values.max() == pytest.approx(
            weights @ values[rows], abs=1e-7 * max(1.0, abs(a).max())
        )
        assert np.linalg.matrix_rank(vertices[rows]) == count <= k - 1
        most = max(most, count)
    assert counts[0] == 0
    assert most > 2


def path(k):
    row = binary(k)
    automaton(row, range(k))
    return row


SETS = {
    "automaton": (AUTOMATON, path(5)),
    "tree": (TREE, tree(3)),
    "single root": (TREE, tree(4, single_root=True)),
    "projective": (TREE, tree(4, projective=True)),
}


@pytest.mark.parametrize("name", SETS)
def test_active_sets(name):
    """From scratch, and from the set that the last problem left."""
    kind, row = SETS[name]
    structure = AD3().prepare(structure_of([row]))
    f, w, vertices = FACTORS.open(structure.record), WORK.open(structure.work), outputs(row)
    k = int(row.widths.sum())
    x = open_set(w.sets, w.members, w.counts[:1], kind, k)
    generator, q = np.random.default_rng(0), np.zeros(k)
    p = generator.normal(size=sum(row.privates))
    for eta in (0.05, 0.3, 0.3, 2.0, 2.0, 50.0):
        a = generator.normal(0.5, 1.0 / eta, k)
        visits = 1
        while not solve_quadratic(f, 0, 0, a, p, eta, x, w.scratch, q):
            visits += 1
        assert visits <= 5
        expected = quadratic_step(vertices[:, :k], vertices[:, k:] @ p / eta, a)
        np.testing.assert_allclose(q, expected, atol=3e-5)
        weights = x.weights[: x.count[0]]
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()
        gap = (vertices[:, :k] @ (a - q) + vertices[:, k:] @ p / eta).max()
        held = sum(
            mass * value for mass, value in zip(weights, x.values, strict=False)
        ) / eta + q @ (a - q)
        # no configuration is better than those held
        assert gap == pytest.approx(held, abs=1e-8 * max(1.0, abs(a).max()))


def test_private_scores_skip_what_is_off():
    assert private_score(np.array([-inf, 2.0]), np.array([0.0, 1.0])) == 2.0


def test_sizes():
    assert capacity(TREE, 9) == 11
    assert capacity(TREE, 10_000) == 256
    assert set_size(TREE, 9) == (11 * 14, 11 * 10)
