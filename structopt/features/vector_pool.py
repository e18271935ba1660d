"""Vectors that threads borrow: allocating a large one takes longer than filling it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from structopt.kernels.waist.record import Array


class VectorPool:
    """Vectors that no thread is using: as many as were ever in use at once. A copy in another
    process begins empty.
    """

    def __init__(self) -> None:
        self._idle: deque[Array] = deque()

    def __reduce__(self) -> tuple[Any, ...]:
        return VectorPool, ()

    @contextmanager
    def lend(self, length: int) -> Iterator[Array]:
        """Lend a vector of some length, with any numbers in it."""
        try:
            vector = self._idle.pop()
        except IndexError:
            vector = np.empty(length)
        if len(vector) < length:
            vector = np.empty(length)
        try:
            yield vector[:length]
        finally:
            self._idle.append(vector)
