"""Long calls outside Python that an interrupt ends early: compiled passes, and solvers of other
libraries.

Python handles signals in the main thread alone, and only between its own instructions. So the main
thread has another thread make the call, and waits. An exception of a signal's handler, such as
Ctrl-C's, then comes at once: the call is made to end, which kernels do that poll
`structopt.kernels.waist.halting.halted`, is waited for, and its result is thrown away. Nothing goes
on in the background that still writes into arrays of the run.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from structopt.kernels.waist import halting
from structopt.kernels.waist.drivers import Driver, P, Result

if TYPE_CHECKING:  # it compiles
    from structopt.kernels.waist.signatures import Data, Kernels, Space

# seconds between two looks of the waiting thread, for systems where a signal does not wake it
TICK = 0.2

_stops: set[Callable[[], None]] = set()
"""What makes the calls of other libraries end that are under way."""


def call(
    function: Callable[..., Any], *arguments: Any, stop: Callable[[], None] | None = None
) -> Any:
    """Call a function that releases the GIL, and return its result.

    Parameters
    ----------
    function : callable
    *arguments
    stop : callable or None
        Makes a call end that does not poll; called in another thread.

    Raises
    ------
    KeyboardInterrupt
        Or another exception of a signal's handler, in the main thread; in other threads, where work
        was halted.
    """
    with _stopped_by(stop):
        if threading.current_thread() is threading.main_thread():
            return _beside(function, arguments)
        result = function(*arguments)
    obey()
    return result


def run_driver(
    driver: Driver[P, Result],
    kernels: Kernels,
    data: Data,
    space: Space,
    *arguments: P.args,
    **named: P.kwargs,
) -> Result:
    """Call a driver: compiled, or its Python source when a kernel is a plain Python function.
    Interrupts end either.
    """
    if kernels.compiled:
        made = partial(driver, kernels, data, space, *arguments, **named)
        return cast(Result, call(made))
    result = driver.py_func(kernels, data, space, *arguments, **named)
    obey()
    return result


def run_quick(
    driver: Driver[P, Result],
    kernels: Kernels,
    data: Data,
    space: Space,
    *arguments: P.args,
    **named: P.kwargs,
) -> Result:
    """Call a driver as `run_driver` does, in this thread.

    A call in another thread takes longer than inference on one sentence, and has to load the data
    from the caches of another core. An interrupt waits for the end of a call in this thread, which
    must take less than 0.2 s.
    """
    run = driver if kernels.compiled else driver.py_func
    result = run(kernels, data, space, *arguments, **named)
    obey()
    return result


def obey() -> None:
    """End the work of this thread where the main thread was interrupted.

    Raises
    ------
    KeyboardInterrupt
        If so.
    """
    if halting.halted():
        raise KeyboardInterrupt


@contextmanager
def halted_work() -> Iterator[None]:
    """While this lasts, calls that are under way in other threads end early."""
    halting.halt(True)
    for stop in list(_stops):
        stop()
    try:
        yield
    finally:
        halting.halt(False)


def insist(wait: Callable[[], Any]) -> None:
    """Wait for work that was halted, whatever other interrupts come."""
    while True:
        try:
            wait()
        except KeyboardInterrupt:
            continue
        return


@contextmanager
def _stopped_by(stop: Callable[[], None] | None) -> Iterator[None]:
    if stop is None:
        yield
        return
    _stops.add(stop)
    try:
        yield
    finally:
        _stops.discard(stop)


RUNS, CANCELLED = "runs", "cancelled"


class _Task:
    """A call that another thread makes, unless it is cancelled before it begins.

    An interrupt may come between any two steps of the waiting thread, so that each of them can be
    repeated.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._fate: dict[str, str] = {}  # who was first: `dict.setdefault` is one step
        self._ended = _thread.allocate_lock()
        self._ended.acquire()

    def run(self) -> None:
        """Make the call."""
        if self._fate.setdefault("is", RUNS) != RUNS:
            return
        try:
            self.result = self.function(*self.arguments)
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self._ended.release()

    def wait(self) -> None:
        """Wait for its end."""
        while not self.done:
            self._ended.acquire(timeout=TICK)

    def cancel(self) -> None:
        """See to it that the call does not begin; one that has begun is waited for."""
        if self._fate.setdefault("is", CANCELLED) == RUNS:
            self.wait()


_queues: dict[int, SimpleQueue[_Task]] = {}
"""By process: what the thread is to do that makes the calls. It stays: solvers keep threads of
their own for each caller.
"""


def _tasks() -> SimpleQueue[_Task]:
    """The queue of this process, which a fork has not."""
    process = os.getpid()
    if process not in _queues:
        _queues.clear()
        _queues[process] = SimpleQueue()
        _thread.start_new_thread(_serve, (_queues[process],))
    return _queues[process]


def _serve(tasks: SimpleQueue[_Task]) -> None:
    while True:
        tasks.get().run()


def _beside(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Make the call in another thread, while this one waits and hears signals."""
    task = _Task(function, arguments)
    try:
        _tasks().put(task)
        task.wait()
    except BaseException:
        with halted_work():
            insist(task.cancel)
        raise
    if task.error is not None:
        raise task.error
    return task.result
