"""How often Python looks for garbage."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW = 200_000
"""Objects that come before Python looks through them; its own 700 fit programs that make few which
stay.
"""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """While this lasts, let Python look for cycles of objects seldom.

    What a command makes at its start stays: modules, kernels, configs. Looking through it again and
    again takes a fifteenth of a short command. Objects that no cycle holds are freed at once, as
    ever.
    """
    before = gc.get_threshold()
    gc.set_threshold(NEW, *before[1:])
    try:
        yield
    finally:
        # All objects become old, so that the lower threshold starts no search through new ones.
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(*before)


def not_collected_at_exit() -> None:
    """Let the process end without a search for cycles of objects, until which all modules stay.

    The searches at the end of Python take 0.2 s of a command that trains. Files must therefore be
    closed by their writers: those in cycles are not flushed.
    """
    atexit.unregister(gc.freeze)  # of an earlier command in this process
    atexit.register(gc.freeze)
