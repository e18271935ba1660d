"""One factor of every kind against a listing of all configurations of a graph that holds it
alone.
"""

from math import inf

import numpy as np
import pytest

from structopt.factor_graph.kinds import LOOPY
from structopt.inference.enumeration import Enumeration
from structopt.kernels.loopy.factor_kinds import local_marginals, local_max, scratch_sizes
from structopt.kernels.loopy.factors import FACTORS, linked_parts, private_start
from tests.inference.factor_problems import (
    binary_rows,
    factor_structure,
    random_scores,
    table_rows,
    tree_rows,
)

ALONE = {
    "tree": tree_rows(4, automata=False, pairs=False),
    "several_roots": tree_rows(4, single_root=False, automata=False, pairs=False, density=0.7),
    "projective": tree_rows(4, projective=True, automata=False, pairs=False),
    "automaton": binary_rows(4, automata=[[0, 1, 2, 3]]),
    "one_modifier": binary_rows(1, automata=[[0]]),
    "pairs": binary_rows(4, pairs=[(0, 1), (2, 3)]),
    "exactly_one": binary_rows(4, ones=[[0, 1, 2, 3]]),
    "budget": binary_rows(4, budgets=[(2, [0, 1, 2, 3])]),
    "no_budget": binary_rows(3, budgets=[(0, [0, 1, 2])]),
    "large_budget": binary_rows(3, budgets=[(9, [0, 1, 2])]),
    "table": table_rows([2, 3], [(0, 1)]),
    "table_backwards": table_rows([4, 2], [(1, 0)]),
}
kinds = pytest.mark.parametrize("kind", ALONE)


def local(function, structure, s):
    """A function of `factor_kinds` on the only factor of instance 0: value, marginals of all
    parts.
    """
    f = FACTORS.open(structure.record)
    linked = f.linked[: f.links[1]]
    parts = np.concatenate([np.arange(f.starts[v], f.starts[v] + f.widths[v]) for v in linked])
    first = private_start(f, 0, 0)
    assert linked_parts(f, 0, 0) == len(parts)
    floats, ints = scratch_sizes(structure.record)
    out, private = np.full(len(parts), 7.0), np.full(len(s) - first, 7.0)
    value = function(
        f, 0, 0, s[parts], s[first:], out, private, np.full(floats, 3.0), np.full(ints, 3, np.int32)
    )
    z = np.zeros(len(s))
    z[parts], z[first:] = out, private
    return value, z


def expected(structure, s, temperature):
    z = np.zeros(len(s))
    nothing = np.zeros(0)
    value = (
        Enumeration()
        .kernels(LOOPY)
        .solve(structure.record, 0, s.copy(), temperature, z, nothing, structure.work)
    )
    return value, z


def cases(kind):
    structure = factor_structure([ALONE[kind]])
    for seed in range(5):
        for scale in (1.0, 10.0):
            yield structure, random_scores(ALONE[kind], seed, scale)
    s = random_scores(ALONE[kind])
    yield structure, 1e3 * s
    s[::3] = -inf
    yield structure, s


@kinds
def test_the_best_configuration(kind):
    for structure, s in cases(kind):
        value, z = local(local_max, structure, s)
        best, vertex = expected(structure, s, 0.0)
        assert value == pytest.approx(best, rel=1e-12)
        np.testing.assert_array_equal(z, vertex)


@kinds
def test_the_marginals(kind):
    for structure, s in cases(kind):
        value, z = local(local_marginals, structure, s)
        total, marginals = expected(structure, s, 1.0)
        assert value == pytest.approx(total, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(z, marginals, atol=1e-12)


@pytest.mark.parametrize("kind", ["tree", "projective", "exactly_one", "table", "automaton"])
@pytest.mark.parametrize("function", [local_max, local_marginals])
def test_nothing_is_allowed(kind, function):
    structure = factor_structure([ALONE[kind]])
    value, z = local(function, structure, np.full(int(structure.parts[1]), -inf))
    assert value == -inf
    assert not z.any()


def test_the_pairs_of_a_row_are_independent():
    """A variable that three pairs share counts three times in the value, whose pairs know nothing
    of one another.
    """
    structure = factor_structure([binary_rows(3, pairs=[(0, 1), (0, 2), (0, 1)])])
    f = FACTORS.open(structure.record)
    out, private, scratch, ints = np.zeros(6), np.zeros(3), np.zeros(99), np.zeros(99, np.int32)
    s, p = np.array([1.0, -2.0, 1.0, 3.0, -1.0, -1.0]), np.array([0.0, 0.0, 3.0])
    value = local_max(f, 0, 0, s, p, out, private, scratch, ints)
    assert value == 1.0 + 4.0 + 1.0
    assert out.tolist() == [1, 0, 1, 1, 1, 1]
    assert private.tolist() == [0, 1, 1]
