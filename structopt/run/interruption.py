"""Interrupts that are not lost: Python drops the exception of a Ctrl-C that comes while a finaliser or a callback runs.

It prints such an exception at most, and goes on. So the signal is also noted, and `obey` raises it where work can end cleanly.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from structopt.kernels.waist import compiling

_noted = threading.Event()


@contextmanager
def noted() -> Iterator[None]:
    """Note interrupts while this lasts, beside raising them as Python does.

    Only Python's own handler is replaced, not one of the program that calls us, nor a signal that is ignored, as shells do for
    background jobs.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _interrupt)
    unraisable = sys.unraisablehook
    sys.unraisablehook = _all_but_interrupts(unraisable)
    compiling.BETWEEN.append(obey)
    try:
        yield
    finally:
        compiling.BETWEEN.remove(obey)
        sys.unraisablehook = unraisable
        _noted.clear()
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def obey() -> None:
    """Raise an interrupt that was noted and lost.

    Raises
    ------
    KeyboardInterrupt
        If one was noted.
    """
    if _noted.is_set():
        raise KeyboardInterrupt


def heard() -> None:
    """Forget an interrupt that was noted: it has reached who ends the work."""
    _noted.clear()


def _all_but_interrupts(hook: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The hook for exceptions that Python drops, which is not called for interrupts: they are noted, and raised later."""

    def call(dropped: Any) -> None:
        if not (_noted.is_set() and issubclass(dropped.exc_type, KeyboardInterrupt)):
            hook(dropped)

    return call


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _noted.set()
    raise KeyboardInterrupt
