"""What every executor promises: each shard once, results in shard order, and sums with the same
bits as in one thread.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import Any

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.executor import Executor
from structopt.testing.problems import make_problem, random_encoded, random_weights
from structopt.testing.promises import promises, required


@promises("executor")
class ExecutorSuite:
    """Override the fixture `executor`, which returns the executor under test."""

    @required
    def executor(self) -> Any:
        """Return the executor under test, with at least one worker."""

    def test_has_workers(self, executor: Executor) -> None:
        """At least one.

        Set `workers` in the constructor, a whole number from 1 on.
        """
        assert isinstance(executor.workers, int)
        assert executor.workers >= 1

    def test_results_come_in_shard_order(self, executor: Executor) -> None:
        """Though the first shards take longest; no shards give no results.

        Return a list with one result for each shard, in the order of `shards`, not in the order in
        which they end.
        """
        assert executor.map(_slow_square, [(9 - k, k) for k in range(10)]) == [
            k * k for k in range(10)
        ]
        assert executor.map(_slow_square, []) == []

    def test_every_shard_once(self, executor: Executor) -> None:
        """No shard is left out or done twice, from one call to the next.

        Call `function` once for each shard of every call of `map`.
        """
        done, lock = [], Lock()

        def record(shard: int) -> None:
            with lock:
                done.append(shard)

        for _ in range(3):
            executor.map(record, range(20))
        assert sorted(done) == sorted([*range(20)] * 3)

    def test_errors_reach_the_caller(self, executor: Executor) -> None:
        """An exception of a shard is raised, and the executor can be used again.

        Raise the exception of a shard in `map`, and leave the workers ready for the next call.
        """
        with pytest.raises(ZeroDivisionError):
            executor.map(lambda shard: 1 // shard, [2, 1, 0])
        assert executor.map(abs, [-1, 2]) == [1, 2]

    def test_shards_are_made_once_and_stay(self, executor: Executor) -> None:
        """Each keeps its state from call to call; results come in shard order, also where every
        shard has an argument.

        `place` calls `make` once for each shard and keeps the objects; `call` calls the method on
        all of them, with the arguments in `common` and, of `each`, with one more for every shard.
        Return `InThisProcess(make, shard_data, workers)` where that will do.
        """
        placement = executor.place(Counter, [10, 20, 30])
        assert list(placement.call("add", 1)) == [11, 21, 31]
        assert list(placement.call("add", each=[1, 2, 3])) == [12, 23, 34]

    def test_what_shards_keep_is_sent_where_they_have_it_not(self, executor: Executor) -> None:
        """Before the first call that gives it, and after `renew`; not in between.

        In `call` with `restore`, call the method ``restore`` of each shard k with ``restore[k]``
        first, if the shard was made or `renew` was called since the last call with `restore`.
        """
        placement = executor.place(Counter, [10, 20, 30])
        assert list(placement.call("add", 1, restore=[1, 2, 3])) == [2, 3, 4]
        assert list(placement.call("add", 1, restore=[50, 60, 70])) == [3, 4, 5]
        placement.renew()
        assert list(placement.call("add", 1)) == [4, 5, 6]
        assert list(placement.call("add", 1, restore=[50, 60, 70])) == [51, 61, 71]

    def test_same_bits_as_in_one_thread(self, executor: Executor) -> None:
        """Loss and gradient over all instances do not depend on the executor.

        Return the results of shards as they are, in their order: do not add them up, and do not
        divide shards further.
        """
        names = {"factor_graph": "linear_chain", "loss": "crf", "inference": "exact"}
        graph, loss, inference = (
            registry.create(kind, {"name": name}) for kind, name in names.items()
        )
        problem = make_problem(
            random_encoded(0, lengths=(3, 1, 4, 2, 5, 3, 2, 6, 1, 4)), graph, loss, inference
        )
        weights = random_weights(problem, 1)
        expected = problem.gradient(weights)
        problem.executor = executor
        losses, gradient = problem.gradient(weights)
        assert losses == expected[0]
        np.testing.assert_array_equal(gradient, expected[1])


class Counter:
    """A shard that adds up numbers."""

    def __init__(self, start: int) -> None:
        self.total = start

    def restore(self, total: int) -> None:
        """Go on from this sum."""
        self.total = total

    def add(self, more: int) -> int:
        """Add, and return the sum."""
        self.total += more
        return self.total


def _slow_square(shard: tuple[int, int]) -> int:
    time.sleep(shard[0] / 1000)
    return shard[1] ** 2
