"""The standard streams: those that are closed or cannot be written to cost no traceback and no
result.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from typing import TextIO

from structopt.errors import SystemRefusal


class ClosedOutput(io.TextIOWrapper):
    """Stands for a closed standard output: it discards text, and knows whether there was any.

    A command does not fail in the middle, because a run keeps its results in files.
    """

    lost = False

    def write(self, text: str) -> int:
        """Discard a text."""
        self.lost = self.lost or bool(text)
        return len(text)


def open_closed() -> None:
    """Open the null device for each standard stream that is closed, so that no file gets its
    number.

    For standard output it is opened for reading, so that writing bytes to it is an error. Log
    lines that cannot be written are dropped: `logging` would print a traceback for each.
    """
    logging.raiseExceptions = False
    _show_all_characters()
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # takes the lowest number that is free
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = ClosedOutput(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), "utf8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf8")  # noqa: SIM115


def _show_all_characters() -> None:
    """Let the terminal show characters that its encoding lacks as codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def check_output() -> None:
    """Flush standard output.

    Raises
    ------
    SystemRefusal
        If it was closed, and something was printed.
    """
    sys.stdout.flush()
    if isinstance(sys.stdout, ClosedOutput) and sys.stdout.lost:
        raise SystemRefusal(OSError(errno.EBADF, "nothing could be printed", "standard output"))


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
