"""DLPW: the contract, messages that are kept and stored, and the optimum of the relaxed loss, as
cutting planes find it.
"""

import json
from functools import cache
from math import inf

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config.compatibility import check
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.core.ability import Ability
from structopt.core.needs import Goal
from structopt.errors import CompatibilityError
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.ad3 import AD3
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.inference.trw_bp import TRWBP
from structopt.loss.cost.hamming_normalized import HammingNormalized
from structopt.loss.family import LossFamily
from structopt.objective.compatibility import Reason, first_misfit
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dlpw import DLPW
from structopt.optimizer.pegasos import Pegasos
from structopt.run.components import make_components
from structopt.run.reading import read
from structopt.testing.optimizer import OptimizerSuite
from structopt.testing.problems import (
    instance_scores,
    make_problem,
    random_graphs,
    random_weights,
    residual,
)

KEPT = {"passes": 3, "tolerance": 0.0, "warm_start": True}


def problem_of(inference=None, C=1.0, seed=0, labels=2, sizes=(4, 5, 3, 4, 5, 3), edges="complete"):
    """As a session composes it: the P that is reported is that of the converged inference."""
    encoded = random_graphs(1, sizes, labels, edges, values=True)
    return make_problem(
        encoded,
        Pairwise(),
        LossFamily(inf, 1.0, HammingNormalized()),
        inference or MPLP(**KEPT),
        C,
        seed,
    )


def run(method, problem, passes):
    state = method.init(problem, np.zeros(problem.dimension))
    losses = []
    for _ in range(passes):
        state, report = method.step(problem, state)
        losses.append(report.loss)
    return state, losses


@cache
def optimum(C, labels):
    """The least P, but for a share of 1e-4, by cutting planes through solutions of linear
    programs.
    """
    problem, method = problem_of(LP(), C, labels=labels), CuttingPlane()
    state = method.init(problem, np.zeros(problem.dimension))
    for _ in range(100):
        state, report = method.step(problem, state)
        if report.primal - report.dual <= 1e-4 * report.primal:
            return report.primal
    raise AssertionError("cutting planes have not converged")


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("options", [{}, {"average": False, "delay": 0.0}, {"batch_size": 4}])
class TestDLPW(OptimizerSuite):
    many = 40

    @pytest.fixture
    def optimizer(self, options):
        return lambda: DLPW(**options)

    @pytest.fixture
    def problem(self, labels):
        return lambda seed: problem_of(C=0.3, seed=seed, labels=labels)


@pytest.mark.nightly("optima")
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("options", [{"average": False, "delay": 0.0}, {}])
def test_reaches_the_least_objective_of_the_relaxation(labels, options):
    """The P that is reported is that of linear programs."""
    for C in (0.1, 0.3):
        problem, method = problem_of(C=C, labels=labels), DLPW(**options)
        exact, excesses = problem_of(LP(), C, labels=labels), []
        for passes in (10, 1000):
            weights = method.weights(run(method, problem, passes)[0])
            excesses.append(exact.objective(weights) / optimum(C, labels) - 1)
            assert problem.objective(weights) == pytest.approx(exact.objective(weights), rel=1e-5)
        assert -1e-4 < excesses[1] < excesses[0]
        assert excesses[1] < 5e-3


def test_steps_are_those_of_pegasos_on_the_bound_at_kept_messages():
    problem, method = problem_of(C=10.0), DLPW(average=False, delay=0.0)
    state, losses = run(method, problem, 4)
    kept, messages, memory = (
        problem.messages.copy(),
        np.zeros(len(problem.messages)),
        problem.structure.memory,
    )
    theta, radius, t, met = np.zeros(problem.dimension), state.radius, 0, []
    for epoch in range(4):
        met.append(0.0)
        for i in problem.order(epoch):
            problem.data.messages[:] = messages
            loss, r = residual(problem, instance_scores(problem, theta, i), i)
            messages[memory[i] : memory[i + 1]] = problem.data.messages[memory[i] : memory[i + 1]]
            problem.kernels.pullback(problem.data.features, i, r, problem.space.gradient)
            gradient, t = np.zeros(problem.dimension), t + 1
            problem.kernels.add(problem.data.features, gradient, problem.space.gradient, 1.0)
            theta = (1 - 1 / t) * theta - gradient / (problem.regularization * t)
            theta *= min(1.0, radius / max(np.linalg.norm(theta), 1e-300))
            met[-1] += loss
    np.testing.assert_allclose(state.theta, theta, atol=1e-9)
    np.testing.assert_allclose(kept, messages, atol=1e-9)
    np.testing.assert_allclose(losses, met, rtol=1e-9)


def test_the_losses_met_are_never_below_those_of_the_relaxation():
    """At the messages after the last visits, although the weights have changed since."""
    problem, exact = problem_of(), problem_of(LP())
    run(DLPW(), problem, 3)
    kept = problem.messages.copy()
    for seed in range(3):
        weights = random_weights(problem, seed)
        for i in range(problem.m):
            problem.messages[:] = kept
            bound, _ = residual(problem, instance_scores(problem, weights, i), i)
            assert bound >= residual(exact, instance_scores(exact, weights, i), i)[0] - 1e-9


@pytest.mark.nightly("optima")
def test_kept_messages_do_better_than_new_ones():
    """With one pass over the variables a visit."""
    objectives = {}
    for method, kept in ((DLPW(average=True), True), (Pegasos(average=True), False)):
        problem = problem_of(MPLP(passes=1, tolerance=0.0, warm_start=kept), C=3.0, labels=3)
        objectives[kept] = problem.objective(method.weights(run(method, problem, 1000)[0]))
    assert objectives[True] < 0.9 * objectives[False]


def test_the_objective_does_not_depend_on_the_messages_nor_touch_them():
    problem = problem_of(MPLP(passes=0, warm_start=True))
    weights = random_weights(problem)
    problem.data.messages[:] = before = np.random.default_rng(0).normal(
        size=len(problem.data.messages)
    )
    objective, (losses, gradient) = problem.objective(weights), problem.gradient(weights)
    np.testing.assert_array_equal(problem.data.messages, before)
    exact = problem_of(LP())
    assert objective == pytest.approx(exact.objective(weights), rel=1e-5)
    assert losses == pytest.approx(exact.gradient(weights)[0], rel=1e-5)
    assert gradient.any()


@pytest.mark.parametrize("labels", [2, 3])
def test_the_certificate_brackets_the_least_objective_of_the_relaxation(labels):
    """D <= min P <= P in each epoch; P is that of cuts or linear programs."""
    problem, method = problem_of(C=0.3, labels=labels), DLPW()
    goal, least = Goal(certificate=True, tolerance=1e-3), optimum(0.3, labels)
    assert first_misfit(Pairwise(), problem.inference, problem.loss, method, goal=goal) is None
    state = method.init(problem, np.zeros(problem.dimension))
    for _ in range(10):
        state, _ = method.step(problem, state)
        primal, dual = problem.certificate(method.weights(state))
        assert dual <= least * (1 + 1e-6)
        assert dual > 0
        assert primal >= least * (1 - 1e-4)


def test_bounds_that_have_not_converged_give_no_certificate():
    kept = AD3(passes=10, warm_start=True)
    misfit = first_misfit(
        Pairwise(), kept, LossFamily(inf, 1.0), DLPW(), goal=Goal(certificate=True)
    )
    assert (misfit.reason, misfit.ability) == (Reason.ABILITY, Ability.CONVEX)


def test_more_than_two_states_are_reported_by_the_linear_program():
    problem, exact = problem_of(labels=3), problem_of(LP(), labels=3)
    for seed in range(3):
        weights = random_weights(problem, seed, 3.0)
        assert problem.objective(weights) == pytest.approx(exact.objective(weights), rel=1e-9)


def test_other_inferences_that_keep_messages_will_do():
    for inference in (TRWBP(passes=3, warm_start=True), AD3(passes=10, warm_start=True)):
        check(Pairwise(), inference, LossFamily(inf, 1.0), DLPW())
        problem = problem_of(inference, C=0.3)
        state, _ = run(DLPW(), problem, 100)
        assert problem.messages.any()
        assert problem_of(LP(), C=0.3).objective(state.theta) < 1.05 * optimum(0.3, 2)


def test_pegasos_learns_by_linear_programs():
    problem, method = problem_of(LP(), C=0.3), Pegasos()
    state, _ = run(method, problem, 60)
    assert -1e-4 < problem.objective(state.theta) / optimum(0.3, 2) - 1 < 0.05


KEPT_WORDS = "inference=mplp inference.passes=10 inference.warm_start=true"


def test_refuses_inferences_without_messages():
    with pytest.raises(CompatibilityError) as caught:
        check(Pairwise(), LP(), LossFamily(inf, 1.0), DLPW())
    assert str(caught.value) == (
        "optimizer=dlpw goes on with the messages of the last visit, and inference=lp has none. "
        f"Use {KEPT_WORDS}, or "
        "optimizer=pegasos, which learns by inference=lp."
    )
    with pytest.raises(CompatibilityError) as caught:
        check(Pairwise(), MPLP(), LossFamily(inf, 1.0), DLPW())
    assert str(caught.value) == (
        "optimizer=dlpw goes on with the messages of the last visit, which inference=mplp does "
        "not keep as it is. Set "
        "inference.warm_start=true and few inference.passes, such as 10."
    )
    check(Pairwise(), MPLP(warm_start=True), LossFamily(inf, 1.0), DLPW())


def test_refuses_what_is_no_bound_and_what_is_no_margin():
    with pytest.raises(
        CompatibilityError, match="optimizer=dlpw needs an upper bound, but inference=loopy_bp"
    ):
        check(Pairwise(), LoopyBP(), LossFamily(inf, 1.0), DLPW())
    with pytest.raises(CompatibilityError, match=r"optimizer=dlpw needs loss.beta=inf"):
        check(Pairwise(), TRWBP(warm_start=True), LossFamily(1.0, 0.0), DLPW())
    with pytest.raises(CompatibilityError, match=r"optimizer=dlpw needs loss.gamma > 0"):
        check(Pairwise(), MPLP(warm_start=True), LossFamily(inf, 0.0), DLPW())
    check(Pairwise(), MPLP(warm_start=True), LossFamily(inf, 1.0), DLPW())
    with pytest.raises(
        CompatibilityError, match="optimizer=dlpw keeps messages along the edges of loopy graphs"
    ):
        check(LinearChain(), MPLP(warm_start=True), LossFamily(inf, 1.0), DLPW())


def test_chooses_loss_and_inference():
    config = validate(compose(["optimizer=dlpw", "factor_graph=pairwise"]))
    assert (config["loss"]["beta"], config["inference"]["name"]) == (inf, "mplp")
    assert (config["inference"]["warm_start"], config["inference"]["passes"]) == (True, 10)
    config = validate(compose(["optimizer=dlpw", "inference.passes=3", "inference.smoothing=9"]))
    assert (config["inference"]["passes"], config["inference"]["smoothing"]) == (3, 9.0)
    assert not validate(compose(["inference=mplp"]))["inference"]["warm_start"]


# Whole runs


WORDS = [
    "task=multilabel",
    f"task.train={datasets.path('train', 'multilabel')}",
    "task.limit=40",
    "tracker=none",
]


def trained(folder, *words):
    return structopt.train([*WORDS, "optimizer=dlpw", *words], folder)


def test_a_resumed_run_has_the_same_bits(tmp_path):
    """Its messages are restored too: with a pass over the variables a visit they would not be
    computed anew.
    """
    few = ["inference.passes=1", "optimizer.epochs=5"]
    whole = trained(tmp_path / "whole", *few)
    trained(tmp_path / "half", *few, "optimizer.epochs=2")
    assert main.main([f"resume={tmp_path / 'half'}", "optimizer.epochs=5"]) == 0
    np.testing.assert_array_equal(structopt.load(tmp_path / "half").weights, whole.weights)
    rows = [
        (tmp_path / name / "history.csv").read_text().splitlines()[1:] for name in ("whole", "half")
    ]
    assert [row.split(",")[3:5] for row in rows[0]] == [row.split(",")[3:5] for row in rows[1]]


def test_a_run_reports_the_objective_of_the_relaxation(tmp_path):
    model = trained(tmp_path / "run", "inference.passes=1", "optimizer.epochs=2")
    config = validate(compose([*WORDS, "optimizer=pegasos", "inference=lp"]))
    other = read(config, make_components(config))
    objective = json.loads((tmp_path / "run/metrics.json").read_text())["train"]["objective"]
    assert objective == pytest.approx(other.problem.objective(model.weights), rel=1e-4)


def test_a_run_refuses_what_it_cannot_learn_by(tmp_path, capsys):
    assert main.main([*WORDS, "optimizer=dlpw", "inference=lp", f"hydra.run.dir={tmp_path}"]) == 2
    assert f"inference=lp has none. Use {KEPT_WORDS}" in capsys.readouterr().err
