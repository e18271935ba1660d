"""Dual coordinate ascent: the contract, and every step against the problem that it solves."""

from functools import partial
from math import inf, isinf

import numpy as np
import pytest

from structopt.core.inference import InferenceKernels
from structopt.core.optimizer_state import values_of
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.kernels.learn.proximal_step import collect, drop_idle, empty_bundle
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.reference.linearised import linearised_step
from structopt.reference.proximal_step import proximal_step
from structopt.testing.problems import (
    instance_scores,
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)
from tests.covering import covering
from tests.optimizer.classes import ListedSuite
from tests.optimizer.listings import listed_instance

MEMBERS = [(1.0, 0.0), (inf, 1.0), (inf, 0.0), (1.0, 1.0), (3.0, 2.5), (0.5, 1.0)]
members = pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
# more are asked for than can always be had
to_the_last_digit = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def problem_of(
    beta=1.0,
    gamma=0.0,
    C=0.5,
    seed=0,
    order=1,
    inference=None,
    variant="max_loss",
    support="seen",
    **options,
):
    options = {"lengths": (1, 2, 3, 4, 3, 2)} | options
    encoded = random_encoded(4, **options)
    return make_problem(
        encoded,
        LinearChain(order),
        LossFamily(beta, gamma),
        inference or Exact(),
        C,
        seed,
        support,
        variant,
    )


def iterates(problem, C, passes, weights=None):
    """Alg. 1 and 2 with dense vectors: weights before each update, and after the last."""
    theta = np.zeros(problem.dimension) if weights is None else weights.copy()
    visited, losses = [], 0.0
    for epoch in range(passes):
        for i in problem.order(epoch):
            visited.append(theta.copy())
            loss, gradient = loss_and_gradient(problem, theta, i)
            losses += loss
            norm = gradient @ gradient
            if loss > 0 and norm > 0:
                theta -= min(C, loss / norm) * gradient
    return visited, theta, losses


def trained(problem, passes, weights=None, **options):
    method = DCA(**options)
    state = method.init(problem, np.zeros(problem.dimension) if weights is None else weights)
    reports = []
    for _ in range(passes):
        state, report = method.step(problem, state)
        reports.append(report)
    return method.weights(state), reports


@pytest.mark.parametrize(
    ("beta", "gamma", "average"),
    [(*member, index % 2 == 1) for index, member in enumerate(MEMBERS)],
)
class TestDualCoordinateAscent(ListedSuite):
    many, decrease = 1, 0.97  # the first pass only: later ones add without removing, and P may rise

    def test_objective_decreases(self, optimizer, problem, beta, gamma):
        if isinf(beta) and gamma == 0:
            pytest.skip("the perceptron's loss is 0 at zero weights")
        super().test_objective_decreases(optimizer, problem)

    @pytest.fixture
    def optimizer(self, average):
        return lambda: DCA(average=average)

    @pytest.fixture
    def problem(self, beta, gamma):
        return partial(problem_of, beta, gamma, 0.1)


@pytest.mark.parametrize(
    ("beta", "gamma", "C"),
    [(*member, C) for member, C in covering(MEMBERS, [0.02, 10.0], strength=1)],
)
def test_every_step_solves_the_linearised_problem(beta, gamma, C):
    problem = problem_of(beta, gamma, C)
    start = random_weights(problem, 1, 0.3)
    visited, last, _ = iterates(problem, C, 2, start)
    order = [i for epoch in range(2) for i in problem.order(epoch)]
    for i, theta, following in zip(order, visited, [*visited[1:], last], strict=True):
        loss, gradient = loss_and_gradient(problem, theta, i)
        np.testing.assert_allclose(linearised_step(theta, loss, gradient, C), following, atol=1e-6)
    np.testing.assert_allclose(trained(problem, 2, start, average=False)[0], last, atol=1e-10)


@pytest.mark.parametrize(
    ("member", "options"),
    covering(
        MEMBERS,
        [{}, {"order": 2}, {"anchored": True, "values": True}, {"support": "all"}],
        strength=1,
    ),
)
def test_average_is_the_mean_of_the_iterates_before_each_update(member, options):
    problem = problem_of(*member, 0.3, **options)
    visited, last, losses = iterates(problem, 0.3, 3)
    averaged, reports = trained(problem, 3)
    np.testing.assert_allclose(averaged, np.mean(visited, axis=0), atol=1e-9)
    np.testing.assert_allclose(trained(problem, 3, average=False)[0], last, atol=1e-9)
    assert sum(report.loss for report in reports) == pytest.approx(losses, abs=1e-8)
    assert not any(report.negative_losses for report in reports)


def entropy_of_marginals(problem, z, i):
    """Largest entropy of a distribution with these marginals, on an anchored chain of order 1."""
    n, L = int(np.diff(problem.examples.encoded.offsets)[i]), len(problem.examples.encoded.labels)
    labels, pairs = z[: n * L].reshape(n, L), z[n * L :]

    def h(x):
        x = x[x > 1e-300]
        return -float(x @ np.log(x))

    return h(labels[0]) if n == 1 else h(pairs) - h(labels[1:-1].ravel())


@pytest.mark.parametrize(("member", "C", "anchored"), covering(MEMBERS, [0.05, 5.0], [False, True]))
def test_first_pass_raises_the_dual(member, C, anchored):
    """D never falls: with H bounded from below by its share of the oracle's, and (anchored) with H
    itself.
    """
    beta, gamma = member
    problem = problem_of(beta, gamma, C, anchored=anchored)
    visited, last, _ = iterates(problem, C, 1)
    order = problem.order(0)
    entropies, exact, costs = np.zeros(problem.m), np.zeros(problem.m), np.zeros(problem.m)

    def dual(theta, entropy):
        warmth = 0.0 if isinf(beta) else 1 / beta
        return (-theta @ theta / (2 * C) + warmth * entropy.sum() + gamma * costs.sum()) / problem.m

    bound = true = 0.0
    for i, theta, following in zip(order, visited, [*visited[1:], last], strict=True):
        loss, gradient = loss_and_gradient(problem, theta, i)
        listed = outputs(problem, i)
        s = instance_scores(problem, theta, i)
        share = (
            min(C, loss / (gradient @ gradient)) / C
            if gradient @ gradient > 0 and loss > 0
            else 0.0
        )
        margins = (listed.vertices - listed.gold) @ s + gamma * listed.costs
        p = (
            np.exp(beta * (margins - margins.max()))
            if not isinf(beta)
            else (np.arange(len(margins)) == margins.argmax()) * 1.0
        )
        p /= p.sum()
        entropies[i] = share * -float(p[p > 0] @ np.log(p[p > 0]))
        costs[i] = share * (p @ listed.costs)
        point = (1 - share) * listed.gold + share * (p @ listed.vertices)
        if anchored:
            exact[i] = entropy_of_marginals(problem, point, i)
            assert exact[i] >= entropies[i] - 1e-9
        assert dual(following, entropies) >= bound - 1e-10
        assert not anchored or dual(following, exact) >= true - 1e-10
        bound, true = dual(following, entropies), dual(following, exact)
    assert bound > 0 or (isinf(beta) and gamma == 0)


def test_prediction_variant_is_mira_by_hand():
    """Footnote 7 and eq. (15), label by label."""
    C = 0.8
    problem = problem_of(inf, 1.0, C, variant="prediction", support="all")
    theta = random_weights(problem, 2, 0.5)
    start = theta.copy()
    for i in problem.order(0):
        listed = outputs(problem, i)
        best = int((listed.vertices @ (listed.features @ theta)).argmax())
        step = (listed.gold - listed.vertices[best]) @ listed.features
        loss = listed.costs[best] - step @ theta
        if step @ step > 0:
            theta = theta + min(C, max(0.0, loss) / (step @ step)) * step
    np.testing.assert_allclose(trained(problem, 1, start, average=False)[0], theta, atol=1e-10)


class Pessimist(Enumeration):
    """Listing whose values are too small for some instances, as loopy belief propagation's can
    be.
    """

    def __init__(self, victims, amount):
        self.victims, self.amount = victims, amount

    def kernels(self, kind):
        listing = Enumeration().kernels(kind)

        def solve(structure, i, s, temperature, z, memory, work):
            value = listing.solve(structure, i, s, temperature, z, memory, work)
            return value - (self.amount if i in self.victims else 0.0)

        return InferenceKernels(solve)


def test_negative_losses_are_skipped_and_counted():
    victims = {1, 4}
    problem = problem_of(1.0, 0.0, 0.5, inference=Pessimist(victims, 50.0))
    weights, reports = trained(problem, 2, average=False)
    assert [report.negative_losses for report in reports] == [2, 2]
    honest = problem_of(1.0, 0.0, 0.5)
    theta = np.zeros(honest.dimension)
    for epoch in range(2):
        for i in honest.order(epoch):
            if i not in victims:
                loss, gradient = loss_and_gradient(honest, theta, i)
                theta -= min(0.5, loss / (gradient @ gradient)) * gradient
    np.testing.assert_allclose(weights, theta, atol=1e-9)


def test_rounding_below_zero_is_not_counted():
    problem = problem_of(inf, 0.0, inference=Pessimist({0, 1, 2, 3, 4, 5}, 1e-12))
    visits = trained(problem, 1, np.zeros(problem.dimension))[1]
    assert visits[0].negative_losses == 0


def test_no_pass_returns_the_given_weights():
    problem = problem_of()
    initial = random_weights(problem, 5)
    np.testing.assert_array_equal(trained(problem, 0, initial)[0], initial)


def exact(planes=200, inner_tolerance=1e-12, **options):
    return {"inner": "exact", "planes": planes, "inner_tolerance": inner_tolerance} | options


class TestExactSteps(ListedSuite):
    many, decrease = 1, 0.97

    @pytest.fixture(params=[1.0, inf])
    def beta(self, request):
        return request.param

    @pytest.fixture
    def optimizer(self):
        return lambda: DCA(inner="exact")

    @pytest.fixture
    def problem(self, beta):
        return partial(problem_of, beta, 1.0, 0.1)


@to_the_last_digit
@pytest.mark.parametrize(
    ("beta", "gamma", "C"),
    [(*member, C) for member, C in covering(MEMBERS, [0.02, 1.0, 10.0], strength=1)],
)
def test_every_exact_step_minimises_the_loss_itself(beta, gamma, C):
    """Equation (11), visit by visit; the average and the sum of the losses with it."""
    problem = problem_of(beta, gamma, C)
    theta = start = random_weights(problem, 1, 0.3)
    visited, losses = [], 0.0
    for i in problem.order(0):
        visited.append(theta)
        losses += loss_and_gradient(problem, theta, i)[0]
        theta = proximal_step(theta, listed_instance(problem, i), C, beta, gamma)
    last, reports = trained(problem, 1, start, average=False, **exact())
    np.testing.assert_allclose(last, theta, atol=1e-5)
    assert reports[0].loss == pytest.approx(losses, abs=1e-4)
    np.testing.assert_allclose(
        trained(problem, 1, start, **exact())[0], np.mean(visited, axis=0), atol=1e-5
    )


@members
def test_one_plane_is_the_taylor_step(beta, gamma):
    """A bundle of one plane is full with the tangent at theta, and the visit ends."""
    problem = problem_of(beta, gamma)
    start = random_weights(problem, 1, 0.3)
    one, taylor = trained(problem, 2, start, **exact(planes=1))[0], trained(problem, 2, start)[0]
    np.testing.assert_allclose(one, taylor, atol=1e-10)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (inf, 1.0)])
def test_planes_without_mass_make_room(beta, gamma):
    """A small bundle, which drops idle planes, has the solution of a large one."""
    problem = problem_of(beta, gamma, 5.0, lengths=(4, 4))
    start, idle = random_weights(problem, 1, 0.5), 0
    k, data, space = problem.kernels, problem.data, problem.space
    for i in range(problem.m):
        steps = []
        for planes in (14, 200):
            bundle = empty_bundle(planes, problem.examples.most_parts, problem.dimension)
            rows, _ = collect(k, data, space, i, start, problem.C, 1e-11, bundle)
            steps.append(bundle.alpha[1:rows] @ bundle.residuals[1:rows])
            idle += (bundle.alpha[1:rows] == 0).sum()
            assert bundle.alpha[:rows].sum() == pytest.approx(problem.C)
        np.testing.assert_allclose(*steps, atol=1e-4)
    assert idle > 0


def test_dropping_rows_keeps_the_others_as_they_are():
    generator = np.random.default_rng(0)
    bundle = empty_bundle(5, 3, 1)
    features = generator.normal(size=(3, 4))
    bundle.residuals[1:] = generator.normal(size=(5, 3))
    bundle.images[:] = bundle.residuals @ features @ features.T
    bundle.gram[:] = bundle.images @ bundle.residuals.T
    bundle.heights[1:], bundle.values[1:] = generator.normal(size=(2, 5))
    bundle.alpha[:] = 0.0, 0.3, 0.0, 0.0, 0.2, 0.5
    kept = [0, 1, 4, 5]
    expected = [array[kept].copy() for array in bundle[:2]] + [
        bundle.gram[np.ix_(kept, kept)].copy()
    ]
    expected += [array[kept].copy() for array in bundle[3:6]]
    assert drop_idle(bundle, 6, 3) == 4
    shortened = [
        *(array[:4] for array in bundle[:2]),
        bundle.gram[:4, :4],
        *(array[:4] for array in bundle[3:6]),
    ]
    for before, after in zip(expected, shortened, strict=True):
        np.testing.assert_array_equal(after, before)


@to_the_last_digit
@members
def test_exact_steps_leave_less_of_their_objective(beta, gamma):
    """1/2 ||theta' - theta||^2 + C L(theta'): never more than after the taylor step, and within C
    times the tolerance.
    """
    problem, gained = problem_of(beta, gamma, 2.0), 0.0
    start = random_weights(problem, 1, 0.5)
    for i in range(problem.m):
        method = DCA(average=False, inner="exact", planes=200, inner_tolerance=1e-3)
        ends = []
        for chosen in (DCA(average=False), method):
            problem.order = lambda epoch, i=i: np.array([i])
            ends.append(chosen.step(problem, chosen.init(problem, start))[0].theta)
        ends.append(proximal_step(start, listed_instance(problem, i), 2.0, beta, gamma))
        values = [
            (end - start) @ (end - start) / 2 + 2.0 * loss_and_gradient(problem, end, i)[0]
            for end in ends
        ]
        scale = max(1.0, loss_and_gradient(problem, ends[1], i)[0])
        assert values[1] <= values[2] + 2.0 * 1e-3 * scale + 1e-9
        gained += values[0] - values[1]
    assert gained > 1e-3


@members
def test_exact_plain_python_kernels_give_the_same_weights(beta, gamma):
    compiled, listed = problem_of(beta, gamma), problem_of(beta, gamma, inference=Enumeration())
    start = random_weights(compiled, 1, 0.3)
    results = [trained(problem, 1, start, **exact())[0] for problem in (compiled, listed)]
    np.testing.assert_allclose(*results, atol=1e-5)


def test_exact_steps_skip_and_count_negative_losses():
    problem = problem_of(1.0, 0.0, 0.5, inference=Pessimist({0, 1, 2, 3, 4, 5}, 50.0))
    start = random_weights(problem, 1, 0.3)
    weights, reports = trained(problem, 1, start, average=False, **exact())
    np.testing.assert_array_equal(weights, start)
    assert reports[0].negative_losses == problem.m


@pytest.mark.parametrize(
    ("beta", "gamma", "inner"),
    [(*member, inner) for member, inner in covering(MEMBERS, ["taylor", "exact"], strength=1)],
)
def test_verify_finds_no_difference(beta, gamma, inner):
    problem = problem_of(beta, gamma, anchored=True, values=True)
    method = DCA(inner=inner)
    state = method.step(problem, method.init(problem, random_weights(problem, 1, 0.3)))[0]
    kept = {name: np.copy(value) for name, value in values_of(state).items()}
    assert method.verify(problem, state, range(problem.m)) <= 1e-7
    for name, value in values_of(state).items():
        np.testing.assert_array_equal(value, kept[name])


@pytest.mark.parametrize("inner", ["taylor", "exact"])
def test_verify_finds_a_step_that_is_too_short(inner, monkeypatch):
    problem, method = problem_of(), DCA(inner=inner)
    run = problem.run

    def shortened(driver, order, theta, *rest):
        before = theta.copy()
        run(driver, order, theta, *rest)
        theta -= 0.01 * (theta - before)

    state = method.init(problem, random_weights(problem, 1, 0.3))
    monkeypatch.setattr(problem, "run", shortened)
    assert method.verify(problem, state, range(problem.m)) > 1e-3


def test_verify_finds_planes_that_are_no_tangents(monkeypatch):
    """The reference builds its rows from the features, not from the products that the step was
    computed with.
    """
    problem, method = problem_of(inf, 1.0), DCA(inner="exact")
    state = method.init(problem, random_weights(problem, 1, 0.3))
    planes_of_visit = method._planes_of_visit

    def tilted(*arguments):
        residuals, heights = planes_of_visit(*arguments)
        return 0.9 * residuals, heights

    monkeypatch.setattr(method, "_planes_of_visit", tilted)
    assert method.verify(problem, state, range(problem.m)) > 1e-3
