"""Closed forms of the marginals of hypergraphs against listings and finite differences."""

import numpy as np
import pytest

from structopt.factor_graph.hypergraph import HYPERGRAPH
from structopt.inference.enumeration import Enumeration
from structopt.kernels.hypergraph import calculus, hypergraph
from structopt.testing.inference import run
from tests.kernels.hypergraph.random_hypergraphs import SHAPES, random_structure

GENERATOR = np.random.default_rng(5)
instances = pytest.mark.parametrize("i", range(len(SHAPES)))


@pytest.fixture(scope="module")
def structure():
    return random_structure(7)


def interior(structure, i):
    """Marginals of a random Gibbs distribution, and its entropy."""
    s = GENERATOR.normal(size=int(np.diff(structure.parts)[i]))
    value, z = run(Enumeration().kernels(HYPERGRAPH).solve, structure, i, s, 1.0)
    return z, value - float(s @ z)


@instances
def test_entropy_of_a_gibbs_distribution(structure, i):
    z, entropy = interior(structure, i)
    assert calculus.entropy(structure.record, i, z) == pytest.approx(entropy, abs=1e-12)


@instances
def test_entropy_of_an_output_is_zero(structure, i):
    for vertex in HYPERGRAPH.vertices(
        structure.record, i, int(np.diff(structure.parts)[i]), 10_000
    )[::7]:
        assert calculus.entropy(structure.record, i, vertex) == 0.0


@instances
def test_slopes_are_those_of_the_entropy(structure, i):
    z, other, step = interior(structure, i)[0], interior(structure, i)[0], 1e-4
    d, out, short = other - z, np.zeros(3), np.zeros(2)
    for t in (0.1, 0.5, 0.9):
        behind, middle, ahead = (
            calculus.entropy(structure.record, i, z + x * d) for x in (t - step, t, t + step)
        )
        calculus.slope(structure.record, i, z, d, t, out)
        calculus.slope(structure.record, i, z, d, t, short)
        assert out[0] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
        assert out[1] == pytest.approx((ahead - 2 * middle + behind) / step**2, rel=1e-4, abs=1e-5)
        assert out[2] == pytest.approx(middle, abs=1e-12)
        np.testing.assert_array_equal(short, out[:2])


@instances
def test_conditionals_are_scores_of_the_same_marginals(structure, i):
    z = interior(structure, i)[0]
    scores = np.zeros(len(z))
    calculus.conditionals(structure.record, i, z, scores)
    value, again = run(hypergraph.solve, structure, i, scores, 1.0)
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(again, z, atol=1e-12)


def test_conditionals_of_an_output_have_no_other(structure):
    i = len(SHAPES) - 2
    vertex = HYPERGRAPH.vertices(structure.record, i, int(np.diff(structure.parts)[i]), 10_000)[3]
    scores = np.zeros(len(vertex))
    calculus.conditionals(structure.record, i, vertex, scores)
    value, again = run(hypergraph.solve, structure, i, scores, 1.0)
    assert value == 0.0
    np.testing.assert_array_equal(again, vertex)
