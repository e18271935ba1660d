"""A limit on the time of work that nobody needs to wait for, such as the evaluation of a run that
was interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn


# no Exception: no handler of errors on the way shall take it for one
class TimeIsUp(BaseException):
    """The time is up."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the work that is done while this lasts, once it has taken so long.

    In other threads than the main one, and on systems without timers, it is raised at once.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        raise TimeIsUp
    with alarm(seconds, _raise):
        yield


@contextmanager
def alarm(seconds: float, handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Have a handler called once so many seconds have passed, unless the work within has ended; in
    the main thread.
    """
    before = signal.signal(signal.SIGALRM, handler)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeIsUp
