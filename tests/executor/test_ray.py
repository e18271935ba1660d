"""Workers of Ray, which is started here once: the bits of one thread, whatever happens to the
workers.
"""

import logging

import numpy as np
import pytest

from structopt.config import compatibility, registry
from structopt.errors import ArgumentError, CompatibilityError, ConfigError
from structopt.executor import ray as module
from structopt.executor import ray_workers
from structopt.executor.ray import Ray
from structopt.executor.serial import Serial
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.exact import Exact
from structopt.learning.mixing import Mixed
from structopt.loss.family import LossFamily
from structopt.objective.pass_shards import Passes
from structopt.testing.problems import (
    make_problem,
    random_encoded,
    random_graphs,
    random_trees,
    random_weights,
)
from tests.messages import raises

pytestmark = pytest.mark.nightly("ray")

ray = pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
LENGTHS = (3, 1, 4, 2, 5, 1, 3, 2, 6)


@pytest.fixture(scope="module")
def executor():
    workers = Ray(workers=2)
    yield workers
    workers.close()
    assert not ray.is_initialized()


def chains(executor):
    problem = make_problem(
        random_encoded(1, LENGTHS),
        LinearChain(),
        LossFamily(1.0, 1.0),
        Exact(),
        C=1.0,
        support="seen",
    )
    problem.executor = executor
    return problem


def trees(executor):
    options = {
        "templates": ["h.form & m.form", "h.upos & m.upos"],
        "hash_bits": 10,
        "label_bits": 4,
        "distances": [1, 2],
    }
    corpus = random_trees(1, LENGTHS)
    problem = make_problem(
        corpus, ArcFactored(), LossFamily(1.0, 0.0), Exact(), C=1.0, support="seen", options=options
    )
    problem.executor = executor
    return problem


def graphs(executor):
    """Complete graphs, which junction trees decode."""
    problem = make_problem(
        random_graphs(1, (2, 3, 4) * 3),
        Pairwise("complete"),
        LossFamily(1.0, 1.0),
        Exact(),
        C=1.0,
        support="seen",
    )
    problem.executor = executor
    return problem


def trained(problem, optimizer, passes=4, between=lambda: None):
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(passes):
        state, report = optimizer.step(problem, state)
        between()
    return optimizer.weights(state), report


@pytest.mark.parametrize("problem_of", [chains, trees, graphs])
def test_lbfgs_is_that_of_one_thread_to_the_last_bit(executor, problem_of):
    lbfgs = {"name": "lbfgs", "C": 1.0}
    weights, report = trained(problem_of(executor), registry.create("optimizer", lbfgs))
    expected, theirs = trained(problem_of(Serial()), registry.create("optimizer", lbfgs))
    np.testing.assert_array_equal(weights, expected)
    assert (report.primal, report.dual, report.loss) == (theirs.primal, theirs.dual, theirs.loss)
    assert np.abs(weights).max() > 0.01


def test_shards_stay_with_their_workers(executor):
    problem = chains(executor)
    problem.gradient(np.zeros(problem.dimension))
    placement = problem._shards.placement
    assert len(placement.team.actors) == 2
    assert len(problem._shards.bounds) == 8
    moving = problem.scorer.compress(random_weights(problem, 1))
    own, expected = problem.shard_data.divided([(0, 2), (2, 9)]), chains(Serial())
    assert [len(data.encoded) for data in own] == [2, 7]
    found = [one.losses for one in placement.call("gradient", moving)]
    assert sum(found) == expected.gradient(problem.scorer.expand(moving))[0]


@pytest.mark.parametrize("problem_of", [chains, trees])
def test_a_lost_worker_is_replaced_in_the_middle_of_a_pass(executor, problem_of, caplog):
    problem, weights = problem_of(executor), None
    weights = random_weights(problem, 1)
    expected = problem_of(Serial()).gradient(weights)
    problem.gradient(np.zeros(problem.dimension))
    team = problem._shards.placement.team
    asked = team.ask

    def ask(placement, shard, *rest):
        reference = asked(placement, shard, *rest)
        if shard == 4 and team.ask is ask:  # half of the pass is asked for
            team.ask = asked
            ray.kill(team.actors[0])
            # what is asked of it from here on is lost
            with pytest.raises(ray.exceptions.RayActorError):
                while True:
                    ray.get(team.actors[0].__ray_ready__.remote())
        return reference

    team.ask, team.losses = ask, 0
    with caplog.at_level(logging.WARNING, ray_workers.__name__):
        losses, gradient = problem.gradient(weights)
    assert losses == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "executor=ray: worker 0 was lost"
    ]


@pytest.mark.parametrize("name", ["dca", "adagrad"])
def test_mixed_parameters_are_those_of_one_thread(executor, name):
    """Of three shards, and with a worker lost between two passes."""
    problem, optimizer = (
        chains(executor),
        registry.create("optimizer", {"name": name, "average": True}),
    )
    killed = []

    def kill():
        if not killed:
            killed.append(ray.kill(executor._team.actors[1]))

    weights, report = trained(problem, Mixed(optimizer, 3, Passes), 3, kill)
    averaged = registry.create("optimizer", {"name": name, "average": True})
    expected, theirs = trained(chains(Serial()), Mixed(averaged, 3, Passes), 3)
    np.testing.assert_array_equal(weights, expected)
    assert report.loss == theirs.loss
    assert np.abs(weights).max() > 1e-3


def test_losses_and_errors_without_end(executor, monkeypatch):
    """What a shard raises is raised here; and a team that goes on losing workers is given up."""
    problem = chains(executor)
    problem.gradient(np.zeros(problem.dimension))
    placement = problem._shards.placement
    with pytest.raises(AttributeError, match="no_such_method"):
        list(placement.call("no_such_method"))
    monkeypatch.setattr(ray_workers, "MOST_LOSSES", 0)
    placement.team.losses = 0
    ray.kill(placement.team.actors[0])
    with pytest.raises(
        ConfigError, match="executor=ray lost 1 workers, the last one so: .*task.limit=N"
    ):
        problem.gradient(np.zeros(problem.dimension))
    placement.team.losses = 0
    monkeypatch.undo()
    assert (
        problem.gradient(np.zeros(problem.dimension))[0]
        == chains(Serial()).gradient(np.zeros(problem.dimension))[0]
    )


def test_errors_of_the_components_are_theirs(executor):
    def broken(data):
        raise ConfigError(f"no room for {data}")

    with pytest.raises(ConfigError, match="^no room for this data$"):
        list(executor.place(broken, ["this data"]).call("gradient"))


def test_more_workers_than_a_running_ray_has(executor):
    """They would be waited for without end; and a Ray that was running before is left as it is."""
    executor.place(str, ["data"])
    other = Ray(workers=3)
    with pytest.raises(
        ConfigError, match="`workers=3`, of one CPU each, but Ray has 2. Take fewer workers."
    ):
        other.place(str, ["data"])
    other.close()
    assert ray.is_initialized()


def test_options_and_what_ray_is_for(monkeypatch):
    assert [
        Ray(workers=3).mixing,
        Ray(workers=3, mixing=0).mixing,
        Ray(workers=3, mixing=5).mixing,
    ] == [3, 0, 5]
    with raises(ArgumentError, parameter="address", match="by `workers=N`"):
        Ray(address="auto")
    with raises(ArgumentError, parameter="workers", value=0):
        Ray(workers=0)
    create = registry.create
    compatibility.check_executor(Ray(workers=2), create("optimizer", {"name": "lbfgs"}))
    compatibility.check_executor(Ray(workers=2), create("optimizer", {"name": "sdca"}))
    compatibility.check_executor(
        Ray(workers=2), create("optimizer", {"name": "cutting_plane", "variant": "one_slack"})
    )
    for optimizer in ({"name": "smo"}, {"name": "cutting_plane", "variant": "n_slack"}):
        with pytest.raises(
            CompatibilityError,
            match=r"has variables of instances.* Set executor=threads, or take one",
        ):
            compatibility.check_executor(Ray(workers=2), create("optimizer", optimizer))
    with pytest.raises(
        CompatibilityError, match="leaves the workers of executor=ray nothing to do"
    ):
        compatibility.check_executor(Ray(workers=2, mixing=0), create("optimizer", {"name": "dca"}))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"executor=ray needs Ray\. Run: pip install 'structopt-trainer\[ray\]'"
    ):
        Ray()
