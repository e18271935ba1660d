"""A thread that does operations in order, so that the caller neither waits for them nor fails with
them.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from structopt.tracker.recorder import NotRecordedError

_LAST_LIMIT = 3.0


@dataclass(frozen=True)
class Operation:
    """An action, the seconds it may take, whether to try it even after a failure, and a name for
    what it records.

    The name is a number where it is that of a pass, and empty where there is nothing to miss.
    """

    action: Callable[[], object]
    limit: float
    always: bool = False
    what: str | int = ""


class Background:
    """Does operations in order in one thread; after the first failure it skips all but those marked
    ``always``.

    Attributes
    ----------
    lost : list of str or int
        Names of the operations that failed or were skipped, once it is closed.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self.lost: list[str | int] = []
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._broken = False
        self._closed = False
        self._under_way: str | int = ""
        self._deadline = math.inf
        self._thread = threading.Thread(target=self._loop, name="structopt-tracker", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def put(
        self, action: Callable[[], object], limit: float, always: bool = False, what: str | int = ""
    ) -> None:
        """Queue an operation."""
        if not self._closed:
            self._queue.put(Operation(action, limit, always, what))

    def close(self, backlog: float) -> None:
        """Wait until all is done, but no longer than an operation's limit or `backlog` seconds in
        all.
        """
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        end = time.monotonic() + backlog
        while self._thread.is_alive() and time.monotonic() < min(end, self._deadline):
            self._thread.join(0.05)
        if backlog and self._thread.is_alive():
            self._break("the store does not answer")
            self._drop()

    def _loop(self) -> None:
        """Do the queued operations until the queue is closed."""
        while (operation := self._queue.get()) is not None:
            if not self._broken or operation.always:
                limit = min(operation.limit, _LAST_LIMIT) if self._broken else operation.limit
                self._deadline = time.monotonic() + limit
                self._under_way = operation.what
                self._do(operation)
            elif operation.what:
                self.lost.append(operation.what)
            self._deadline, self._under_way = math.inf, ""

    def _do(self, operation: Operation) -> None:
        """Do one operation; the first failure is warned of and ends the recording."""
        try:
            operation.action()
        except BaseException as error:  # a tracker never costs a trained model
            if operation.what:
                self.lost.append(operation.what)
            self._break(
                str(error)
                if isinstance(error, NotRecordedError)
                else f"{type(error).__name__}: {error}"
            )

    def _drop(self) -> None:
        """Count what is under way and what still waits as lost."""
        names = [self._under_way]
        with contextlib.suppress(queue.Empty):
            while True:
                operation = self._queue.get_nowait()
                names.append(operation.what if operation else "")
        self._queue.put(None)
        self.lost += [name for name in names if name]

    def _break(self, reason: str) -> None:
        """End the recording; warn at the first call."""
        with self._lock:
            was_broken, self._broken = self._broken, True
        if not was_broken:
            self._warn(reason)

    def _leave(self) -> None:
        """Let the thread do nothing more: the interpreter ends."""
        self._broken = True
        self.close(0.0)
