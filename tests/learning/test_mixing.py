"""Iterative parameter mixing: means of states, whatever the workers and interrupts."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from structopt.config import compatibility, registry
from structopt.core.optimizer_state import copied, values_of
from structopt.errors import ArgumentError, CompatibilityError
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.exact import Exact
from structopt.inference.mplp import MPLP
from structopt.learning.mixing import DONE, Mixed, shards_of
from structopt.learning.training import Evaluation
from structopt.loss.family import LossFamily
from structopt.objective.options import optioned
from structopt.objective.pass_shards import Passes
from structopt.run.resumable import Resumable
from structopt.testing.problems import make_problem, random_encoded, random_graphs
from tests.messages import raises
from tests.parts import gate_cases

LENGTHS = (3, 1, 4, 2, 5, 1, 3, 2)
MIXABLE = {
    "dca": {},
    "perceptron": {},
    "mira": {"k_best": 2},
    "sgd": {"eta": 0.1, "average": True},
    "pegasos": {"average": True},
    "adagrad": {"average": True, "batch_size": 2},
    "adadelta": {"average": True},
}


def optimizer_of(name, **options):
    return registry.create("optimizer", {"name": name, **MIXABLE.get(name, {}), **options})


def problem_of(name, executor=None, lengths=LENGTHS, **options):
    beta, gamma = {"perceptron": (inf, 0.0), "mira": (inf, 1.0)}.get(name, (1.0, 1.0))
    encoded = random_encoded(1, lengths, **options)
    problem = make_problem(
        encoded, LinearChain(), LossFamily(beta, gamma), Exact(), C=1.0, support="seen"
    )
    problem.executor = executor or Serial()
    return problem


def trained(optimizer, problem, passes=3):
    """The states after every pass, and the reports."""
    state, states, reports = optimizer.init(problem, np.zeros(problem.dimension)), [], []
    for _ in range(passes):
        state, report = optimizer.step(problem, state)
        states.append(copied(state))
        reports.append(report)
    return states, reports


def assert_same(states, expected):
    states, expected = values_of(states), values_of(expected)
    assert states.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(states[name], value, err_msg=name)


@pytest.mark.parametrize("name", MIXABLE)
def test_one_shard_is_the_optimizer_itself(name):
    states, reports = trained(Mixed(optimizer_of(name), 1, Passes), problem_of(name))
    expected, theirs = trained(optimizer_of(name), problem_of(name))
    for passes, (one, other) in enumerate(zip(states, expected, strict=True), 1):
        assert one.passes_done == passes
        assert_same(one.inner, other)
    assert [one.loss for one in reports] == [one.loss for one in theirs]
    assert np.abs(expected[-1].theta).max() > 1e-3


def reads(passes):
    """Which weights each shard reads, shape (shards, dimension)."""
    scorer = passes.problem.scorer
    masks = np.zeros((len(passes.coordinates), scorer.count))
    for mask, coordinates in zip(masks, passes.coordinates, strict=True):
        mask[coordinates] = 1.0
    return np.array([scorer.expand(mask) for mask in masks]) > 0


def counted(start, ends, read):
    """Which shards count for each weight: those that read it, and moved it or a statistic of it."""
    names = [key for key, value in start.items() if isinstance(value, np.ndarray) and len(value)]
    return read & np.logical_or.reduce([[end[key] != start[key] for end in ends] for key in names])


def over_movers(start, ends, read):
    """Moves added up over the shards that count, divided by their number to the power 3/4; floats
    averaged, integers kept.
    """
    counts = counted(start, ends, read)
    arrays = {
        key: value for key, value in start.items() if isinstance(value, np.ndarray) and len(value)
    }
    mixed_arrays = {
        key: value
        + sum(
            np.where(count, end[key] - value, 0.0) for count, end in zip(counts, ends, strict=True)
        )
        / np.maximum(counts.sum(axis=0), 1) ** 0.75
        for key, value in arrays.items()
    }
    return {
        key: mixed_arrays[key]
        if key in mixed_arrays
        else ends[0][key]
        if isinstance(value, int | np.ndarray)
        else sum(end[key] for end in ends) / len(ends)
        for key, value in start.items()
    }


@pytest.mark.parametrize("name", MIXABLE)
def test_a_pass_is_mixed_of_the_passes_over_the_shards(name):
    """A pass over each shard as a separate problem with the lambda of the whole one; the first pass
    is over the whole.
    """
    problem, optimizer = problem_of(name), optimizer_of(name)
    states, reports = trained(Mixed(optimizer, 2, Passes), problem, 3)
    passes = Passes(problem, optimizer, 2)
    alone = [shard.problem for shard in passes.placement.shards]
    assert [shard.m for shard in alone] == [4, 4]
    assert all(shard.regularization == problem.regularization for shard in alone)
    state, _ = optimizer.step(problem, optimizer.init(problem, np.zeros(problem.dimension)))
    for _ in range(2):
        passed = [optimizer.step(shard, copied(state)) for shard in alone]
        ends = [values_of(after) for after, _ in passed]
        state = optimizer.restored(over_movers(values_of(state), ends, reads(passes)))
    assert reports[-1].loss == pytest.approx(sum(report.loss for _, report in passed))
    for key, value in values_of(state).items():
        found = values_of(states[-1])[key]
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-14, err_msg=key)


@pytest.mark.parametrize("name", ["perceptron", "sgd"])
def test_a_weight_that_one_shard_reads_moves_as_far_as_there(name):
    """Not by a share of it; nor by what the regulariser does to it in other shards."""
    problem, optimizer = problem_of(name, attributes=40), optimizer_of(name)
    first, second = trained(Mixed(optimizer, 8, Passes), problem, 2)[0]
    start = first.inner
    passes = Passes(problem, optimizer, 8)
    ends = [optimizer.step(shard.problem, copied(start))[0] for shard in passes.placement.shards]
    counts = counted(values_of(start), list(map(values_of, ends)), reads(passes))
    alone = counts.sum(axis=0) == 1
    assert alone.any()
    alone_weights = np.array([end.theta for end in ends])[
        counts.argmax(axis=0), np.arange(counts.shape[1])
    ]
    np.testing.assert_allclose(second.inner.theta[alone], alone_weights[alone], rtol=1e-12)


def iterates_of(name, problem, start):
    """The mean of the iterates of one pass, from statistics that begin with it."""
    optimizer, before = optimizer_of(name), copied(start)
    if hasattr(start, "lag"):
        start = replace(before, lag=np.zeros_like(start.lag), visits=0.0)
        return optimizer.weights(optimizer.step(problem, start)[0])
    end, _ = optimizer.step(problem, replace(before, total=np.zeros_like(start.total)))
    return end.total / problem.m


@pytest.mark.parametrize("name", ["dca", "perceptron", "sgd"])
def test_later_passes_count_more_in_the_mean_that_is_returned(name):
    """mean_t = mean_(t-1) + 5/(t+4) (M_t - mean_(t-1)), M_t mixed as the iterates are."""
    problem, optimizer = problem_of(name), optimizer_of(name)
    method = Mixed(optimizer, 2, Passes)
    states, _ = trained(method, problem, 3)
    mean = optimizer.weights(states[0].inner)
    np.testing.assert_allclose(method.weights(states[0]), mean, atol=1e-15)
    passes = Passes(problem, optimizer, 2)
    for number, state in enumerate(states[:2], 2):
        start = state.inner
        shards = [shard.problem for shard in passes.placement.shards]
        ends = [values_of(optimizer.step(shard, copied(start))[0]) for shard in shards]
        counts = counted(values_of(start), ends, reads(passes))
        means = [iterates_of(name, shard, start) - start.theta for shard in shards]
        moves = sum(np.where(count, move, 0.0) for count, move in zip(counts, means, strict=True))
        latest = start.theta + moves / np.maximum(counts.sum(axis=0), 1) ** 0.75
        mean = mean + 5 / (number + 4) * (latest - mean)
        np.testing.assert_allclose(method.weights(states[number - 1]), mean, atol=1e-12)
    assert np.abs(mean - states[-1].inner.theta).max() > 1e-4


def test_the_last_iterate_is_returned_where_it_is_asked_for():
    method = Mixed(optimizer_of("dca", average=False), 2, Passes)
    state = trained(method, problem_of("dca"), 2)[0][-1]
    assert state.mixed_mean is None
    np.testing.assert_array_equal(method.weights(state), state.inner.theta)


@pytest.mark.parametrize("name", MIXABLE)
def test_the_same_bits_with_any_number_of_workers(name):
    """Of three shards, whose sizes differ."""
    expected, _ = trained(Mixed(optimizer_of(name), 3, Passes), problem_of(name))
    for workers in (2, 4):
        states, _ = trained(
            Mixed(optimizer_of(name), 3, Passes), problem_of(name, Threads(workers))
        )
        assert_same(states[-1], expected[-1])


def relaxed_problem():
    """Graphs whose inference keeps messages of every instance."""
    inference = MPLP(passes=5, warm_start=True)
    problem = make_problem(
        random_graphs(2, (2, 3, 3, 4), 3), Pairwise("complete"), LossFamily(inf, 1.0), inference
    )
    problem.executor = Serial()
    return problem


@pytest.mark.parametrize("name", [*MIXABLE, "dlpw"])
@pytest.mark.parametrize("first", gate_cases([1, 2], "runs", 1))
def test_resumed_to_the_same_bits(name, first, tmp_path):
    """From the checkpoint of the pass over the whole corpus, and of one that was mixed, as if there
    had been no interrupt.
    """
    results = []
    for part, stops in ("whole", [4]), ("parts", [first, 4]):
        folder = tmp_path / part
        folder.mkdir()
        for epochs in stops:
            problem = relaxed_problem() if name == "dlpw" else problem_of(name)
            mixed_optimizer = Mixed(optimizer_of(name), 3, Passes)
            trainer = Resumable(
                problem, mixed_optimizer, epochs, folder=folder, evaluation=Evaluation(0)
            )
            assert trainer.resume() == (epochs != stops[0])
            if not trainer.state:
                trainer.start(np.zeros(problem.dimension))
            weights = trainer.run()
        values = values_of(trainer.state)
        results.append({**values, "weights": weights, "messages": problem.messages})
    assert results[0][DONE] == 4
    assert np.abs(weights).max() > 1e-3
    assert_same(*results)


@pytest.mark.parametrize("name", MIXABLE)
def test_fewer_instances_than_shards(name):
    """Every instance is a shard; one instance alone is the optimizer itself."""
    problem = problem_of(name, lengths=(3, 1, 2))
    state, expected = (
        trained(Mixed(optimizer_of(name), shards, Passes), problem)[0][-1] for shards in (8, 3)
    )
    assert_same(state, expected)
    problem = problem_of(name, lengths=(4,))
    state, expected = (
        trained(optioned(optimizer_of(name), problem, shards), problem)[0][-1] for shards in (8, 0)
    )
    assert state.passes_done == 3
    assert_same(state.inner, expected)


def test_constants_stay_what_they_are():
    """To the last bit, where a sum of three divided by three would not."""
    state = trained(Mixed(optimizer_of("sgd", eta=0.1), 3, Passes), problem_of("sgd"))[0][-1].inner
    assert state.eta == 0.1
    assert state.epoch == 3
    assert state.visits == pytest.approx(8 + 2 * 8 / 3)


def test_shards_know_how_many_instances_the_whole_has():
    """By which rates fall: sgd's after t visits of a shard is eta / (1 + t/m), m the instances of
    the whole.
    """
    problem = problem_of("sgd")
    shards = Passes(problem, optimizer_of("sgd"), 3).placement.shards
    assert [shard.problem.before for shard in shards] == [problem.m - problem.m / 3] * 3
    assert Passes(problem, optimizer_of("sgd"), 1).placement.shards[0].problem.before == 0.0


def test_messages_of_instances_are_kept():
    """dlpw with one shard, and with two: every instance keeps its messages."""
    encoded = random_graphs(2, (2, 3, 3, 4), 3)
    messages = []
    for shards in (0, 1, 2):
        inference = MPLP(passes=5, warm_start=True)
        problem = make_problem(
            encoded, Pairwise("complete"), LossFamily(inf, 1.0), inference, C=1.0
        )
        problem.executor = Serial()
        trained(
            optioned(registry.create("optimizer", {"name": "dlpw"}), problem, shards), problem, 2
        )
        messages.append(problem.messages.copy())
        memory = problem.structure.memory
        assert all(
            np.abs(problem.messages[a:b]).max() > 0
            for a, b in zip(memory[:-1], memory[1:], strict=True)
        )
    np.testing.assert_array_equal(messages[0], messages[1])
    assert (messages[1] != messages[2]).any()


def test_who_is_mixed():
    serial, threads = Serial(), Threads(2, mixing=4)
    lbfgs, dca = registry.create("optimizer", {"name": "lbfgs"}), optimizer_of("dca")
    assert [shards_of(serial, dca), shards_of(threads, dca), shards_of(threads, lbfgs)] == [0, 4, 0]
    assert optioned(dca, problem_of("dca"), 0) is dca
    compatibility.check_executor(threads, dca)
    compatibility.check_executor(serial, lbfgs)
    text = (
        "executor=threads with executor.mixing=4 .* optimizer=lbfgs is exact.*: adadelta, "
        "adagrad, dca, dlpw, mira, "
    )
    with pytest.raises(CompatibilityError, match=text):
        compatibility.check_executor(threads, lbfgs)
    with pytest.raises(
        CompatibilityError,
        match="optimizer=smo has variables of instances.* Set executor.mixing=null",
    ):
        compatibility.check_executor(threads, registry.create("optimizer", {"name": "smo"}))


@pytest.mark.parametrize("executor", [Serial, Threads])
def test_options_out_of_range(executor):
    with raises(ArgumentError, parameter="mixing", value=-1):
        executor(mixing=-1)
