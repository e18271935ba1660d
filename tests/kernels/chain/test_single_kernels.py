"""Inference on single variables keeps the contract; closed forms against listings and finite
differences.
"""

from math import inf, log

import numpy as np
import pytest

from structopt.factor_graph.kinds import SINGLE
from structopt.factor_graph.single import Single
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.kernels.chain import single_variable
from structopt.kernels.chain.single_variable_k_best import k_best
from structopt.testing.inference import InferenceSuite, best_listed, run
from structopt.testing.problems import random_encoded

LABELS = (1, 2, 7)
GENERATOR = np.random.default_rng(5)


def structure_of(labels, instances=3):
    return Single().build(random_encoded(1, (1,) * instances, labels=labels))


class Singles(InferenceSuite):
    @pytest.fixture(params=LABELS)
    def structure(self, request):
        return structure_of(request.param)


class TestExact(Singles):
    @pytest.fixture
    def inference(self):
        return Exact()


class TestEnumeration(Singles):
    @pytest.fixture
    def inference(self):
        return Enumeration()

    @pytest.fixture
    def reference(self, structure):
        return Exact().kernels(structure.kind)


def solved(scores, temperature):
    return run(
        Exact().kernels(SINGLE).solve,
        structure_of(len(scores)),
        0,
        np.array(scores, float),
        temperature,
    )


@pytest.mark.parametrize("temperature", [0.0, 0.1, 1.0, 10.0])
def test_forbidden_labels_have_no_mass(temperature):
    value, z = solved([-inf, 2.0, -inf], temperature)
    assert (value, z.tolist()) == (2.0, [0.0, 1.0, 0.0])
    value, z = solved([-inf, -inf], temperature)
    assert (value, z.tolist()) == (-inf, [0.0, 0.0])


@pytest.mark.parametrize("level", [-1e4, 0.0, 1e4])
def test_log_sum_exp_at_any_level(level):
    value, z = solved([level, level + log(3.0)], 1.0)
    assert value == pytest.approx(level + log(4.0), abs=1e-11)
    np.testing.assert_allclose(z, [0.25, 0.75], rtol=1e-11)


def test_the_first_of_equal_labels_wins():
    assert solved([1.0, 2.0, 2.0], 0.0)[1].tolist() == [0.0, 1.0, 0.0]


def test_k_best_is_sorted_and_leaves_out_what_is_forbidden():
    structure = structure_of(5)
    values, outputs = best_listed(k_best, structure, 0, np.array([1.0, -inf, 3.0, 1.0, -2.0]), 5)
    assert values.tolist() == [3.0, 1.0, 1.0, -2.0]
    np.testing.assert_array_equal(outputs, np.eye(5)[[2, 0, 3, 4]])
    np.testing.assert_array_equal(
        best_listed(k_best, structure, 0, np.arange(5.0), 2)[1], np.eye(5)[[4, 3]]
    )


def interior(labels):
    """Marginals of a random Gibbs distribution, and its entropy."""
    s = GENERATOR.normal(size=labels)
    value, z = run(Enumeration().kernels(SINGLE).solve, structure_of(labels), 0, s, 1.0)
    return z, value - float(s @ z)


@pytest.mark.parametrize("labels", LABELS)
def test_entropy(labels):
    record = structure_of(labels).record
    z, expected = interior(labels)
    assert single_variable.entropy(record, 0, z) == pytest.approx(expected, abs=1e-12)
    assert single_variable.entropy(record, 0, np.full(labels, 1 / labels)) == pytest.approx(
        log(labels), abs=1e-12
    )
    assert single_variable.entropy(record, 0, np.eye(labels)[0]) == 0.0


@pytest.mark.parametrize("labels", LABELS[1:])
def test_slopes_are_those_of_the_entropy(labels):
    record, step, out = structure_of(labels).record, 1e-4, np.zeros(3)
    z, other = interior(labels)[0], interior(labels)[0]
    d = other - z
    for t in (0.1, 0.5, 0.9):
        behind, middle, ahead = (
            single_variable.entropy(record, 0, z + x * d) for x in (t - step, t, t + step)
        )
        single_variable.slope(record, 0, z, d, t, out)
        assert out[0] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
        assert out[1] == pytest.approx((ahead - 2 * middle + behind) / step**2, rel=1e-4, abs=1e-5)
        assert out[2] == pytest.approx(middle, abs=1e-12)


@pytest.mark.parametrize("labels", LABELS)
def test_conditionals_are_scores_of_the_same_marginals(labels):
    z, scores = interior(labels)[0], np.zeros(labels)
    single_variable.conditionals(structure_of(labels).record, 0, z, scores)
    value, again = solved(scores, 1.0)
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(again, z, atol=1e-12)
    single_variable.conditionals(structure_of(labels).record, 0, np.eye(labels)[0], scores)
    assert scores.tolist() == [0.0] + [-inf] * (labels - 1)
