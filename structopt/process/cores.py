"""The cores on which this process may run."""

from __future__ import annotations

import os


def cores() -> int:
    """Return the number of cores on which this process may run."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
