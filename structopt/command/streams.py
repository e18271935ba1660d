"""The standard streams: those that are closed or cannot be written to cost no traceback and no
result.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from typing import TextIO

from structopt.errors import SystemRefusal


def open_closed() -> None:
    """Put the null device in the place of streams that are closed, so that no file gets their
    numbers.

    Log lines that cannot be written are dropped: `logging` would print a traceback for each.
    """
    logging.raiseExceptions = False
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf8")  # noqa: SIM115


def say(text: str) -> None:
    """Print a line on stderr, if that can be."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Drop what is still to be written to a stream: Python writes it when it ends, and would fail
    again.
    """
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):  # a stream without a file
        return


def refusal(error: OSError) -> SystemRefusal:
    """Return the user's error for one of the operating system's, which names no file where the
    current folder is gone.
    """
    if error.filename is None and error.errno == errno.ENOENT:
        return SystemRefusal(
            OSError(errno.ENOENT, "the current folder was deleted", "."), remedy="go to another one"
        )
    return SystemRefusal(error)
