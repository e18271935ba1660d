"""A thread that does operations in order, so that the caller neither waits for them nor fails with them."""

from __future__ import annotations

import atexit
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_LAST_LIMIT = 3.0


@dataclass(frozen=True)
class Operation:
    """An action, the seconds it may take, and whether to try it even after a failure."""

    action: Callable[[], None]
    limit: float
    always: bool = False


class Background:
    """Does operations in order in one thread; after the first failure it skips all but those marked ``always``."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._broken = False
        self._closed = self._stuck = False
        self._deadline = math.inf
        self._thread = threading.Thread(target=self._loop, name="structopt-tracker", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def put(self, action: Callable[[], None], limit: float, always: bool = False) -> None:
        """Queue an operation."""
        if not self._closed:
            self._queue.put(Operation(action, limit, always))

    def close(self, backlog: float) -> None:
        """Wait until all is done, but no longer than an operation's limit or `backlog` seconds in all."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        end = time.monotonic() + backlog
        while self._thread.is_alive() and time.monotonic() < min(end, self._deadline):
            self._thread.join(0.05)
        if backlog and self._thread.is_alive():
            self._stuck = True
            self._break("the store does not answer")

    def _loop(self) -> None:
        """Do the queued operations until the queue is closed."""
        while (operation := self._queue.get()) is not None:
            if not self._broken or operation.always:
                limit = min(operation.limit, _LAST_LIMIT) if self._broken else operation.limit
                self._deadline = time.monotonic() + limit
                self._do(operation)
            self._deadline = math.inf

    def _do(self, operation: Operation) -> None:
        """Do one operation; the first failure is warned of and ends the recording."""
        try:
            operation.action()
        except BaseException as error:  # a tracker never costs a trained model
            first = (str(error).strip() or "no message").splitlines()[0][:300]
            self._break(f"{type(error).__name__}: {first}")

    def _break(self, reason: str) -> None:
        """End the recording; warn at the first call."""
        with self._lock:
            was_broken, self._broken = self._broken, True
        if not was_broken:
            self._warn(reason)

    def _leave(self) -> None:
        """Let the operation under way end before the interpreter does: a thread cut off in C++ code would abort it."""
        self._broken = True
        self.close(0.0)
        self._thread.join(0.0 if self._stuck else 10.0)
