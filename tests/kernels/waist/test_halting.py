"""Long calls outside Python end early where the main thread is interrupted; kernels and Python
share the count of visits.
"""

import threading
import time
from typing import Any

import numpy as np
import pytest
from numba import types

from structopt.core.data import structure
from structopt.executor.threads import Threads
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.waist import halting, interruptible
from structopt.kernels.waist.halting import count_visit, halted
from structopt.kernels.waist.signatures import kernel
from structopt.loss.family import LossFamily
from structopt.testing.problems import make_problem, random_encoded
from tests.interrupts import SOON, interrupted_soon

FOREVER = 10**15


@kernel(types.int64(types.int64))
def count_up(n: Any) -> Any:
    t = 0
    for i in range(n):
        if halted():
            return -1
        if i % 1000 == 0:
            count_visit()
        t += i
    return t


def test_results_and_errors_come_back() -> None:
    before = halting.visits()
    assert interruptible.call(count_up, 5000) == 5000 * 4999 // 2
    assert halting.visits() == before + 5
    with pytest.raises(ZeroDivisionError):
        interruptible.call(lambda: 1 // 0)


def test_a_compiled_loop_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_soon():
        interruptible.call(count_up, FOREVER)
    assert time.monotonic() - began < SOON + 5
    assert not halted()
    assert interruptible.call(count_up, 3) == 3


def test_loops_in_threads_are_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_soon():
        Threads(workers=2).map(lambda n: interruptible.call(count_up, n), [FOREVER] * 8)
    assert time.monotonic() - began < SOON + 5
    assert not halted()
    assert Threads(workers=2).map(lambda n: interruptible.call(count_up, n), [3] * 8) == [3] * 8


def test_a_call_that_does_not_poll_is_told_to_stop() -> None:
    told = threading.Event()
    with pytest.raises(KeyboardInterrupt), interrupted_soon():
        interruptible.call(told.wait, 60.0, stop=told.set)
    assert told.is_set()


def test_other_threads_end_where_work_was_halted() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            interruptible.call(count_up, FOREVER)
        except KeyboardInterrupt as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    with interruptible.halted_work():
        thread.join(10.0)
    assert len(errors) == 1


def test_visits_are_counted() -> None:
    problem = make_problem(random_encoded(0), LinearChain(), LossFamily(), Exact())
    before = halting.visits()
    problem.losses(np.zeros(problem.dimension))
    assert halting.visits() == before + problem.m


def test_short_gradients_are_computed_in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, beside = list[Any](), interruptible._beside
    monkeypatch.setattr(
        interruptible, "_beside", lambda *call: (calls.append(call), beside(*call))[1]
    )

    def gradient() -> tuple[float, Any]:
        problem = make_problem(random_encoded(0), LinearChain(), LossFamily(), Exact())
        return problem.gradient(np.linspace(-1.0, 1.0, problem.dimension))

    loss, sums = gradient()
    assert not calls
    monkeypatch.setattr(structure, "FEW_PARTS", 0)
    other_loss, other_sums = gradient()
    assert calls
    assert other_loss == loss
    assert np.array_equal(other_sums, sums)
