"""How long this process has been making kernels ready, and which one is under way: compiled, or
read from the cache on disk.
"""

from __future__ import annotations

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
    """

    kernel: str = ""
    since: float = 0.0
    compiled: int = 0
    seconds: float = 0.0


STATE = Compiling()
BETWEEN: list[Callable[[], None]] = []
"""What is called after every kernel: Numba may drop the exception of an interrupt that comes while
it compiles one.
"""


@contextmanager
def under_way(kernel: str) -> Iterator[None]:
    """Note the time that a kernel takes."""
    STATE.kernel, STATE.since = kernel, time.perf_counter()
    try:
        yield
    finally:
        STATE.seconds += time.perf_counter() - STATE.since
        STATE.kernel = ""
    for call in BETWEEN:
        call()


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
