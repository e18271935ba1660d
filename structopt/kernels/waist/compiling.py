"""How long this process has been making kernels ready, and which one is under way: compiled, or
read from the cache on disk.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Compiling:
    """What is known of this process.

    Attributes
    ----------
    kernel : str
        The kernel that is being compiled or read; empty between two.
    since : float
        When that began, on `time.perf_counter`'s clock.
    compiled : int
        Kernels that were compiled, instead of read from the cache.
    seconds : float
        Spent so far, without the kernel that is under way.
    compiling : float
        Seconds in which kernels were compiled.
    shown : bool
        Whether a display shows it.
    """

    kernel: str = ""
    since: float = 0.0
    compiled: int = 0
    seconds: float = 0.0
    compiling: float = 0.0
    shown: bool = False


STATE = Compiling()
PATIENCE = 3.0
"""Seconds of compiling after which a warning is logged if no display shows it."""
log = logging.getLogger(__name__)
BETWEEN: list[Callable[[], None]] = []
"""What is called after every kernel: Numba may drop the exception of an interrupt that comes while
it compiles one.
"""


@contextmanager
def under_way(kernel: str) -> Iterator[None]:
    """Note the time that a kernel takes."""
    STATE.kernel, STATE.since = kernel, time.perf_counter()
    before = STATE.compiled
    try:
        yield
    finally:
        seconds = time.perf_counter() - STATE.since
        STATE.seconds += seconds
        STATE.kernel = ""
    if STATE.compiled > before:
        _warn(seconds)
    for call in BETWEEN:
        call()


def _warn(seconds: float) -> None:
    """Warn once if compiling takes long and no display shows it."""
    waited = STATE.compiling < PATIENCE
    STATE.compiling += seconds
    if waited and STATE.compiling >= PATIENCE and not STATE.shown:
        log.warning(
            "Compiling kernels, once per version, takes about a minute. The command structopt "
            "compile, or structopt.compile(batch) in Python, does it ahead."
        )


class Stopwatch:
    """Seconds since it was made, without those in which kernels were compiled or read: they are no
    part of any pass.
    """

    def __init__(self) -> None:
        self._started = time.perf_counter() - STATE.seconds

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - STATE.seconds - self._started
