"""Processes that hear signals: shells let background jobs ignore Ctrl-C, nohup SIGHUP, and their children inherit that."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SOON = 0.3
"""Seconds until `interrupted_soon` interrupts."""


def hear_interrupts() -> None:
    """Before a child begins: it shall not inherit that interrupts are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def heard_interrupts() -> Iterator[None]:
    """The same for this process, for a while."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interrupted_soon() -> Iterator[None]:
    """Ctrl-C comes, once."""
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    timer = signal.setitimer(signal.ITIMER_REAL, SOON)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)
