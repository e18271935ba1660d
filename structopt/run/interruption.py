"""Interrupts that are not lost: Python drops the exception of a Ctrl-C that comes while a finaliser or a callback runs.

It prints such an exception at most, and goes on. So the signal is also noted, and `obey` raises it where work can end cleanly.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

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
    compiling.BETWEEN.append(obey)
    try:
        yield
    finally:
        compiling.BETWEEN.remove(obey)
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


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _noted.set()
    raise KeyboardInterrupt
