"""An interrupt that nobody can swallow: what Python raises for Ctrl-C is lost where it lands in a finaliser or a callback.

Python prints such an exception at most, and goes on. So the signal is also noted, and asked for where work can end cleanly.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_noted = threading.Event()


@contextmanager
def noted() -> Iterator[None]:
    """Note interrupts while this lasts, and raise them as ever.

    Only Python's own handler is replaced: a program that started this one with the signal ignored, as a shell does for its
    background jobs, or that handles it itself, keeps its way.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        _noted.clear()
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def obey() -> None:
    """Raise an interrupt that came and was swallowed.

    Raises
    ------
    KeyboardInterrupt
        If one was noted.
    """
    if _noted.is_set():
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _noted.set()
    raise KeyboardInterrupt
