"""How much memory is left, so that what does not fit is refused before it is begun."""

from __future__ import annotations

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def free_bytes() -> float:
    """Memory that can be had without swapping; infinity where the system does not tell.

    Linux tells what is available, which counts the room that cached files would give back; others, what is free.
    """
    try:
        told = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        return 1024.0 * int(told["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return float("inf")
