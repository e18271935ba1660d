"""Processes that hear signals: shells let background jobs ignore Ctrl-C, nohup SIGHUP, and their
children inherit that.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from structopt.process.time_limit import alarm

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
    with alarm(SOON, signal.default_int_handler):
        yield
