"""Threads that share the visits of a batch: bit-identical results for any number of them, errors
and interrupts.
"""

import time
from dataclasses import fields

import numpy as np
import pytest

from structopt.executor.threads import Threads
from structopt.kernels.learn import helpers
from structopt.kernels.waist.halting import halted
from structopt.learning import minibatches
from structopt.optimizer.adadelta import AdaDelta
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.optimizer.dlpw import DLPW
from structopt.optimizer.pegasos import Pegasos
from tests.interrupts import SOON, interrupted_soon
from tests.optimizer.online import problem_of, run
from tests.optimizer.shipped import shipped
from tests.optimizer.test_any_scorer import Squared, problem_with
from tests.parts import gate_cases

TASKS = {
    "ner": (),
    "dependency": ("features.hash_bits=14",),
    "coreference": ("features.hash_bits=12", "loss.cost=coreference", "loss.gamma=1"),
    "constituency": (),
    "summarization": ("task.budget=50", "loss.cost=bigram_recall"),
    "multilabel": ("inference=lp",),
}
METHODS = {
    "adagrad": AdaGrad(eta=0.2, batch_size=5, average=True),
    "adagrad, large batches": AdaGrad(eta=0.2, batch_size=1000),
    "adadelta": AdaDelta(batch_size=7),
    "pegasos": Pegasos(batch_size=5, average=True),
    "cutting_plane": CuttingPlane(),
}


def outcome(method, problem, threads, passes=2):
    """All arrays of the state after some passes, the losses, and the messages."""
    problem.executor = Threads(workers=threads)
    problem.messages[:] = 0.0
    state, losses = run(method, problem, passes)
    arrays = [getattr(state, field.name) for field in fields(state)]
    return [np.asarray(array) for array in (*arrays, losses, problem.messages) if array is not None]


def check_threads(method, problem, numbers=(2, 3), passes=2):
    expected = outcome(method, problem, 1, passes)
    for threads in numbers:
        for ours, theirs in zip(outcome(method, problem, threads, passes), expected, strict=True):
            assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", gate_cases(list(TASKS), "rest", ("ner", "dependency")))
def test_bits_do_not_depend_on_threads(task, name, tmp_path):
    check_threads(METHODS[name], shipped(task, "svm", 1.0, tmp_path, "adagrad", 24, TASKS[task]))


def test_networks_share_the_decoding_of_a_batch():
    check_threads(AdaGrad(eta=0.2, batch_size=4, average=True), problem_with(Squared()))


def test_many_rounds_of_a_batch(monkeypatch, tmp_path):
    """Batches with more visits than there are slots."""
    monkeypatch.setattr(minibatches, "VISITS", 2)
    problem = shipped("ner", "svm", 1.0, tmp_path, limit=60)
    check_threads(AdaGrad(eta=0.2, batch_size=25, average=True), problem)


def test_messages_are_kept_per_instance(tmp_path):
    more = ("inference=kept/mplp", "inference.passes=3")
    problem = shipped("multilabel", "svm", 1.0, tmp_path, "dlpw", 30, more)
    assert len(problem.messages)
    check_threads(DLPW(batch_size=6), problem)
    check_threads(CuttingPlane(), problem)


def test_a_full_cache_of_planes(tmp_path):
    """Visits behind the plane without a free slot are made again."""
    problem = shipped("ner", "svm", 10.0, tmp_path, limit=40)
    check_threads(CuttingPlane(cache_mb=0.05), problem, passes=4)


def test_kernels_in_python(monkeypatch):
    problem = problem_of(lengths=(2, 1, 3, 2, 1))
    problem.kernels = problem.kernels._replace(
        **{name: getattr(problem.kernels, name).py_func for name in ("scores", "pullback")}
    )
    check_threads(AdaGrad(batch_size=4), problem, passes=1)


def test_an_error_of_a_helper_ends_the_pass(monkeypatch):
    problem = problem_of(lengths=(2, 1, 3, 2, 1) * 4)

    def failing(*_arguments):
        raise ZeroDivisionError("a helper")

    monkeypatch.setattr(helpers, "help_lazily", failing)
    monkeypatch.setattr(failing, "py_func", failing, raising=False)
    problem.executor = Threads(workers=2)
    with pytest.raises(ZeroDivisionError, match="a helper"):
        run(AdaGrad(batch_size=10), problem, 3)


def test_an_interrupt_ends_all_threads(tmp_path):
    problem = shipped("ner", "svm", 1.0, tmp_path, limit=40)
    problem.executor = Threads(workers=2)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_soon():
        run(AdaGrad(batch_size=10), problem, 100_000)
    assert time.monotonic() - began < SOON + 5
    assert not halted()


def test_one_thread_where_workers_are_processes():
    problem = problem_of()
    problem.executor = Threads(workers=4)
    assert [problem.threads(most) for most in (1, 3, 10)] == [1, 3, 4]
    problem.executor.remote = True
    assert problem.threads(10) == 1
