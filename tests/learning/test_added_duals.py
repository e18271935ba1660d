"""CoCoA+ with momentum: dual steps of shards added up, between the bounds of the whole, to the
optimum, whatever the workers.
"""

from math import inf

import numpy as np
import pytest

from structopt.config import compatibility, registry
from structopt.core.optimizer_state import copied, values_of
from structopt.errors import CompatibilityError
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.exact import Exact
from structopt.learning.added_duals import AddedDuals
from structopt.learning.mixing import shards_of
from structopt.learning.momentum import Momentum
from structopt.loss.family import LossFamily
from structopt.objective.dual_shards import DualAscents
from structopt.objective.options import optioned
from structopt.optimizer.sdca import SDCA
from structopt.run.resumable import Resumable
from structopt.testing.problems import (
    make_problem,
    random_encoded,
    random_graphs,
    random_trees,
)
from tests.optimizer.listings import minimum_of

LENGTHS = (3, 1, 4, 2, 3, 2, 3)
MEMBERS = {"closed": (1.0, 0.0), "hypograph": (3.0, 2.5), "planes": (inf, 1.0)}
variants = pytest.mark.parametrize("variant", MEMBERS)


def problem_of(variant, executor=None, lengths=LENGTHS):
    loss = LossFamily(*MEMBERS[variant])
    positional = variant == "closed"
    problem = make_problem(
        random_encoded(4, lengths),
        LinearChain(),
        loss,
        Exact(),
        1.0,
        support="seen",
        positional=positional,
    )
    problem.executor = executor or Serial()
    return problem


def method_of(variant, **options):
    return SDCA(entropy="hypograph" if variant == "hypograph" else "closed", **options)


def trained(optimizer, problem, passes=3):
    """The last state, and of every pass P and the report."""
    state, rows = optimizer.init(problem, np.zeros(problem.dimension)), []
    for _ in range(passes):
        state, report = optimizer.step(problem, state)
        rows.append((optimizer.objective(problem, state), report))
    return state, rows


def assert_same(state, expected):
    state, expected = values_of(state), values_of(expected)
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(state[name], value, err_msg=name)


@variants
@pytest.mark.parametrize(
    "options", [{}, {"average": True}, {"sampling": "gap"}], ids=["last", "average", "gap"]
)
def test_one_shard_is_the_method_itself(variant, options):
    """To the last bit, of all that the state holds and of every report."""
    state, rows = trained(
        AddedDuals(method_of(variant, **options), 1, DualAscents), problem_of(variant)
    )
    expected, theirs = trained(method_of(variant, **options), problem_of(variant))
    assert_same(state, expected)
    assert [report for _, report in rows] == [report for _, report in theirs]
    assert [primal for primal, _ in rows] == pytest.approx(
        [primal for primal, _ in theirs], rel=1e-14
    )


@pytest.mark.nightly("optima")
@variants
@pytest.mark.parametrize(("shards", "average"), [(2, True), (3, False)])
def test_it_reaches_the_optimum_between_its_bounds(variant, shards, average):
    """Against cvxpy's optimum: D <= P* <= P at every pass, though D may fall where momentum leads
    too far.
    """
    problem = problem_of(variant)
    best = minimum_of(problem).value
    method = AddedDuals(method_of(variant, average=average), shards, DualAscents)
    for primal, report in trained(method, problem, 150)[1]:
        assert report.dual <= best * (1 + 1e-7)
        assert primal >= best * (1 - 1e-7)
    assert primal - report.dual <= (1e-2 if average else 1e-4) * best


@variants
def test_shards_of_graphs_with_loops_reach_the_optimum(variant):
    """Junction trees in two shards, whose duals are those of exact inference."""
    loss = LossFamily(*MEMBERS[variant])
    corpus, graph = random_graphs(4, (2, 3, 4, 3)), Pairwise("complete")
    problem = make_problem(corpus, graph, loss, Exact(), 0.3, support="seen")
    best = minimum_of(problem).value
    method = AddedDuals(SDCA(entropy="hypograph"), 2, DualAscents)
    for primal, report in trained(method, problem, 60)[1]:
        assert report.dual <= best * (1 + 1e-7)
        assert primal >= best * (1 - 1e-7)
    assert primal - report.dual <= 1e-2 * best


@pytest.mark.nightly("optima")
def test_momentum_takes_fewer_passes(monkeypatch):
    """To a hundredth of the gap of the same passes without it: Frank-Wolfe steps, whose gap falls
    slowly.
    """
    problem = problem_of("planes")
    primal, report = trained(AddedDuals(method_of("planes"), 3, DualAscents), problem, 150)[1][-1]
    monkeypatch.setattr(Momentum, "after", lambda momentum, moves, dual: Momentum())
    slow, slow_report = trained(AddedDuals(method_of("planes"), 3, DualAscents), problem, 150)[1][
        -1
    ]
    assert 0 <= primal - report.dual <= 0.01 * (slow - slow_report.dual)


def test_starts_of_shards_are_those_of_the_extrapolated_dual_point():
    """theta of the point y = z + beta (z - z'), with S times the way from it to z for the shard's
    own variables.
    """
    generator = np.random.default_rng(0)
    moves, theta, t = generator.normal(size=(3, 5)), generator.normal(size=5), 2.0
    beta = (t - 1) / ((1 + np.sqrt(1 + 4 * t * t)) / 2)
    y = theta + beta * moves.sum(axis=0)
    for start, move in zip(Momentum(moves, t, 0.0).starts(theta, 3), moves, strict=True):
        np.testing.assert_allclose(start, y - 3 * beta * move, rtol=1e-14)
    assert all(start is theta for start in Momentum().starts(theta, 3))


def test_momentum_is_dropped_where_the_dual_falls_or_is_not_known():
    moves = [np.ones(2), np.zeros(2)]
    rising = Momentum().after(moves, 1.0)
    assert rising.dual == 1.0
    assert rising.after(moves, 2.0).t > rising.t > 1
    for dual in (0.5, None):
        assert rising.after(moves, dual) == Momentum()
    assert rising.after(moves[:1], 2.0) == Momentum()
    state = rising.added({"epoch": 3})
    assert state.inner == {"epoch": 3}
    assert Momentum.of(state, 2).t == rising.t
    assert Momentum.of(state, 3) == Momentum()


@pytest.mark.nightly("optima")
def test_trees():
    options = {
        "templates": ["h.form & m.form", "h.upos & m.upos"],
        "hash_bits": 10,
        "label_bits": 4,
        "distances": [1, 2],
    }
    corpus = random_trees(1, (3, 1, 4, 2, 3))
    problem = make_problem(
        corpus, ArcFactored(), LossFamily(1.0, 0.0), Exact(), C=1.0, support="seen", options=options
    )
    best = problem.certificate(
        trained(registry.create("optimizer", {"name": "lbfgs", "C": 1.0}), problem, 40)[0].theta
    ).primal
    primal, report = trained(AddedDuals(method_of("hypograph"), 2, DualAscents), problem, 200)[1][
        -1
    ]
    assert report.dual <= best * (1 + 1e-7)
    assert primal == pytest.approx(best, rel=1e-3)


@variants
def test_the_weights_are_those_of_all_dual_variables(variant):
    """theta = C sum_i F_i (z_i - z_bar_i), though no shard has it from its own variables."""
    problem, method = problem_of(variant), AddedDuals(method_of(variant), 3, DualAscents)
    state, _ = trained(method, problem)
    state = state.inner
    residuals, gradient = -state.duals, np.zeros(problem.dimension)
    points, parts = problem.targets.points, problem.structure.parts
    for i in range(problem.m):
        span = slice(points.offsets[i], points.offsets[i + 1])
        np.add.at(residuals, parts[i] + points.parts[span], points.values[span])
    problem.sum_gradients(residuals, gradient)
    np.testing.assert_allclose(state.theta, gradient, atol=1e-12)
    assert np.abs(gradient).max() > 1e-2


def test_the_same_bits_with_any_number_of_workers():
    expected, _ = trained(AddedDuals(method_of("closed"), 3, DualAscents), problem_of("closed"))
    state, _ = trained(
        AddedDuals(method_of("closed"), 3, DualAscents), problem_of("closed", Threads(2))
    )
    assert_same(state, expected)


def test_shards_take_up_another_state_than_their_own():
    """Where a run goes on from a checkpoint, or begins again, in the process that made passes after
    it.
    """
    problem, method = problem_of("closed"), AddedDuals(method_of("closed"), 2, DualAscents)
    expected, _ = trained(method, problem, 4)
    state, _ = trained(method, problem, 2)
    kept = copied(state)
    method.step(problem, state)
    for _ in range(2):
        kept, _ = method.step(problem, kept)
    assert_same(kept, expected)


def test_a_run_is_resumed_with_another_number_of_shards(tmp_path):
    """The checkpoint is that of the method itself; the dual goes on rising."""
    method = method_of("closed")
    problem, duals = problem_of("closed"), []
    for shards, epochs in ((2, 2), (0, 3), (3, 5)):
        trainer = Resumable(problem, optioned(method, problem, shards), epochs, folder=tmp_path)
        if not trainer.resume():
            trainer.start(np.zeros(problem.dimension))
        trainer.run()
        duals.append(trainer.progress.dual)
    assert duals == sorted(duals)
    assert trainer.progress.epoch == 5


def test_whose_passes_are_divided():
    threads, sdca = Threads(2, mixing=4), method_of("closed")
    assert shards_of(threads, sdca) == 4
    assert optioned(sdca, problem_of("closed"), 0) is sdca
    compatibility.check_executor(threads, sdca)
    with pytest.raises(
        CompatibilityError,
        match="optimizer=smo has variables of instances.* can be divided: .*, sdca, sgd",
    ):
        compatibility.check_executor(threads, registry.create("optimizer", {"name": "smo"}))
