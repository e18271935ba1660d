"""Free memory: what does not fit is refused before it is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from structopt.errors import ConfigError

MEMINFO = Path("/proc/meminfo")


def refuse_what_does_not_fit(size: float, what: str, advice: str) -> None:
    """Refuse what needs more memory than this machine has free.

    Parameters
    ----------
    size : float
        Bytes it needs.
    what : str
        The beginning of the sentence, in the plural: ``"{what} need 3.2 GB, more than this machine has free."``
    advice : str
        What to do instead, in sentences.

    Raises
    ------
    ConfigError
    """
    if size > free_bytes():
        raise ConfigError(f"{what} need {size / 1e9:.1f} GB, more than this machine has free. {advice}")


def free_bytes() -> float:
    """Memory that can be allocated without swapping; infinity where the system does not tell.

    Linux tells what is available, which counts what cached files would give back; others, what is free.
    """
    try:
        amounts = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        return 1024.0 * int(amounts["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return float("inf")
