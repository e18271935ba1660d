"""Signals that end a run, all in the same way: Ctrl-C, a request to terminate, a terminal that was
closed. None is lost.

Python drops the exception of a signal that comes while a finaliser or a callback runs: it prints
such an exception at most, and goes on. So the signal is also noted, and `obey` raises it where work
can end cleanly.
"""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from structopt.kernels.waist import compiling
from structopt.process import folder_lock

DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""The signals that end a run, and the handlers of them that are replaced."""
HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none
if HANGUP is not None:
    DEFAULTS[HANGUP] = signal.SIG_DFL
ONE_EVENT = 1.0
"""Seconds in which further signals count as the first: shells and terminals send some twice."""


class Signals:
    """The signals that came while they are noted.

    Attributes
    ----------
    number : int or None
        Of the first one; None where none came.
    closing : bool
        Whether closing work has begun since it came.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.preparations: list[Callable[[], None]] = []
        self.put_off = 0
        self.closing = False
        self._came = 0.0

    @property
    def exit_code(self) -> int:
        """Of a process that such a signal ends: 130 after Ctrl-C."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def name(self) -> str:
        """How the run was ended, in a word or two."""
        return (
            f"interrupted by {signal.Signals(self.number).name}"
            if self.number not in (None, signal.SIGINT)
            else "interrupted"
        )

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Note a signal and raise KeyboardInterrupt; at a second one of an impatient user, end the
        process at once.
        """
        if self.number is None:
            self.number, self._came = number, time.monotonic()
            silence_closed_terminal()
            for prepare in self.preparations:
                prepare()
            if not self.put_off:
                raise KeyboardInterrupt
        elif number != HANGUP and time.monotonic() - self._came > ONE_EVENT:
            end_at_once(128 + number)


_signals: Signals | None = None


@contextmanager
def noted() -> Iterator[Signals]:
    """Note the signals that end a run while this lasts, beside raising them as KeyboardInterrupt.

    Only Python's own handlers are replaced, not those of the program that calls us, nor those of
    signals that are ignored, as ``nohup`` does, and shells for background jobs. Within itself it
    changes nothing.
    """
    global _signals
    if _signals is not None or threading.current_thread() is not threading.main_thread():
        yield _signals or Signals()
        return
    _signals = Signals()
    replaced = [
        number for number, default in DEFAULTS.items() if signal.getsignal(number) is default
    ]
    for number in replaced:
        signal.signal(number, _signals.handle)
    unraisable = sys.unraisablehook
    sys.unraisablehook = _all_but_interrupts(unraisable)
    compiling.BETWEEN.append(obey)
    try:
        yield _signals
    finally:
        compiling.BETWEEN.remove(obey)
        sys.unraisablehook = unraisable
        _signals = None
        for number in replaced:
            signal.signal(number, DEFAULTS[number])


def obey() -> None:
    """Raise an interrupt that was noted and lost, or was put off and is no more.

    Raises
    ------
    KeyboardInterrupt
        If one was noted.
    """
    if _signals is not None and _signals.number is not None and not _signals.put_off:
        raise KeyboardInterrupt


@contextmanager
def put_off() -> Iterator[None]:
    """Let the closing work of a run come to its end: a first signal is noted only, a second one
    ends the process at once.
    """
    silence_closed_terminal()
    signals = _signals or Signals()
    signals.put_off += 1
    try:
        yield
    finally:
        signals.closing = signals.number is not None
        signals.put_off -= 1


@contextmanager
def not_put_off() -> Iterator[None]:
    """Raise interrupts at once in work within `put_off` that may be dropped.

    Raises
    ------
    KeyboardInterrupt
        Also at the begin, if an interrupt was noted before.
    """
    signals = _signals or Signals()
    before, signals.put_off = signals.put_off, 0
    try:
        obey()
        yield
    finally:
        signals.put_off = before


@contextmanager
def before_errors() -> Iterator[None]:
    """Let an interrupt come before an error that it led to: an import or a library that was
    interrupted midway may raise its own.

    Errors of closing work, such as a full disk, are raised as they are.
    """
    try:
        yield
    except Exception:
        if _signals is not None and not _signals.closing:
            obey()
        raise


@contextmanager
def prepared(prepare: Callable[[], None]) -> Iterator[None]:
    """Have something done at the first signal, before it is raised."""
    signals = _signals or Signals()
    signals.preparations.append(prepare)
    try:
        yield
    finally:
        signals.preparations.remove(prepare)


def request() -> None:
    """End the work of this process as a signal would, from any of its threads; nothing where one
    came before.
    """
    if _signals is None or _signals.number is not None:
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) == _signals.handle:
            # which also ends a system call of the main thread that waits
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, number)
            else:
                _thread.interrupt_main(number)
            return


def end_at_once(code: int) -> None:
    """End the process now, and say where its last checkpoint is."""
    folders = folder_lock.held_folders()
    where = f" The last checkpoint in {folders[0]} is whole." if folders else ""
    with suppress(OSError):
        os.write(2, f"\nstructopt: ended at once.{where}\n".encode())
    folder_lock.release_all()
    os._exit(code)


def silence_closed_terminal() -> None:
    """Where the terminal of stdout or stderr was closed, send what is written there nowhere, so
    that no run fails by it.

    Who ignores SIGHUP, as ``nohup`` does, is not told that it was closed.
    """
    try:
        import termios
    except ImportError:
        return
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError, AttributeError):  # no stream, or no descriptor
            descriptor = stream.fileno()  # type: ignore[union-attr]
            try:
                termios.tcgetattr(descriptor)
            except termios.error as error:
                if error.args[0] == errno.EIO:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _all_but_interrupts(hook: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The hook for exceptions that Python drops, which is not called for interrupts: they are
    noted, and raised later.
    """

    def call(dropped: Any) -> None:
        if not (
            _signals is not None
            and _signals.number is not None
            and issubclass(dropped.exc_type, KeyboardInterrupt)
        ):
            hook(dropped)

    return call
