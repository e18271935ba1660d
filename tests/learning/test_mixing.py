"""Iterative parameter mixing: means of states, and what they do not depend on."""

from math import inf

import numpy as np
import pytest

from structopt import compatibility, registry
from structopt.errors import CompatibilityError, ConfigError
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.exact import Exact
from structopt.inference.mplp import MPLP
from structopt.learning.mixing import Mixed, mixed, shards_of
from structopt.loss.family import LossFamily
from structopt.testing.problems import make_problem, random_encoded, random_graphs

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


def problem_of(name, executor=None, lengths=LENGTHS):
    beta, gamma = {"perceptron": (inf, 0.0), "mira": (inf, 1.0)}.get(name, (1.0, 1.0))
    encoded = random_encoded(1, lengths)
    problem = make_problem(encoded, LinearChain(), LossFamily(beta, gamma), Exact(), C=1.0, support="seen")
    problem.executor = executor or Serial()
    return problem


def trained(optimizer, problem, passes=3):
    """The states after every pass, and the reports."""
    state, states, reports = optimizer.init(problem, np.zeros(problem.dimension)), [], []
    for _ in range(passes):
        state, report = optimizer.step(problem, state)
        states.append({name: np.array(value) for name, value in state.items()})
        reports.append(report)
    return states, reports


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("name", MIXABLE)
def test_one_shard_is_the_optimizer_itself(name):
    found, reports = trained(Mixed(optimizer_of(name), 1), problem_of(name))
    expected, theirs = trained(optimizer_of(name), problem_of(name))
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)
    assert [one.loss for one in reports] == [one.loss for one in theirs]
    assert np.abs(expected[-1]["theta"]).max() > 1e-3


@pytest.mark.parametrize("name", MIXABLE)
def test_a_pass_is_the_mean_of_the_passes_over_the_shards(name):
    """Of each shard as a problem of its own, with the whole problem's lambda."""
    problem, optimizer = problem_of(name), optimizer_of(name)
    found, reports = trained(Mixed(optimizer, 2), problem, 2)
    alone = list(problem.passes(optimizer, 2).placement.shards)
    assert [shard.m for shard in alone] == [4, 4]
    assert all(shard.regularization == problem.regularization for shard in alone)
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(2):
        both, losses = [], 0.0
        for shard in alone:
            copy = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in state.items()}
            after, report = optimizer.step(shard, copy)
            both.append(after)
            losses += report.loss
        state = {key: (both[0][key] + both[1][key]) / 2 if key != "epoch" else both[0][key] for key in state}
    assert reports[-1].loss == pytest.approx(losses)
    for key, value in state.items():
        np.testing.assert_allclose(found[-1][key], value, rtol=1e-13, atol=1e-15, err_msg=key)


@pytest.mark.parametrize("name", ["dca", "sgd", "perceptron"])
def test_the_average_is_that_of_all_iterates_of_all_shards(name):
    """Iterates of one shard of four visits, twice: the mean of the shards' own means."""
    problem, optimizer = problem_of(name), optimizer_of(name)
    alone = problem.passes(optimizer, 2).placement.shards
    start = optimizer.init(problem, np.zeros(problem.dimension))
    copies = [{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in start.items()} for _ in alone]
    means = [optimizer.weights(optimizer.step(shard, state)[0]) for shard, state in zip(alone, copies, strict=True)]
    mix = Mixed(optimizer, 2)
    state, _ = mix.step(problem, mix.init(problem, np.zeros(problem.dimension)))
    np.testing.assert_allclose(mix.weights(state), (means[0] + means[1]) / 2, atol=1e-13)


@pytest.mark.parametrize("name", MIXABLE)
def test_the_same_bits_with_any_number_of_workers(name):
    """Of three shards, whose sizes differ."""
    expected, _ = trained(Mixed(optimizer_of(name), 3), problem_of(name))
    for workers in (2, 4):
        found, _ = trained(Mixed(optimizer_of(name), 3), problem_of(name, Threads(workers)))
        assert_same(found[-1], expected[-1])


def test_constants_stay_what_they_are():
    """To the last bit, where a sum of three divided by three would not."""
    state = trained(Mixed(optimizer_of("sgd", eta=0.1), 3), problem_of("sgd"))[0][-1]
    assert state["eta"] == 0.1
    assert state["epoch"] == 3
    assert state["visits"] == pytest.approx(3 * 8 / 3)


def test_messages_of_instances_are_kept():
    """dlpw with one shard, and with two: every instance goes on with its own messages."""
    encoded = random_graphs(2, (2, 3, 3, 4), 3)
    found = []
    for shards in (0, 1, 2):
        inference = MPLP(passes=5, warm_start=True)
        problem = make_problem(encoded, Pairwise("complete"), LossFamily(inf, 1.0), inference, C=1.0)
        problem.executor = Serial()
        trained(mixed(registry.create("optimizer", {"name": "dlpw"}), shards), problem, 2)
        found.append(problem.messages.copy())
        memory = problem.structure.memory
        assert all(np.abs(problem.messages[a:b]).max() > 0 for a, b in zip(memory[:-1], memory[1:], strict=True))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[1] != found[2]).any()


def test_who_is_mixed():
    serial, threads = Serial(), Threads(2, mixing=4)
    lbfgs, dca = registry.create("optimizer", {"name": "lbfgs"}), optimizer_of("dca")
    assert [shards_of(serial, dca), shards_of(threads, dca), shards_of(threads, lbfgs)] == [0, 4, 0]
    assert mixed(dca, 0) is dca
    assert mixed(dca, 4).epochs == dca.epochs
    compatibility.check_executor(threads, dca)
    compatibility.check_executor(serial, lbfgs)
    text = "executor=threads with executor.mixing=4 .* optimizer=lbfgs is exact.*: adadelta, adagrad, dca, dlpw, mira, "
    with pytest.raises(CompatibilityError, match=text):
        compatibility.check_executor(threads, lbfgs)
    with pytest.raises(CompatibilityError, match="optimizer=sdca has variables of instances.* Type executor.mixing=null"):
        compatibility.check_executor(threads, registry.create("optimizer", {"name": "sdca"}))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mixing": -1}, "executor.mixing=-1 must be at least 0"),
        ({"shards": 0}, "executor.shards=0 must be at least 1"),
    ],
)
def test_options_out_of_range(options, text):
    for executor in (Serial, Threads):
        with pytest.raises(ConfigError, match=text):
            executor(**options)
