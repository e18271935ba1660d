"""Three nodes of Ray on this machine: the bits of one thread whatever node has which shard, and
whichever of them dies.

Twenty times a worker is killed, five times a node and five times the process that trains, with each
kind of optimizer in turn.
"""

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.optimizer_state import values_of
from structopt.executor import ray_workers
from structopt.executor.ray import Ray
from structopt.executor.serial import Serial
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.learning.added_duals import AddedDuals
from structopt.learning.mixing import Mixed
from structopt.loss.family import LossFamily
from structopt.model.model import Model
from structopt.objective.dual_shards import DualAscents
from structopt.objective.pass_shards import Passes
from structopt.run import history
from structopt.testing.problems import make_problem, random_encoded

pytestmark = pytest.mark.nightly("cluster")

ray = pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
from ray.cluster_utils import Cluster  # noqa: E402

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests

LENGTHS = (3, 1, 4, 2, 5, 1, 3, 2, 6)
SHARDS = 4
KINDS = ("lbfgs", "dca", "sdca")
kinds = pytest.mark.parametrize("kind", KINDS)
QUICK = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
}
"""How soon the cluster notices that a node has died."""


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_AUTH_MODE"], os.environ["RAY_USAGE_STATS_ENABLED"] = "disabled", "0"
    head = {
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": 10**8,
        "_system_config": QUICK,
    }
    nodes = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        add_node(nodes)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def add_node(cluster):
    return cluster.add_node(num_cpus=1, object_store_memory=10**8)


@pytest.fixture
def executor(cluster):
    workers = Ray(workers=3, address=cluster.address)
    yield workers
    workers.close()


def problem_of(kind, executor):
    loss, positional = LossFamily(1.0, 0.0 if kind == "sdca" else 1.0), kind == "sdca"
    problem = make_problem(
        random_encoded(1, LENGTHS),
        LinearChain(),
        loss,
        Exact(),
        1.0,
        support="seen",
        positional=positional,
    )
    problem.executor = executor
    return problem


def optimizer_of(kind):
    alone = registry.create("optimizer", {"name": kind})
    if alone.plan.additive:
        return AddedDuals(alone, SHARDS, DualAscents)
    return Mixed(alone, SHARDS, Passes) if alone.plan.mixable else alone


def trained(kind, executor, passes=5, before=lambda passes: None):
    """The last state, and the losses and bounds of every pass."""
    problem, optimizer, numbers = problem_of(kind, executor), optimizer_of(kind), []
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for done in range(passes):
        before(done)
        state, report = optimizer.step(problem, state)
        numbers.append(
            (
                report.loss,
                report.dual,
                optimizer.objective(problem, state) if kind == "sdca" else None,
            )
        )
    return state, numbers


def assert_same(one, other):
    (state, numbers), (expected, theirs) = one, other
    assert numbers == theirs
    state, expected = values_of(state), values_of(expected)
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(state[name], value, err_msg=name)


def processes(team):
    return ray.get([actor.ready.remote() for actor in team.actors])


def when_asked(executor, count, act):
    """Act before the team is asked for the count-th time from now on: in the middle of a round."""
    team, asked = executor._team, executor._team.ask
    left = [count]

    def ask(*arguments):
        left[0] -= 1
        if left[0] == 0:
            team.ask = asked
            act()
        return asked(*arguments)

    team.ask = ask


@kinds
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_the_same_bits_on_any_number_of_nodes(cluster, kind, nodes):
    workers = Ray(workers=nodes, address=cluster.address)
    try:
        found = trained(kind, workers)
        there = {ray.get(actor.__ray_call__.remote(_node)) for actor in workers._team.actors}
    finally:
        workers.close()
    assert_same(found, trained(kind, Serial()))
    assert len(there) == nodes


def _node(worker):
    return ray.get_runtime_context().get_node_id()


@pytest.mark.parametrize("trial", range(20))
def test_a_worker_is_killed_in_the_middle_of_a_round(executor, trial, caplog):
    kind = KINDS[trial % 3]
    asked, worker, passes = (
        int(number) for number in np.random.default_rng(trial).integers([1, 0, 2], [7, 3, 4])
    )

    def before(done):
        if done == passes:
            team = executor._team
            when_asked(executor, asked, lambda: os.kill(processes(team)[worker], signal.SIGKILL))

    with caplog.at_level(logging.WARNING, ray_workers.__name__):
        found = trained(kind, executor, before=before)
    assert_same(found, trained(kind, Serial()))
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        f"executor=ray: worker {worker} was lost"
    ]


@pytest.mark.parametrize("trial", range(5))
def test_a_node_dies_and_the_others_take_over_its_shards(cluster, executor, trial, caplog):
    kind = KINDS[trial % 3]

    def before(done):
        if done == 2 + trial % 2:
            worker = next(
                k
                for k, actor in enumerate(executor._team.actors)
                if _runs_on(actor, cluster.worker_nodes)
            )
            here = ray.get(executor._team.actors[worker].__ray_call__.remote(_node))
            node = next(node for node in cluster.worker_nodes if node.node_id == here)
            when_asked(executor, 1 + trial, lambda: cluster.remove_node(node, allow_graceful=False))

    with caplog.at_level(logging.WARNING, ray_workers.__name__):
        found = trained(kind, executor, before=before)
    add_node(cluster)
    cluster.wait_for_nodes()
    assert_same(found, trained(kind, Serial()))
    assert any("shards go to one that is left" in record.getMessage() for record in caplog.records)


def _runs_on(actor, nodes):
    return ray.get(actor.__ray_call__.remote(_node)) in {node.node_id for node in nodes}


def test_workers_open_their_shards_from_a_folder(cluster, tmp_path):
    """A replaced one too; at the end the folder is as empty as before."""
    workers = Ray(workers=2, address=cluster.address, folder=str(tmp_path))

    def before(done):
        if done == 2:
            assert len(list(tmp_path.glob("structopt-*/*.pickle"))) == SHARDS
            os.kill(processes(workers._team)[1], signal.SIGKILL)

    try:
        assert_same(trained("sdca", workers, before=before), trained("sdca", Serial()))
    finally:
        workers.close()
    assert list(tmp_path.iterdir()) == []


def test_rounds_seconds_and_bytes(executor):
    """The weights go out once and their moves come back from every shard, with little beside
    them.
    """
    problem, optimizer = problem_of("dca", executor), optimizer_of("dca")
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(2):  # the first pass on shards asks them once more: which weights they read
        state, _ = optimizer.step(problem, state)
    before = executor.account.copied()
    optimizer.step(problem, state)
    spent, weights = executor.account.since(before), 2 * 8 * problem.scorer.count  # and their mean
    assert spent["rounds"] == 1
    assert weights < spent["bytes_out"] < weights + 1000 * (SHARDS + 1)
    # the mean of the shard's own iterates, too
    assert SHARDS * weights < spent["bytes_in"] < SHARDS * (1.5 * weights + 2000)
    assert (
        min(spent["compute_seconds"], spent["waiting_seconds"], spent["serialization_seconds"]) > 0
    )


def test_stragglers_are_reported_once(executor, monkeypatch, caplog):
    monkeypatch.setattr(ray_workers, "LEAST", 0.2)
    placement = executor.place(Sleeper, [0.0, 0.6, 0.0])
    with caplog.at_level(logging.WARNING, ray_workers.__name__):
        for _ in range(2):
            list(placement.call("sleep"))
    (record,) = caplog.records
    assert (
        "worker 1 is slow: its shard 1 took 0.6 s for sleep, half of the shards 0.0 s or less"
        in record.getMessage()
    )


class Sleeper:
    def __init__(self, seconds):
        self.seconds = seconds

    def sleep(self):
        time.sleep(self.seconds)


@pytest.mark.parametrize("trial", range(5))
def test_the_driver_is_killed_and_the_run_resumed(cluster, trial, tmp_path):
    kind = KINDS[trial % 3]
    found = killed_and_resumed(cluster, kind, tmp_path / "killed", 2 + trial)
    words = [
        *run_words(kind),
        "executor=threads",
        f"executor.mixing={'null' if kind == 'lbfgs' else SHARDS}",
    ]
    structopt(*words, f"hydra.run.dir={tmp_path / 'whole'}").wait()
    expected = Model.load(tmp_path / "whole" / "model")
    np.testing.assert_array_equal(found.weights, expected.weights)


def run_words(kind):
    return [
        "task=ner",
        "task.limit=60",
        f"optimizer={kind}",
        "optimizer.epochs=12",
        "tracker=none",
        "quiet=true",
    ]


def structopt(*words):
    return subprocess.Popen([sys.executable, "-m", "structopt", *words])


def killed_and_resumed(cluster, kind, folder, passes):
    """The model of a run whose process was killed after some passes, and which was then resumed."""
    where = ["executor=ray", "executor.workers=3", f"executor.address={cluster.address}"]
    divided = [] if kind == "lbfgs" else [f"executor.mixing={SHARDS}"]
    run = structopt(*run_words(kind), *where, *divided, f"hydra.run.dir={folder}")
    while len(history.read(folder / "history.csv")) < passes:
        assert run.poll() is None
        time.sleep(0.02)
    run.kill()
    run.wait()
    assert structopt(f"resume={folder}").wait() == 0
    assert len(history.read(folder / "history.csv")) > passes
    return Model.load(folder / "model")
