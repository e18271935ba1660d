"""How a command ends: its exit codes but those of signals, and the interrupt of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structopt.sweep.table import JobRow

DONE, BUG, MENDABLE = 0, 1, 2


class SweepInterrupted(KeyboardInterrupt):
    """The user stopped a sweep; the argument is the command that goes on with it."""


def code_of_jobs(rows: Iterable[JobRow]) -> int:
    """Return 0 when all jobs went well, 1 when some failed by a bug, 2 when all that failed can be
    mended by the user.
    """
    failed = [row for row in rows if row.status == "FAILED"]
    if any(not row.mendable for row in failed):
        return BUG
    return MENDABLE if failed else DONE
