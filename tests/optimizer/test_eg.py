"""Exponentiated gradient: the contract, every step against listed outputs, its two forms, its start
from SMO, the optimum.
"""

from functools import partial
from math import inf, isinf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError, StructoptError
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.optimizer.eg import EG, STARTS
from structopt.optimizer.smo import SMO
from structopt.testing.problems import (
    gold_and_cost,
    make_problem,
    outputs,
    random_encoded,
    random_weights,
)
from tests.covering import covering
from tests.optimizer.classes import DualSuite
from tests.optimizer.composed import abilities, check
from tests.optimizer.listings import minimum_of
from tests.optimizer.shipped import certified, shipped
from tests.parts import gate_cases

MEMBERS = [(1.0, 0.0), (inf, 1.0), (inf, 0.0), (1.0, 1.0), (3.0, 2.5)]
members = pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
WAYS = {
    "online": {"eta": 10.0, "initial": 0.0},
    "batch": {"online": False, "eta": 10.0, "initial": 0.0},
    "primal": {"online": False, "form": "primal", "eta": 10.0, "initial": 0.0},
    "gold": {"initial": -3.0, "eta": 10.0},
    "auto": {},
    "primal auto": {"online": False, "form": "primal"},
    "primal gold": {"online": False, "form": "primal", "eta": 10.0, "initial": -2.0},
}
HARD = {"constrained": True, "partial": True}


def problem_of(
    beta=1.0,
    gamma=0.0,
    C=0.5,
    seed=0,
    inference=None,
    support="all",
    positional=True,
    order=1,
    **options,
):
    encoded = random_encoded(4, **{"lengths": (1, 2, 3, 4, 3, 2)} | options)
    loss = LossFamily(beta, gamma)
    return make_problem(
        encoded,
        LinearChain(order),
        loss,
        inference or Exact(),
        C,
        seed,
        support,
        positional=positional,
    )


def trained(problem, passes, **options):
    """State, weights after every pass, and reports."""
    method = EG(**options)
    state, weights, reports = method.init(problem, np.zeros(problem.dimension)), [], []
    for _ in range(passes):
        state, report = method.step(problem, state)
        weights.append(method.weights(state).copy())
        reports.append(report)
    return state, weights, reports


class Listing:
    """Dual points as distributions over lists of outputs, in dense vectors."""

    def __init__(self, problem):
        self.problem, self.C, self.m = problem, problem.C, problem.m
        self.beta, self.gamma = problem.loss.beta, problem.loss.gamma
        self.lists = [outputs(problem, i) for i in range(self.m)]
        self.costs = [
            self.gamma * gold_and_cost(problem, i, len(o.gold))[1] for i, o in enumerate(self.lists)
        ]

    def start(self, initial):
        return [np.where(listed.gold > 0, 0.0, initial) for listed in self.lists]

    def distributions(self, potentials):
        for listed, x in zip(self.lists, potentials, strict=True):
            p = np.exp(listed.vertices @ x - (listed.vertices @ x).max())
            yield listed, p / p.sum()

    def theta(self, potentials):
        pairs = self.distributions(potentials)
        return self.C * sum(
            (listed.gold - p @ listed.vertices) @ listed.features for listed, p in pairs
        )

    def dual(self, potentials):
        total, theta = 0.0, self.theta(potentials)
        for listed, p in self.distributions(potentials):
            entropy = -float(p[p > 0] @ np.log(p[p > 0]))
            total += self.gamma * (p @ listed.costs) + (
                0.0 if isinf(self.beta) else entropy / self.beta
            )
        return (total - theta @ theta / (2 * self.C)) / self.m

    def moved(self, x, i, theta, eta):
        return (1 - eta * self.C / self.beta) * x + eta * self.C * (
            self.costs[i] + self.lists[i].features @ theta
        )

    def online(self, potentials, eta, etas, order):
        for i in order:
            theta, before = self.theta(potentials), self.dual(potentials)
            grown = min(1.05 * etas[i], eta)
            while True:
                trial = [
                    *potentials[:i],
                    self.moved(potentials[i], i, theta, etas[i]),
                    *potentials[i + 1 :],
                ]
                if self.dual(trial) >= before - 1e-12:
                    break
                etas[i] /= 2
                grown = etas[i]
            potentials, etas[i] = trial, grown
        return potentials

    def batch(self, potentials, etas):
        theta, before = self.theta(potentials), self.dual(potentials)
        while True:
            trial = [self.moved(x, i, theta, etas[0]) for i, x in enumerate(potentials)]
            if self.dual(trial) >= before - 1e-12:
                return trial
            etas[:] /= 2


SINGLE = {"support": "seen", "lengths": (1,) * 6}  # the plain quadratic program of Figure 3
CASES = [
    ("online", 1.0, 0.0, {}),
    ("online", inf, 1.0, HARD),
    ("batch", 1.0, 1.0, HARD),
    ("batch", inf, 1.0, SINGLE),
    ("primal", 3.0, 2.5, {}),
    ("primal", inf, 1.0, HARD),
    ("gold", 1.0, 0.0, HARD),
    ("gold", inf, 1.0, SINGLE),
    ("auto", 1.0, 1.0, SINGLE),
    ("auto", inf, 1.0, {}),
    ("online", 1.0, 1.0, {"order": 2}),
    ("auto", inf, 1.0, {"order": 3, "lengths": (1, 2, 4, 3)}),
    ("primal auto", 1.0, 0.0, {}),
    ("primal gold", inf, 1.0, HARD),
    ("primal auto", inf, 1.0, {"support": "seen"}),
]


@pytest.mark.parametrize(
    ("way", "beta", "gamma", "options"),
    gate_cases(CASES, "optima", [CASES[j] for j in (0, 3, 5, 6, 9, 11)]),
    ids=str,
)
class TestExponentiatedGradient(DualSuite):
    many, decrease = 10, 0.9

    @pytest.fixture
    def optimizer(self, way):
        return lambda: EG(**WAYS[way])

    @pytest.fixture
    def problem(self, way, beta, gamma, options):
        positional = not way.startswith("primal")
        return partial(problem_of, beta, gamma, 0.3, positional=positional, **options)

    def test_starts_from_given_weights(self, optimizer, problem):
        """No dual point belongs to given weights, so that they are refused; zeros are not."""
        method, small = optimizer(), problem(seed=0)
        with pytest.raises(
            ConfigError,
            match="optimizer=eg starts from dual variables, which weights do not determine",
        ):
            method.init(small, random_weights(small, 1))
        method.init(small, np.zeros(small.dimension))


class TestAfterSMO(DualSuite):
    """The contract with the change of method between the second pass and the third, where the suite
    interrupts the run.
    """

    many, decrease, python_passes = 10, 0.9, 3
    dual_rises = False  # at the change of method

    @pytest.fixture
    def optimizer(self):
        return lambda: EG(eta=10.0, initial="smo", smo_passes=2)

    @pytest.fixture
    def problem(self):
        return partial(problem_of, inf, 1.0, 0.1)

    def test_starts_from_given_weights(self, optimizer, problem):
        small = problem(seed=0)
        with pytest.raises(
            ConfigError,
            match=r"Leave warm_start=null, or take an optimizer that starts from weights",
        ):
            optimizer().init(small, random_weights(small, 1))


@pytest.mark.parametrize(
    ("member", "online", "initial", "rate"),
    covering(MEMBERS, [True, False], [0.0, -2.0], [(0.2, 0.1), (2.0, 20.0)]),
)
def test_steps_are_those_of_listed_outputs(member, online, initial, rate):
    """Figure 2 over lists of outputs; the longer eta is halved on the way."""
    (beta, gamma), (C, eta) = member, rate
    problem = problem_of(beta, gamma, C, support="seen", lengths=(1, 2, 3, 2))
    listing = Listing(problem)
    largest = min(eta, beta / C)
    potentials, etas = listing.start(initial), np.full(problem.m, largest)
    state, weights, reports = trained(problem, 3, eta=eta, online=online, initial=initial)
    for epoch, (theta, report) in enumerate(zip(weights, reports, strict=True)):
        order = problem.order(epoch)
        potentials = (
            listing.online(potentials, largest, etas, order)
            if online
            else listing.batch(potentials, etas)
        )
        np.testing.assert_allclose(theta, listing.theta(potentials), atol=1e-8)
        assert report.dual == pytest.approx(listing.dual(potentials), abs=1e-9)
        assert report.loss <= problem.losses(theta) + 1e-9
        assert problem.ridge(theta) + report.loss / problem.m == pytest.approx(report.dual)
    np.testing.assert_allclose(state.potentials, np.concatenate(potentials), atol=1e-8)
    np.testing.assert_allclose(state.etas if online else state.eta, etas if online else etas[0])
    if eta == 20.0 and isinf(beta):
        assert etas.min() < eta  # halved


@pytest.mark.parametrize(
    ("member", "options"),
    covering(MEMBERS, [{}, {"anchored": True, "values": True}, HARD], strength=1),
)
def test_primal_form_is_dual_form(member, options):
    """Also where parts are tied, which only the primal form can be."""
    beta, gamma = member
    problem = problem_of(beta, gamma, 2.0, support="seen", **options)
    tied = problem_of(beta, gamma, 2.0, support="seen", positional=False, **options)
    dual, primal, loose = (
        trained(problem, 8, online=False, eta=8.0, initial=0.0),
        trained(problem, 8, online=False, form="primal", eta=8.0, initial=0.0),
        trained(tied, 8, online=False, form="primal", eta=8.0, initial=0.0),
    )
    for other in (primal, loose):
        np.testing.assert_allclose(other[1], dual[1], atol=1e-8)
        np.testing.assert_allclose([r.dual for r in other[2]], [r.dual for r in dual[2]], atol=1e-9)
        assert other[0].eta == dual[0].eta


def bounds_hold(problem, weights, reports, best):
    """D <= P* <= P at every pass; D never falls. The minimum by Clarabel is accurate to about
    1e-8.
    """
    duals = [report.dual for report in reports]
    assert max(duals) <= best.value + 1e-7
    assert min(map(problem.objective, weights)) >= best.value - 1e-7
    assert np.diff(duals).min() >= -1e-11


def test_primal_form_learns_higher_orders():
    problem = problem_of(1.0, 1.0, 1.0, positional=False, order=2)
    best = minimum_of(problem)
    _, weights, reports = trained(problem, 60, **WAYS["primal"])
    bounds_hold(problem, weights, reports, best)
    assert problem.objective(weights[-1]) == pytest.approx(best.value, rel=1e-4)


@pytest.mark.parametrize(
    "options", [{}, HARD, {"lengths": (1,) * 6}, {"order": 2, **HARD}], ids=str
)
@pytest.mark.parametrize("online", [True, False])
def test_smo_hands_over_its_marginals(options, online):
    problem = problem_of(inf, 1.0, 1.0, **options)
    mixing = 0.05
    options = {"initial": "smo", "smo_passes": 3, "mixing": mixing, "online": online, "eta": 1e-9}
    state, weights, _ = trained(problem, 3, **options)
    smo = SMO()
    alone = smo.init(problem, np.zeros(problem.dimension))
    for theta in weights:
        alone, report = smo.step(problem, alone)
        np.testing.assert_array_equal(theta, smo.weights(alone))
    method = EG(**options)
    after, barely = method.step(problem, state)
    expected, total = np.zeros(problem.dimension), 0.0
    for i in range(problem.m):
        listed = outputs(problem, i)
        mu = alone.residuals[slice(*problem.structure.parts[i : i + 2])] + listed.gold
        mixed = (1 - mixing) * mu + mixing * listed.vertices.mean(axis=0)
        expected += (listed.gold - mixed) @ listed.features
        total += gold_and_cost(problem, i, len(mu))[1] @ (mixed - listed.gold)
    np.testing.assert_allclose(method.weights(after), expected, atol=1e-6)
    assert barely.dual == pytest.approx((total - expected @ expected / 2) / problem.m, abs=1e-6)


class TestUntilEGIsFaster(TestAfterSMO):
    """The contract with a change of method that depends on the progress of both."""

    @pytest.fixture
    def optimizer(self):
        return lambda: EG(initial="smo", smo_passes="auto")


@pytest.mark.parametrize("online", [True, False])
def test_changes_from_smo_when_eg_is_faster(online):
    """SMO's pass against EG's second one after the same passes of SMO; the change is for good."""
    problem, settings = problem_of(inf, 1.0, 0.1), {"initial": "smo", "online": online}
    whole, method = SMO(), EG(smo_passes="auto", **settings)
    state, smo = (one.init(problem, np.zeros(problem.dimension)) for one in (method, whole))
    changed, reached = 0, 0.0
    for epoch in range(1, 20):
        state, report = method.step(problem, state)
        smo, alone = whole.step(problem, smo)
        _, _, others = trained(problem, epoch, smo_passes=max(epoch - 1, 1), **settings)
        _, _, further = trained(problem, epoch + 1, smo_passes=max(epoch - 1, 1), **settings)
        before, reached = reached, alone.dual
        rise = further[-1].dual - others[-1].dual
        if state.dual is None:
            assert report.dual == alone.dual
            assert epoch == 1 or rise <= alone.dual - before
            continue
        assert rise > alone.dual - before
        assert report.dual == others[-1].dual
        changed = epoch
        break
    assert changed > 1
    _, _, rest = trained(problem, 30, smo_passes=changed - 1, **settings)
    _, _, own = trained(problem, 30, smo_passes="auto", **settings)
    assert [one.dual for one in own] == [one.dual for one in rest]


THEOREM = [
    {"initial": 0.0},
    {"initial": -2.0},
    {"form": "primal", "initial": 0.0},
    {"form": "primal", "initial": -2.0},
]


@pytest.mark.parametrize(
    ("way", "options", "C"),
    covering(THEOREM, [{}, HARD, SINGLE, {"anchored": True, "values": True}], [0.05, 1.0]),
)
def test_theorem_2(way, options, C):
    """eta = 0.4/(B + lambda), and m C (D* - D) <= (2.5 (B + lambda) KL + 1.5 m C (D - D_1)) / T."""
    problem = problem_of(inf, 1.0, C, **options)
    best, listing = minimum_of(problem), Listing(problem)
    state, _, reports = trained(problem, 30, eta="theorem", online=False, **way)
    start, _, _ = trained(problem, 0, eta="theorem", online=False, **way)
    norm = max(
        float((((one.vertices - one.gold) @ one.features) ** 2).sum(axis=1).max())
        for one in listing.lists
    )
    cost = max(
        float((one.vertices @ costs).max())
        for one, costs in zip(listing.lists, listing.costs, strict=True)
    )
    m, B = problem.m, 2 * (problem.m * C**2 * norm + C * cost)
    largest = 0.4 / (B + m * C**2 * norm)
    assert largest / 8 <= start.eta <= largest + 1e-12  # R is bounded by |F chi| + |F z|
    first = way["initial"]
    potentials = (
        listing.start(first)
        if way.get("form") != "primal"
        else [first * costs for costs in listing.costs]
    )
    divergence = sum(-np.log(p.min()) for _, p in listing.distributions(potentials))
    assert start.first == pytest.approx(listing.dual(potentials))
    assert start.distance == pytest.approx(2.5 * 0.4 / start.eta * divergence / (C * m))
    for passes, report in enumerate(reports, 1):
        bound = (start.distance + 1.5 * (report.dual - start.first)) / passes
        assert report.rate_bound == pytest.approx(bound)
        assert best.value - report.dual <= report.rate_bound
    assert state.eta == start.eta  # no step had to be shortened


def test_variances_bound_the_curvature():
    """m C^2 R^2 may replace the largest eigenvalue in the proof of Theorem 2 (Lemma 3)."""
    problem, rng = problem_of(inf, 1.0, 0.7), np.random.default_rng(0)
    listing, m, C = Listing(problem), problem.m, 0.7
    rows = [(one.vertices - one.gold) @ one.features for one in listing.lists]
    norm = max((row**2).sum(axis=1).max() for row in rows)
    for _ in range(20):
        total, variances = np.zeros(problem.dimension), 0.0
        for row in rows:
            p, g = rng.dirichlet(np.ones(len(row))), rng.normal(size=len(row))
            centred = g - p @ g
            total += C * (p * centred) @ row
            variances += p @ centred**2
        assert total @ total <= m * C**2 * norm * variances


def test_theorem_is_of_margins():
    with pytest.raises(CompatibilityError, match="optimizer.eta=theorem needs loss.beta=inf"):
        check(EG(eta="theorem", online=False), LossFamily(1.0, 0.0), LinearChain())


def test_primal_form_starts_at_costs():
    """Potentials in primal form are proportional to costs, whatever gamma is above 0."""
    problem = problem_of(inf, 2.0, 0.5)
    state, _, _ = trained(problem, 0, form="primal", online=False, initial=-3.0)
    listing = Listing(problem)
    potentials = [-1.5 * costs for costs in listing.costs]  # costs are times gamma
    np.testing.assert_allclose(state.theta, listing.theta(potentials), atol=1e-10)
    assert state.dual == pytest.approx(listing.dual(potentials))
    with pytest.raises(StructoptError, match="has no effect on potentials that are proportional"):
        trained(problem_of(1.0, 0.0), 0, form="primal", online=False, initial=-3.0)


@pytest.mark.parametrize(("member", "C"), covering(MEMBERS, [0.01, 1.0, 10.0], strength=1))
def test_steps_of_auto_are_safe(member, C):
    """Every step but rounding: C/2 ||F d||^2 + KL/beta <= KL(mu' || mu)/(eta C), over lists of
    outputs.
    """
    beta, gamma = member
    problem = problem_of(beta, gamma, C, support="seen", lengths=(1, 2, 3, 2))
    problem.order = lambda epoch: np.array([epoch % problem.m])  # a pass of one visit
    listing, method = Listing(problem), EG()
    state = method.init(problem, np.zeros(problem.dimension))
    for epoch in range(12):
        i, ranges = epoch % problem.m, problem.structure.parts
        before = state.potentials.copy()
        tried = float(state.etas[i])
        state, _ = method.step(problem, state)
        after, used = state.potentials, float(state.etas[i])
        eta = tried if used > tried or used == method._full(problem) else used
        (_, old), (_, new) = (
            list(listing.distributions([x[a:b] for a, b in zip(ranges, ranges[1:], strict=False)]))[
                i
            ]
            for x in (before, after)
        )
        divergence = float(new[new > 0] @ np.log(new[new > 0] / old[new > 0]))
        moved = (new - old) @ listing.lists[i].vertices @ listing.lists[i].features
        assert (
            C / 2 * moved @ moved + divergence / beta <= divergence / (eta * C) * (1 + 1e-6) + 1e-9
        )


@members
def test_auto_starts_where_the_dual_is_largest(beta, gamma):
    problem = problem_of(beta, gamma, 2.0)
    duals = {start: trained(problem, 0, initial=start)[0].dual for start in STARTS}
    assert trained(problem, 0)[0].dual == max(duals.values())


DEFAULTS = [
    *(("binary", member, C) for member in ("svm", "crf") for C in (0.01, 0.1, 1.0, 10.0)),
    *(("multiclass", member, C) for member in ("svm", "softmax_margin") for C in (0.01, 1.0, 10.0)),
    *(("ner", "svm", C) for C in (0.01, 0.1)),
    *(("ner", "crf", C) for C in (0.01, 10.0)),
    ("ner", "softmax_margin", 1.0),
]


@pytest.mark.nightly("optima")
@pytest.mark.parametrize(("task", "member", "C"), DEFAULTS)
def test_defaults_reach_the_optimum(task, member, C, tmp_path):
    """P within 5 % of a certified optimum, on chains, several classes and two; D never falls."""
    problem = shipped(task, member, C, tmp_path)
    (above, below), (_, weights, reports) = (
        certified(problem),
        trained(problem, 150 if task == "ner" else 300),
    )
    assert problem.objective(weights[-1]) <= 1.05 * below
    assert reports[-1].dual <= above
    assert np.diff([report.dual for report in reports]).min() >= -1e-11


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("options", [{}, HARD], ids=str)
def test_reaches_the_optimum_after_smo(options, online):
    problem = problem_of(inf, 1.0, 1.0, **options)
    best = minimum_of(problem)
    _, weights, reports = trained(problem, 300, initial="smo", eta=10.0, online=online)
    bounds_hold(problem, weights[:5], reports[:5], best)
    bounds_hold(problem, weights[5:15], reports[5:], best)
    assert problem.objective(weights[-1]) == pytest.approx(best.value, rel=1e-2)
    assert reports[-1].dual == pytest.approx(best.value, rel=1e-2)
    assert reports[-1].dual > reports[4].dual


def test_eta_is_no_more_than_a_full_step():
    """At eta = beta/C the factor of the old potentials is 0: the new ones are beta (s + gamma
    p).
    """
    problem = problem_of(2.0, 1.0, 0.1)
    state, _, _ = trained(problem, 1, online=False, eta=1e6, initial=-3.0)
    assert state.eta == pytest.approx(20.0)
    start, costs = trained(problem, 0, online=False, initial=-3.0)[0], Listing(problem).costs
    scores = [outputs(problem, i).features @ start.theta for i in range(problem.m)]
    np.testing.assert_allclose(
        state.potentials, 2 * (np.concatenate(scores) + np.concatenate(costs)), atol=1e-9
    )


def test_batch_stops_when_no_step_helps():
    """A dual value that no point has, in the place of one that rounding makes unreachable."""
    problem = problem_of(1.0, 0.0)
    state = trained(problem, 1, online=False)[0]
    before = state.theta.copy()
    state.dual += 1.0
    state, report = EG(online=False).step(problem, state)
    assert report.finished == "no step of the potentials raises the dual objective"
    np.testing.assert_array_equal(state.theta, before)


def test_requires_marginals_and_for_smo_a_maximum():
    assert abilities(EG()) == Ability.MARGINALS | Ability.EXACT
    assert abilities(EG(initial="smo")) == Ability.MARGINALS | Ability.EXACT | Ability.MAP


def test_asks_for_positional_parts_in_dual_form():
    loss = LossFamily()
    assert EG().needs(loss, LinearChain()).positional
    assert not EG(form="primal", online=False, initial=0.0).needs(loss, LinearChain(2)).positional
    with pytest.raises(
        CompatibilityError, match="optimizer=eg needs marginals of every position in closed form"
    ):
        check(EG(initial="smo"), LossFamily(inf, 1.0), ArcFactored())
