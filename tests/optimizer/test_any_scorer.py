"""Margin methods with scores that are not linear in the weights: the steps of linear scores, and
networks.
"""

from functools import partial

import numpy as np
import pytest

from structopt.factor_graph.linear_chain import LinearChain
from structopt.features.attribute_rows import AttributeRows
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.optimizer.mira import MIRA
from structopt.optimizer.online_cutting_plane import OnlineCuttingPlane
from structopt.testing.problems import make_problem, random_encoded, random_weights
from tests.features.test_scorers import Plain
from tests.optimizer.online import CRF, SVM, problem_of, run

LENGTHS = (2, 3, 1, 4, 2, 3, 2)


class Squared(Plain):
    """Scores that are linear in theta + theta^2."""

    def fit(self, encoded, structure, gold):
        return Squared(self.rows.fit(encoded, structure, gold))

    def scores(self, theta, prepared, instances):
        return self.rows.scores(theta + theta**2, prepared, instances)

    def pullback(self, theta, prepared, instances, residuals):
        gradient = self.rows.pullback(theta, prepared, instances, residuals)
        return gradient * (1 + 2 * theta)


def problem_with(scorer, member=SVM, C=0.5):
    encoded = random_encoded(4, lengths=LENGTHS, values=True)  # no ties
    return make_problem(encoded, LinearChain(1), LossFamily(*member), Exact(), C, scorer=scorer)


@pytest.mark.parametrize(
    ("method", "member"),
    [
        (DCA, CRF),
        (DCA, SVM),
        (partial(MIRA, average=False), SVM),
        # a second step at a visit would find two planes equally high but for rounding
        (partial(OnlineCuttingPlane, steps=1, average=True), SVM),
        (partial(OnlineCuttingPlane, steps=1, cache_mb=0.003), SVM),
    ],
)
def test_linear_scores_have_the_steps_of_sparse_features(method, member):
    """Kernels of sparse features and scores of any kind lead to the same weights."""
    sparse = problem_with(AttributeRows("all"), member)
    assert sparse.sparse
    plain = problem_with(Plain(), member)
    assert not plain.sparse
    expected, losses = run(method(), sparse, 4)
    state, ours = run(method(), plain, 4)
    np.testing.assert_allclose(ours, losses, rtol=1e-9)
    np.testing.assert_allclose(method().weights(state), method().weights(expected), atol=1e-9)


def test_several_steps_a_visit_lead_to_the_optimum_of_linear_scores():
    plain, method = problem_with(Plain()), OnlineCuttingPlane()
    sparse = problem_with(AttributeRows("all"))
    theta = method.weights(run(method, plain, 60)[0])
    state, _ = run(method, sparse, 60)
    _, report = method.step(sparse, state)
    assert report.dual <= sparse.objective(theta) <= report.dual * 1.01


@pytest.mark.parametrize(("method", "member"), [(DCA(), CRF), (MIRA(), SVM)])
def test_steps_solve_the_program_of_the_tangent(method, member):
    problem = problem_with(Squared(), member)
    state, _ = run(method, problem, 2, random_weights(problem, 1))
    assert method.verify(problem, state, range(problem.m)) < 1e-6


def test_a_pair_step_equalises_two_planes():
    """A step to the end of its mass, or to where the tangents of the two planes meet."""
    problem = problem_with(Squared(), C=0.01)
    start = 0.1 * random_weights(problem, 1)
    method = OnlineCuttingPlane(steps=1)
    state = method.init(problem, start)
    np.testing.assert_array_equal(method.weights(state), start)
    state, report = method.step(problem, state)
    assert report.dual is None
    masses = [[plane.alpha for plane in method._cache(problem, state).rows(i)] for i in range(7)]
    np.testing.assert_allclose([sum(own) for own in masses], 0.01)
    assert all(mass >= 0 for own in masses for mass in own)


@pytest.mark.parametrize("method", [MIRA(), OnlineCuttingPlane(average=True)])
def test_losses_of_nonlinear_scores_fall(method):
    problem = problem_with(Squared())
    losses = run(method, problem, 15, 0.1 * random_weights(problem, 1))[1]
    assert losses[-1] < 0.6 * losses[0]
    assert method.verify(problem, method.init(problem, np.zeros(problem.dimension)), [0]) in (
        None,
        pytest.approx(0.0, abs=1e-6),
    )


def test_options_that_need_linear_scores():
    graph, loss = LinearChain(), LossFamily(*SVM)
    assert MIRA().needs(loss, graph).features == "any"
    assert OnlineCuttingPlane().needs(loss, graph).features == "any"
    assert MIRA(k_best=2).needs(loss, graph).by == "`k_best`"
    assert DCA(inner="exact").needs(loss, graph).by == "`inner='exact'`"
    assert problem_of().sparse
