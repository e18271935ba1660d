"""Layout, gold indicators and costs of single variables; the objective and its steps against
general-purpose solvers.
"""

from math import inf

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.errors import ConfigError
from structopt.factor_graph.kinds import SINGLE
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.single import Single
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.reference.linearised import linearised_step
from structopt.reference.primal import Listed, minimum
from structopt.testing.inference import finite_differences
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)

INSTANCES, LABELS, ATTRIBUTES = 12, 4, 5
MEMBERS = [(1.0, 0.0), (inf, 1.0), (inf, 0.0), (1.0, 1.0), (3.0, 2.5)]
members = pytest.mark.parametrize(("beta", "gamma"), MEMBERS)


def encoded_of(**options):
    return random_encoded(
        2,
        (1,) * INSTANCES,
        **{"labels": LABELS, "attributes": ATTRIBUTES, "values": True} | options,
    )


def problem_of(beta=1.0, gamma=0.0, C=0.5, graph=None, inference=None, **options):
    return make_problem(
        encoded_of(), graph or Single(), LossFamily(beta, gamma), inference or Exact(), C, **options
    )


@pytest.mark.parametrize("positional", [False, True])
def test_layout(positional):
    encoded, graph = encoded_of(), Single()
    structure = graph.build(encoded, positional)
    assert [(g.name, g.width, g.tied) for g in structure.groups] == [("label", LABELS, False)]
    assert structure.parts.tolist() == [LABELS * i for i in range(INSTANCES + 1)]
    assert (structure.kind, len(structure), structure.memory.any()) == (SINGLE, INSTANCES, False)
    gold, cost = graph.gold(encoded, structure), graph.cost(encoded, structure, np.arange(12.0))
    assert gold.offsets.tolist() == cost.offsets.tolist() == list(range(INSTANCES + 1))
    assert gold.parts.tolist() == cost.parts.tolist() == encoded.gold.tolist()
    assert gold.parts.dtype == np.int32
    assert (gold.values.tolist(), cost.values.tolist()) == (
        [1.0] * 12,
        [-float(w) for w in range(12)],
    )


def test_empty_corpus():
    encoded = Encoded(np.zeros(1, np.int64), {}, ("A", "B"), np.zeros(0, np.int32))
    structure = Single().build(encoded)
    assert len(structure) == 0
    assert len(Single().gold(encoded, structure).parts) == 0


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        (
            random_encoded(0, (1, 3)),
            "instance 1: .* has 3. For sequences use LinearChain",
        ),
        (Encoded(np.array([0, 1, 1]), {}, ("A", "B")), "instance 1: .* has 0."),
        (
            random_encoded(0, (1, 1), constrained=True),
            "has no hard constraints. Set valid_tags=False",
        ),
    ],
)
def test_refuses(encoded, message):
    with pytest.raises(ConfigError, match=message):
        Single().build(encoded)


@members
def test_gradient_is_that_of_the_losses(beta, gamma):
    problem = problem_of(beta, gamma)
    weights = random_weights(problem, 1)
    for i in range(INSTANCES):
        slopes = finite_differences(lambda w, i=i: loss_and_gradient(problem, w, i)[0], weights)
        np.testing.assert_allclose(loss_and_gradient(problem, weights, i)[1], slopes, atol=1e-6)


@members
def test_a_chain_of_one_position_has_the_same_objective(beta, gamma):
    one, chain = problem_of(beta, gamma), problem_of(beta, gamma, graph=LinearChain())
    weights = random_weights(one, 3)
    longer = np.concatenate([weights, np.zeros(chain.dimension - one.dimension)])
    assert one.objective(weights) == pytest.approx(chain.objective(longer), abs=1e-12)
    np.testing.assert_allclose(
        one.gradient(weights)[1], chain.gradient(longer)[1][: one.dimension], atol=1e-12
    )


@members
def test_every_step_of_dca_solves_the_linearised_problem(beta, gamma):
    C = 0.3
    problem, listed = (
        problem_of(beta, gamma, C),
        problem_of(beta, gamma, C, inference=Enumeration()),
    )
    start = random_weights(problem, 1, 0.3)
    theta = start.copy()
    for i in problem.order(0):
        loss, gradient = loss_and_gradient(problem, theta, i)
        solved = linearised_step(theta, loss, gradient, C)
        if loss > 0 and gradient.any():
            theta = theta - min(C, loss / (gradient @ gradient)) * gradient
        np.testing.assert_allclose(theta, solved, atol=1e-6)
    for made in (problem, listed):
        method = DCA(average=False)
        state, _ = method.step(made, method.init(made, start))
        np.testing.assert_allclose(method.weights(state), theta, atol=1e-10)


def optimum_of(problem, C, beta=1.0, gamma=0.0):
    instances = [outputs(problem, i) for i in range(problem.m)]
    listed = [Listed((one.vertices - one.gold) @ one.features, one.costs) for one in instances]
    return minimum(listed, C, beta, gamma)


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_the_crf_is_multinomial_logistic_regression(C):
    linear_model = pytest.importorskip("sklearn.linear_model")
    problem, encoded = problem_of(C=C), encoded_of()
    table = encoded.tables["label"]
    x = np.zeros((INSTANCES, ATTRIBUTES))
    np.add.at(x, (np.repeat(np.arange(INSTANCES), np.diff(table.offsets)), table.ids), table.values)
    peer = linear_model.LogisticRegression(
        C=C, fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(x, encoded.gold)
    assert len(peer.classes_) == LABELS
    weights = np.ascontiguousarray(peer.coef_.T).ravel()
    best = optimum_of(problem, C)
    assert problem.objective(weights) == pytest.approx(best.value, rel=1e-7)
    assert problem.objective(best.weights) == pytest.approx(best.value, rel=1e-7)
    np.testing.assert_allclose(weights, best.weights, atol=1e-4)


def test_the_svm_has_the_minimum_of_crammer_and_singer():
    svm = pytest.importorskip("sklearn.svm")
    C, encoded = 0.7, encoded_of()
    problem, table = problem_of(inf, 1.0, C), encoded.tables["label"]
    x = np.zeros((INSTANCES, ATTRIBUTES))
    np.add.at(x, (np.repeat(np.arange(INSTANCES), np.diff(table.offsets)), table.ids), table.values)
    peer = svm.LinearSVC(
        C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000
    )
    weights = np.ascontiguousarray(peer.fit(x, encoded.gold).coef_.T).ravel()
    assert problem.objective(weights) == pytest.approx(
        optimum_of(problem, C, inf, 1.0).value, rel=1e-6
    )
