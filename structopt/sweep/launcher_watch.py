"""A job in a process of its own watches the process that launched its sweep: it ends when that one
ends, or was told to end.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from structopt.process import folder_lock, interruption
from structopt.process.folder_lock import Holder

POLL = 0.5
GRACE = 10.0
"""Seconds that a job without a sweep is given to save its model before its process ends at once."""
ORPHANED = 143


class LauncherWatch:
    """Ends the job of this process by an interrupt when the sweep's process is gone or ends.

    Parameters
    ----------
    sweep : Path
        The sweep's folder, whose lock names that process.
    launcher : Holder
        The process, as the lock named it when the job began.
    """

    def __init__(self, sweep: Path, launcher: Holder) -> None:
        self.sweep, self.launcher = sweep, launcher
        self.orphaned = False
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._loop, name="structopt-launcher-watch", daemon=True
        )

    def ends(self) -> bool:
        """Whether the job is to end; `orphaned` tells whether nobody is left to whom it could
        report.
        """
        holder = folder_lock.read_holder(self.sweep)
        replaced = holder is not None and (holder.pid, holder.host) != (
            self.launcher.pid,
            self.launcher.host,
        )
        self.orphaned = replaced or self.launcher.is_dead
        return self.orphaned or (holder is not None and holder.ending)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; where nobody is left to report to, end the process, which would wait for
        ever or begin another job.
        """
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.orphaned:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(ORPHANED)

    def _loop(self) -> None:
        while not self._over.wait(POLL):
            if self.ends():
                interruption.request()
            if self.orphaned and not self._over.wait(GRACE):
                interruption.end_at_once(ORPHANED)


@contextmanager
def ended_with_launcher(sweep: Path) -> Iterator[None]:
    """End the work within as an interrupt does, as soon as the process that launched a sweep ends.

    Raises
    ------
    KeyboardInterrupt
        If the work shall not even begin.
    """
    launcher = folder_lock.read_holder(sweep)
    if launcher is None or launcher.is_current:
        yield
        return
    watch = LauncherWatch(sweep, launcher)
    if watch.ends():
        watch.stop()
        raise KeyboardInterrupt
    watch.start()
    try:
        yield
    finally:
        watch.stop()
