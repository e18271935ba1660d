"""What a round over Ray's workers costs, and whether a simulation from these costs tells how long
rounds of 1, 2, 4 workers take.

The constants and the last table of `docs/scaling.md` are printed by it, on an otherwise idle
machine.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pytest

from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.executor.ray import Ray
from structopt.kernels.waist.record import Array
from structopt.learning.mixing import Mixed
from structopt.objective.pass_shards import Passes
from structopt.objective.problem import Problem
from structopt.run.components import make_components
from structopt.run.reading import read

pytestmark = pytest.mark.benchmark
ray = pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
FILE = Path(os.environ.get("STRUCTOPT_DATA", "")) / "conll2003" / "eng.train.gz"
SHARDS, ROUNDS = 8, 3


class Costs(NamedTuple):
    """Seconds of a call of a shard without work, and a byte, out (once a round) and in (every
    shard).
    """

    call: float
    out: float
    back: float


def simulated(
    costs: Costs, seconds: Sequence[float], workers: int, cores: int, out: float, back: float
) -> float:
    """Seconds of a round: arguments go out, shards are computed by their workers in turn, results
    are read in their order.
    """
    sent = costs.out * out
    slower = max(1.0, workers / cores)
    free, ended = [sent] * workers, []
    for shard, took in enumerate(seconds):
        worker = shard % workers
        free[worker] += took * slower
        ended.append(free[worker])
    now = sent
    for end in ended:
        now = max(now, end) + costs.call + costs.back * back
    return now


class Nothing:
    """A shard without work."""

    def __init__(self, data: int) -> None:
        self.data = data

    def answer(self, array: Array) -> Array:
        return array

    def take(self, array: Array) -> None:
        return


def timed_rounds(run: Callable[[], Any], count: int = ROUNDS) -> float:
    """The median of the seconds of some rounds, after one that is not counted."""
    seconds = []
    for _ in range(count + 1):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return median(seconds[1:])


def measured_costs(executor: Ray) -> Costs:
    """Of rounds without work, with nothing and with 8 MB to send."""
    placement = executor.place(Nothing, range(SHARDS))
    empty, full = np.zeros(0), np.ones(1_000_000)
    nothing = timed_rounds(lambda: list(placement.call("take", empty)), 9)
    out = timed_rounds(lambda: list(placement.call("take", full)), 9)
    both = timed_rounds(lambda: [one.sum() for one in placement.call("answer", full)], 9)
    print(
        f"\n{SHARDS} shards, no work: {1e3 * nothing:.1f} ms; 8 MB out {1e3 * out:.1f} ms; and "
        f"in {1e3 * both:.1f} ms"
    )
    return Costs(
        nothing / SHARDS,
        max(0.0, out - nothing) / full.nbytes,
        max(0.0, both - out) / SHARDS / full.nbytes,
    )


def read_problem() -> Problem:
    words = ["task=ner", f"task.train={FILE}", "task.limit=3000", "tracker=none"]
    config = validate(compose(words))
    return read(config, make_components(config)).problem


def round_of(name: str, problem: Problem) -> Callable[[], Any]:
    """A function that makes one round: an evaluation of the gradient, or a mixed pass."""
    if name == "lbfgs":
        return lambda: problem.gradient(np.zeros(problem.dimension))
    method = Mixed(registry.create("optimizer", {"name": name}), SHARDS, Passes)
    states = [method.step(problem, method.init(problem, np.zeros(problem.dimension)))[0]]
    return lambda: states.append(method.step(problem, states.pop())[0])


@pytest.mark.skipif(not FILE.is_file(), reason="CoNLL-2003 is not there (STRUCTOPT_DATA)")
def test_rounds_of_one_two_and_four_workers() -> None:
    cores = len(os.sched_getaffinity(0))
    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray.init("local", num_cpus=7, include_dashboard=False, log_to_driver=False)
    executors = {
        workers: Ray(workers=workers, shards=SHARDS, mixing=SHARDS) for workers in (1, 2, 4)
    }
    costs = measured_costs(executors[4])
    print(
        f"{cores} cores; a call {1e3 * costs.call:.2f} ms; out {1e9 * costs.out:.2f} s/GB; in "
        f"{1e9 * costs.back:.2f} s/GB"
    )
    problem = read_problem()
    for name in ("lbfgs", "dca"):
        alone, own = [0.0], 0.0
        tokens, weights = int(problem.examples.encoded.offsets[-1]), 8e-6 * problem.scorer.count
        for workers in (1, 2, 4):
            account = executors[workers].account
            problem.executor = executors[workers]
            make = round_of(name, problem)
            seconds, before = timed_rounds(make), account.copied()
            make()
            spent = {key: value or 0.0 for key, value in account.since(before).items()}
            if workers == 1:
                alone = [spent["compute_seconds"] / SHARDS] * SHARDS
                own = seconds - spent["waiting_seconds"] - spent["serialization_seconds"]
            expected = own + simulated(
                costs, alone, workers, cores, spent["bytes_out"], spent["bytes_in"] / SHARDS
            )
            print(
                f"{name}, {workers} workers: {seconds:.3f} s, simulated {expected:.3f} s "
                f"({seconds / expected:.2f}); a token "
                f"{1e6 * sum(alone) / tokens:.2f} us; out {spent['bytes_out'] / 1e6:.1f} MB, in "
                f"{spent['bytes_in'] / 1e6:.1f} MB "
                f"(the weights: {weights:.1f} MB); waiting {spent['waiting_seconds']:.3f} s, "
                "serialization "
                f"{spent['serialization_seconds']:.3f} s, work of the one that trains {own:.3f} s"
            )
    for executor in executors.values():
        executor.close()
    ray.shutdown()
