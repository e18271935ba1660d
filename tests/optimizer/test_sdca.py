"""Stochastic dual coordinate ascent: the contract, its three variants step by step, and the
certificate.
"""

from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.errors import ConfigError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.chain import calculus
from structopt.kernels.learn import block_frank_wolfe, sdca
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.optimizer.sdca import SDCA
from structopt.testing.problems import (
    gold_and_cost,
    instance_scores,
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)
from tests.covering import covering
from tests.optimizer.classes import DualSuite
from tests.optimizer.composed import abilities
from tests.optimizer.listings import minimum_of

LENGTHS = (1, 2, 3, 4, 3, 2)
CLOSED, HYPOGRAPH, MARGIN, PLANES = "closed", "hypograph", "margin", "planes"
MEMBERS = {
    CLOSED: [(1.0, 0.0), (3.0, 2.5), (0.5, 1.0)],
    HYPOGRAPH: [(1.0, 0.0), (3.0, 2.5)],
    MARGIN: [(inf, 1.0)],
    PLANES: [(inf, 2.0)],
}
CASES = [(variant, *member) for variant, members in MEMBERS.items() for member in members]
cases = pytest.mark.parametrize(("variant", "beta", "gamma"), CASES)


def problem_of(
    variant, beta=1.0, gamma=0.0, C=0.5, seed=0, order=1, inference=None, support="seen", **options
):
    encoded = random_encoded(4, **({"lengths": LENGTHS} | options))
    loss = LossFamily(beta, gamma)
    return make_problem(
        encoded,
        LinearChain(order),
        loss,
        inference or Exact(),
        C,
        seed,
        support,
        positional=variant == CLOSED,
    )


def method_of(variant, **options):
    entropy, planes = (
        ("hypograph" if variant == HYPOGRAPH else "closed"),
        (10 if variant == PLANES else 0),
    )
    return SDCA(**{"entropy": entropy, "planes": planes} | options)


def start(method, problem):
    return method.init(problem, np.zeros(problem.dimension))


def trained(method, problem, passes):
    state, reports = start(method, problem), []
    for _ in range(passes):
        state, report = method.step(problem, state)
        reports.append(report)
    return state, reports


def blocks(problem, state):
    """For every instance z_bar, gold, cost and features as dense arrays."""
    parts = problem.structure.parts
    for i in range(problem.m):
        z = state.duals[parts[i] : parts[i + 1]]
        yield i, z, *gold_and_cost(problem, i, len(z)), outputs(problem, i).features


WAYS = {"last": {}, "average": {"average": True}, "gap": {"sampling": "gap"}}


@pytest.mark.parametrize(
    ("variant", "beta", "gamma", "way"),
    [(*case, list(WAYS)[index % 3]) for index, case in enumerate([*CASES, CASES[-2]])],
)
class TestStochasticDualCoordinateAscent(DualSuite):
    many = 30

    @pytest.fixture
    def optimizer(self, variant, way):
        return lambda: method_of(variant, **WAYS[way])

    @pytest.fixture
    def problem(self, variant, beta, gamma):
        return partial(problem_of, variant, beta, gamma, 1.0)

    def test_starts_from_given_weights(self, optimizer, problem):
        """It starts from zero weights, those of the gold outputs as dual point, and refuses
        others.
        """
        small = problem(seed=0)
        assert not optimizer().weights(start(optimizer(), small)).any()
        with pytest.raises(
            ConfigError,
            match=r"optimizer=sdca starts from a dual point.*lbfgs, sgd, adagrad or dca",
        ):
            optimizer().init(small, random_weights(small, 1))


CORPORA = [
    {"constrained": True},
    {"partial": True},
    {"anchored": True, "values": True},
    {"order": 2},
]


@pytest.mark.parametrize(
    ("variant", "beta", "gamma", "options"),
    [(*case, CORPORA[index % 4]) for index, case in enumerate([*CASES, *CASES[-2:]])],
)
def test_other_problems(variant, beta, gamma, options):
    """Scores of -inf, features on transitions, longer histories."""
    problem = problem_of(variant, beta, gamma, 0.2, **options)
    best = minimum_of(problem).value
    method = method_of(variant)
    state, reports = trained(method, problem, 400)
    assert reports[-1].dual <= best * (1 + 1e-7)
    assert (
        problem.objective(method.weights(state)) - reports[-1].dual
        <= (2e-3 if variant == MARGIN else 1e-4) * best
    )


@pytest.mark.parametrize(
    ("case", "sampling", "average"), covering(CASES, ["uniform", "gap"], [False, True])
)
def test_dual_is_that_of_its_point(case, sampling, average):
    """theta = C sum F (z - z_bar), and D and the gaps as their definitions say, at a point of the
    polytope.
    """
    variant, beta, gamma = case
    problem, C = problem_of(variant, beta, gamma, 0.5), 0.5
    method = method_of(variant, sampling=sampling, average=average)
    state, reports = trained(method, problem, 6)
    theta, total = np.zeros(problem.dimension), 0.0
    for i, z, gold, cost, features in blocks(problem, state):
        theta += C * features.T @ (gold - z)
        charge = gamma * cost @ (z - gold)
        assert state.instances[2, i] == pytest.approx(charge, abs=1e-10)
        if variant == CLOSED:
            height = calculus.entropy(problem.data.structure, i, z) / beta
            assert state.instances[1, i] == pytest.approx(height, abs=1e-10)
        total += state.instances[1, i] + charge
        listed = outputs(problem, i)
        assert np.linalg.norm(listed.vertices.T @ in_polytope(listed.vertices, z) - z) < 1e-6
    np.testing.assert_allclose(state.theta, theta, atol=1e-9)
    dual = total / problem.m - problem.ridge(theta)
    assert (
        reports[-1].dual >= dual - 1e-12
        if average
        else reports[-1].dual == pytest.approx(dual, abs=1e-12)
    )
    assert reports[-1].loss >= 0


def in_polytope(vertices, z):
    """Weights of a mixture of the vertices nearest to z."""
    from scipy.optimize import nnls

    return nnls(np.vstack([vertices.T, 100 * np.ones(len(vertices))]), np.append(z, 100.0))[0]


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (3.0, 2.5), (inf, 1.0)])
@pytest.mark.parametrize("C", [0.02, 10.0])
def test_first_pass_of_the_hypograph_is_that_of_dca(beta, gamma, C):
    problem = problem_of(HYPOGRAPH, beta, gamma, C)
    state, _ = trained(method_of(HYPOGRAPH), problem, 1)
    other, dca = problem_of(HYPOGRAPH, beta, gamma, C), DCA(average=False)
    expected, report = dca.step(other, dca.init(other, np.zeros(other.dimension)))
    np.testing.assert_allclose(state.theta, expected.theta, atol=1e-9)
    assert report.loss == pytest.approx(
        trained(method_of(HYPOGRAPH), problem, 1)[1][0].loss, abs=1e-9
    )


def textbook(problem, gamma, C, passes):
    """Algorithm 4 of Lacoste-Julien et al. (2013) with dense w_i, and the weighted average of
    section 5 of its appendix.

    Yields (w, average, l, average of l) after each pass, l = sum_i l_i / m in units of the cost.
    """
    m, lam = problem.m, problem.regularization
    w, parts_w, parts_l, step = (
        np.zeros(problem.dimension),
        np.zeros((m, problem.dimension)),
        np.zeros(m),
        0,
    )
    mean, mean_l = np.zeros(problem.dimension), 0.0
    for epoch in range(passes):
        for i in problem.order(epoch):
            listed = outputs(problem, i)
            differences = (listed.gold - listed.vertices) @ listed.features
            best = int((gamma * listed.costs - differences @ w).argmax())
            w_s, l_s = differences[best] / (lam * m), gamma * listed.costs[best] / m
            above = lam * (parts_w[i] - w_s) @ w - parts_l[i] + l_s
            below = lam * (parts_w[i] - w_s) @ (parts_w[i] - w_s)
            share = min(1.0, max(0.0, above / below)) if below > 0 else 1.0
            after = (1 - share) * parts_w[i] + share * w_s
            parts_l[i] = (1 - share) * parts_l[i] + share * l_s
            w, parts_w[i] = w + after - parts_w[i], after
            mean = step / (step + 2) * mean + 2 / (step + 2) * w
            mean_l = step / (step + 2) * mean_l + 2 / (step + 2) * parts_l.sum()
            step += 1
        yield w.copy(), mean.copy(), parts_l.sum(), mean_l


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_without_planes_it_is_block_coordinate_frank_wolfe(C):
    problem, method = problem_of(MARGIN, inf, 1.3, C), method_of(MARGIN, average=True)
    state = start(method, problem)
    for w, mean, level, mean_level in textbook(problem, 1.3, C, 5):
        state, report = method.step(problem, state)
        np.testing.assert_allclose(state.theta, w, atol=1e-10)
        np.testing.assert_allclose(method.weights(state), mean, atol=1e-10)
        duals = level - problem.ridge(w), mean_level - problem.ridge(mean)
        assert report.dual == pytest.approx(max(duals), abs=1e-12)


@cases
def test_average_weighs_every_iterate_by_its_number(variant, beta, gamma):
    """Visits one at a time, each a pass of one instance."""
    problem = problem_of(variant, beta, gamma)
    method = method_of(variant, average=True)
    state, iterates, levels = start(method, problem), [], []
    whole, reports = trained(method, problem, 2)
    for epoch in range(2):
        for i in problem.order(epoch):
            one_visit(method, problem, state, i)
            iterates.append(state.theta.copy())
            levels.append(state.instances[1:].sum() / problem.m)
    weights = np.arange(1.0, len(iterates) + 1)
    np.testing.assert_allclose(
        method.weights(whole), np.average(iterates, axis=0, weights=weights), atol=1e-10
    )
    np.testing.assert_allclose(whole.theta, iterates[-1], atol=1e-12)
    averaged = np.average(levels, weights=weights) - problem.ridge(method.weights(whole))
    assert reports[-1].dual == pytest.approx(
        max(averaged, levels[-1] - problem.ridge(iterates[-1])), abs=1e-12
    )


def one_visit(method, problem, state, i):
    """Visit one instance; return the totals."""
    order, none, totals = np.array([i]), np.zeros(0), np.zeros(5)
    point = (state.theta, state.lag, state.duals, *state.instances)
    if problem.calculus is not None:
        problem.run(sdca.sdca_pass, order, none, none, *point, problem.C, state.visits, totals)
    else:
        kept = (
            getattr(state, f"kept_{name}")
            for name in ("parts", "values", "counts", "masses", "rooms")
        )
        problem.run(
            block_frank_wolfe.block_frank_wolfe_pass,
            order,
            none,
            none,
            *point,
            *kept,
            problem.C,
            state.visits,
            totals,
        )
    state.visits += 1.0
    return totals


@cases
def test_every_visit_raises_the_dual_and_knows_its_gap(variant, beta, gamma):
    problem = problem_of(variant, beta, gamma, 3.0)
    method, parts = method_of(variant), problem.structure.parts
    state, last = start(method, problem), 0.0
    for epoch in range(8):
        for i in problem.order(epoch):
            z = state.duals[parts[i] : parts[i + 1]]
            gold, cost = gold_and_cost(problem, i, len(z))
            s = instance_scores(problem, state.theta, i)
            here = s @ (z - gold) + state.instances[1, i] + gamma * cost @ (z - gold)
            gap = loss_and_gradient(problem, state.theta, i)[0] - here
            one_visit(method, problem, state, i)
            assert state.instances[0, i] == pytest.approx(max(gap, 0.0), abs=1e-9)
            dual = state.instances[1:].sum() / problem.m - problem.ridge(state.theta)
            assert dual >= last - 1e-12
            if gap > 1e-6:
                assert dual > last
            last = dual


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_kept_vertices_make_up_the_dual_point(C):
    """With slots for every output none is dropped: z_bar is the mixture of the kept vertices by
    their masses.
    """
    problem = problem_of(PLANES, inf, 1.0, C)
    method = method_of(PLANES, planes=90)
    state, _ = trained(method, problem, 20)
    counts, rooms = state.kept_counts.reshape(problem.m, 90), state.kept_rooms
    masses = state.kept_masses.reshape(problem.m, 90)
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, atol=1e-12)
    for i, z, *_ in blocks(problem, state):
        mixture, listed, room = (
            np.zeros(len(z)),
            outputs(problem, i).vertices,
            (rooms[i + 1] - rooms[i]) // 90,
        )
        seen = set()
        for j in range(90):
            span = slice(rooms[i] + j * room, rooms[i] + j * room + counts[i, j])
            vertex = np.zeros(len(z))
            vertex[state.kept_parts[span]] = state.kept_values[span]
            if counts[i, j]:
                assert (listed == vertex).all(axis=1).any()
                assert tuple(vertex) not in seen
                seen.add(tuple(vertex))
            mixture += masses[i, j] * vertex
        np.testing.assert_allclose(mixture, z, atol=1e-12)


@pytest.mark.parametrize("planes", [1, 2, 3])
def test_few_planes_are_enough_for_a_dual_point(planes):
    problem = problem_of(PLANES, inf, 1.0, 2.0)
    state, _ = trained(method_of(PLANES, planes=planes), problem, 30)
    masses = state.kept_masses.reshape(problem.m, planes)
    assert (masses >= 0).all()
    assert (masses.sum(axis=1) <= 1 + 1e-12).all()
    for i, z, *_ in blocks(problem, state):
        vertices = outputs(problem, i).vertices
        assert np.linalg.norm(vertices.T @ in_polytope(vertices, z) - z) < 1e-6


def test_planes_climb_faster():
    problem = problem_of(MARGIN, inf, 1.0, 0.5)
    best = minimum_of(problem).value
    plain, kept = (trained(method_of(MARGIN, planes=K), problem, 60)[1][-1].dual for K in (0, 10))
    assert best - kept < 0.1 * (best - plain)


@pytest.mark.parametrize("variant", [CLOSED, HYPOGRAPH])
def test_temperature_can_be_traded_for_scale(variant):
    """Footnote 10: (lambda, beta, gamma) and (lambda/a, beta/a, a gamma) have the solutions theta
    and a theta.
    """
    a, C = 2.5, 0.2
    one, two = problem_of(variant, 2.0, 0.6, C), problem_of(variant, 2.0 / a, 0.6 * a, C * a)
    theta, scaled = (trained(method_of(variant), p, 300)[0].theta for p in (one, two))
    np.testing.assert_allclose(scaled, a * theta, atol=1e-4)
    np.testing.assert_allclose(
        *(trained(method_of(variant), p, 1)[0].theta * (a if p is one else 1) for p in (one, two)),
        atol=1e-9,
    )


@cases
def test_long_sentences(variant, beta, gamma):
    """Hundreds of positions, scores of -inf, weights that grow large at this C: still a dual point,
    and D below P.
    """
    problem = problem_of(
        variant, beta, gamma, 100.0, lengths=(150, 300, 1, 40), partial=True, attributes=40
    )
    method, last = method_of(variant), 0.0
    state = start(method, problem)
    for _ in range(30):
        state, report = method.step(problem, state)
        assert last - 1e-9 <= report.dual <= problem.objective(method.weights(state))
        last = report.dual
    assert last > 0
    assert np.isfinite(state.duals).all()


def test_gaps_are_drawn_from():
    """After the first pass instances with large gaps are visited more often, in an order that seed
    and pass determine.
    """
    problem = problem_of(CLOSED, 1.0, 0.0, lengths=(1,) * 50 + (8,) * 4)
    method = method_of(CLOSED, sampling="gap")
    state, _ = trained(method, problem, 1)
    order, uniforms, tree = method._draws(problem, state)
    again = method._draws(problem, state)
    np.testing.assert_array_equal(order, again[0])
    np.testing.assert_array_equal(uniforms, again[1])
    assert 0.6 < (order < 0).mean() < 0.95
    assert tree[1] == pytest.approx(state.instances[0].sum())
    state.epoch += 1
    assert (method._draws(problem, state)[1] != uniforms).any()
    state.epoch = 0
    np.testing.assert_array_equal(method._draws(problem, state)[0], problem.order(0))


def test_a_first_visit_of_everything_at_the_optimum_changes_nothing():
    """At gamma = 0 and beta = inf zero weights are optimal, and the gold outputs their dual
    point.
    """
    problem = problem_of(MARGIN, inf, 0.0, labels=1)
    state, reports = trained(method_of(PLANES), problem, 2)
    assert not state.theta.any()
    assert reports[-1].dual == 0.0


def test_needs_convex_losses_and_parts_of_its_own_only_for_closed_entropies():
    assert abilities(SDCA()) == Ability.CONVEX
    chain, longer, crf, svm = LinearChain(), LinearChain(2), LossFamily(), LossFamily(inf, 1.0)
    closed, hypograph = (
        SDCA(),
        SDCA(entropy="hypograph"),
    )
    assert closed.needs(crf, chain).positional
    assert closed.needs(crf, longer).positional
    assert not closed.needs(svm, chain).positional
    assert not hypograph.needs(crf, chain).positional
