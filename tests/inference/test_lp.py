"""The linear relaxation against cvxpy, the integer program against a list of all outputs, and the
tree polytopes.
"""

from math import inf

import numpy as np
import pytest

from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph.kinds import CHAIN, LOOPY
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.ilp import ILP
from structopt.inference.local_polytope import local_polytope
from structopt.inference.lp import LP
from structopt.kernels.trees import arborescence, projective
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.reference.relaxation import relaxed_maximum
from structopt.testing.inference import run
from tests.inference.small_graphs import complete, mixed, outputs, random_rows, structure_of, tree
from tests.messages import raises

ROWS = random_rows()
STRUCTURE = structure_of(ROWS)
SOLVE_LP, SOLVE_ILP = LP().kernels(LOOPY).solve, ILP().kernels(LOOPY).solve


def draws(i, count=6, forbid=0):
    """Scores of instance i, of which some are -inf on request."""
    generator, size = np.random.default_rng([i, count]), int(np.diff(STRUCTURE.parts)[i])
    for _ in range(count):
        s = generator.normal(size=size)
        s[generator.choice(size, forbid, replace=False)] = -inf
        yield s


def best(vertices, s):
    """Score and parts of the best output; -inf and None where there is none."""
    allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
    if len(allowed) == 0:
        return -inf, None
    scores = allowed @ np.where(s == -inf, 0.0, s)
    return scores.max(), allowed[scores.argmax()]


@pytest.mark.parametrize("i", range(len(ROWS)))
@pytest.mark.parametrize("forbid", [0, 2])
def test_relaxation_is_cvxpy_s_and_above_all_outputs(i, forbid):
    vertices = outputs(ROWS[i])
    for s in draws(i, forbid=forbid):
        polytope = local_polytope(STRUCTURE.record, i, len(s))
        value, z = run(SOLVE_LP, STRUCTURE, i, s, 0.0)
        expected, _ = relaxed_maximum(polytope, s)
        assert value == pytest.approx(expected, abs=1e-6)
        if value > -inf:
            assert value >= best(vertices, s)[0] - 1e-9
            assert z[s > -inf] @ s[s > -inf] == pytest.approx(value, abs=1e-9)
            assert not z[s == -inf].any()


@pytest.mark.parametrize("i", range(len(ROWS)))
@pytest.mark.parametrize("forbid", [0, 2])
def test_integer_program_finds_the_best_output(i, forbid):
    vertices = outputs(ROWS[i])
    for s in draws(i, forbid=forbid):
        value, z = run(SOLVE_ILP, STRUCTURE, i, s, 0.0)
        expected, vertex = best(vertices, s)
        if expected == -inf:
            assert value == -inf
            assert not z.any()
        else:
            assert value == pytest.approx(expected, abs=1e-9)
            np.testing.assert_array_equal(z, vertex)


@pytest.mark.parametrize("projective_trees", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_tree_polytopes_are_integral(n, single_root, projective_trees):
    """Over a TREE factor alone the relaxation finds the best tree, as the tree algorithms do."""
    structure = structure_of([tree(n, single_root, projective_trees)])
    algorithms = projective if projective_trees else arborescence
    floats, ints = (
        np.zeros(algorithms.floats_needed(n)),
        np.zeros(algorithms.ints_needed(n), np.int32),
    )
    heads, generator = np.zeros(n, np.int32), np.random.default_rng(n)
    for _ in range(10):
        W = generator.normal(size=n * n)
        W[(generator.random(n * n) < 0.2) & (np.arange(n * n) % (n + 1) > 0)] = -inf
        expected = algorithms.best_tree(W, n, single_root, heads, floats, ints)
        value, z = run(SOLVE_LP, structure, 0, W, 0.0)
        assert value == pytest.approx(expected, abs=1e-7)
        if expected > -inf:
            np.testing.assert_allclose(z.reshape(n, n), np.eye(n)[heads], atol=1e-7)


def test_every_output_is_in_the_polytope():
    """Whatever auxiliary columns a factor needs: as the best point of scores that single it out."""
    for i, row in enumerate(ROWS):
        vertices = outputs(row)
        for vertex in vertices[:: max(1, len(vertices) // 8)]:
            value, z = run(SOLVE_LP, STRUCTURE, i, 2 * vertex - 1, 0.0)
            assert value == pytest.approx(vertex.sum(), abs=1e-9)
            np.testing.assert_allclose(z, vertex, atol=1e-9)


def test_value_is_convex_and_z_its_subgradient():
    i = 5
    a, *others = draws(i, 8)
    value, z = run(SOLVE_LP, STRUCTURE, i, a, 0.0)
    for b in others:
        assert run(SOLVE_LP, STRUCTURE, i, b, 0.0)[0] >= value + z @ (b - a) - 1e-9


def test_a_variable_without_factors_takes_its_best_state():
    row = complete([2, 2], loose=1)
    s = np.concatenate([np.zeros(4), [1.0, 3.0, 2.0], np.zeros(4)])
    for solve in (SOLVE_LP, SOLVE_ILP):
        value, z = run(solve, structure_of([row]), 0, s, 0.0)
        assert value == 3.0
        np.testing.assert_allclose(z[4:7], [0, 1, 0])


def test_a_limited_search_gives_a_bound():
    """With a wide gap, or no time at all, the value is never below the best score."""
    generator = np.random.default_rng(0)
    row = complete([2] * 10)
    structure = structure_of([row])
    s = generator.normal(size=int(structure.parts[-1]))
    exact = run(SOLVE_ILP, structure, 0, s, 0.0)[0]
    for limited in (ILP(gap=0.5), ILP(time_limit=1e-6)):
        assert Ability.EXACT not in limited.provides(LOOPY)
        value, z = run(limited.kernels(LOOPY).solve, structure, 0, s, 0.0)
        assert value >= exact - 1e-9
        assert value >= z @ s - 1e-9


def test_contradictions_have_no_output():
    structure = structure_of([mixed(np.random.default_rng(0))])
    s = np.zeros(int(structure.parts[-1]))
    s[:3] = -inf  # of which exactly one must be on
    for solve in (SOLVE_LP, SOLVE_ILP):
        value, z = run(solve, structure, 0, s, 0.0)
        assert value == -inf
        assert not z.any()


@pytest.mark.parametrize("inference", [LP(), ILP()])
def test_refusals(inference):
    with pytest.raises(
        CompatibilityError, match=r"loss.beta=1 needs marginals, but inference=i?lp only maximises"
    ):
        check(Pairwise(), inference, LossFamily(beta=1.0, gamma=0.0), DCA())
    with pytest.raises(CompatibilityError, match="cannot solve structures of kind chain"):
        check(LinearChain(), inference, LossFamily(beta=inf, gamma=1.0), DCA())
    with raises(CompatibilityError, parameter="inference"):
        inference.kernels(CHAIN)
    with raises(ConfigError, parameter="inference"):
        run(inference.kernels(LOOPY).solve, STRUCTURE, 0, next(draws(0)), 1.0)
