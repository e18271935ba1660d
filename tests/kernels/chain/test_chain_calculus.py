"""Closed forms of chain marginals against listings and finite differences."""

import numpy as np
import pytest

from structopt.factor_graph.kinds import CHAIN
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.kernels.chain import calculus
from structopt.kernels.chain.k_best import k_best
from structopt.testing.inference import best_listed, run
from structopt.testing.problems import random_encoded

LENGTHS = (1, 2, 3, 4)
GENERATOR = np.random.default_rng(5)


def chains(order):
    return LinearChain(order).build(random_encoded(0, LENGTHS), positional=True)


def interior(structure, i):
    """Marginals of a random Gibbs distribution, and its entropy."""
    s = GENERATOR.normal(size=int(np.diff(structure.parts)[i]))
    value, z = run(Enumeration().kernels(CHAIN).solve, structure, i, s, 1.0)
    return z, value - float(s @ z)


orders = pytest.mark.parametrize("order", [1, 2, 3])
instances = pytest.mark.parametrize("i", range(len(LENGTHS)))


@orders
@instances
def test_entropy_of_a_gibbs_distribution(i, order):
    structure = chains(order)
    z, entropy = interior(structure, i)
    assert calculus.entropy(structure.record, i, z) == pytest.approx(entropy, abs=1e-12)


@orders
@instances
def test_entropy_of_an_output_is_zero(i, order):
    structure = chains(order)
    for vertex in CHAIN.vertices(structure.record, i, int(np.diff(structure.parts)[i]), 1000)[::7]:
        assert calculus.entropy(structure.record, i, vertex) == 0.0


@orders
@instances
def test_slopes_are_those_of_the_entropy(i, order):
    structure = chains(order)
    z, other, step = interior(structure, i)[0], interior(structure, i)[0], 1e-4
    d, out = other - z, np.zeros(2)
    for t in (0.1, 0.5, 0.9):
        behind, middle, ahead = (
            calculus.entropy(structure.record, i, z + x * d) for x in (t - step, t, t + step)
        )
        calculus.slope(structure.record, i, z, d, t, out)
        assert out[0] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
        assert out[1] == pytest.approx((ahead - 2 * middle + behind) / step**2, rel=1e-4, abs=1e-5)


@orders
@instances
def test_conditionals_are_scores_of_the_same_marginals(i, order):
    structure = chains(order)
    z = interior(structure, i)[0]
    scores = np.zeros(len(z))
    calculus.conditionals(structure.record, i, z, scores)
    value, again = run(Enumeration().kernels(CHAIN).solve, structure, i, scores, 1.0)
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(again, z, atol=1e-12)


@pytest.mark.parametrize(
    ("order", "positional"), [(1, False), (1, True), (2, False), (2, True), (3, True)]
)
@instances
def test_long_lists_have_every_output(i, order, positional):
    structure = LinearChain(order).build(random_encoded(0, LENGTHS), positional)
    s = GENERATOR.normal(size=int(np.diff(structure.parts)[i]))
    vertices = CHAIN.vertices(structure.record, i, len(s), 1000)
    values, listed = best_listed(k_best, structure, i, s, 1000)
    best = vertices[np.argsort(-(vertices @ s))]
    np.testing.assert_allclose(values, best @ s, atol=1e-12)
    np.testing.assert_array_equal(listed, best)


@orders
def test_positional_chains_have_the_weights_of_tied_ones(order):
    from structopt.inference.exact import Exact
    from structopt.loss.family import LossFamily
    from structopt.testing.problems import make_problem, random_weights

    encoded = random_encoded(0, LENGTHS)
    tied, anchored = (
        make_problem(encoded, LinearChain(order), LossFamily(), Exact(), positional=p)
        for p in (False, True)
    )
    layouts = [
        [(g.name, g.width, g.size) for g in problem.scorer.groups] for problem in (tied, anchored)
    ]
    assert layouts[0] == layouts[1]
    weights = random_weights(tied, 1)
    assert anchored.objective(weights) == pytest.approx(tied.objective(weights), abs=1e-12)
    np.testing.assert_allclose(anchored.gradient(weights)[1], tied.gradient(weights)[1], atol=1e-12)
