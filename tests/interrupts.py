"""Processes that hear Ctrl-C: a shell lets its background jobs ignore it, and their children inherit that."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def hear_interrupts() -> None:
    """Before a child begins: it shall not inherit that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def heard_interrupts() -> Iterator[None]:
    """The same for this process, for a while."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
