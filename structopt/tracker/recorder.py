"""The line to the recording process (`structopt.tracker.recording`), which imports MLflow and
writes to its stores.

MLflow takes seconds of processor time to import, and a slow store may block: in a process of its
own neither holds up a pass, as they would in a thread, which shares Python's lock. One recording
process serves all runs of a process, and those of the jobs of a sweep that run on the same machine.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from typing import Any

SHARED = "STRUCTOPT_RECORDER"
"""An environment variable with the address and the key of a recording process, which jobs of a
sweep inherit.
"""
_SWITCHES = ("MLFLOW_", "DATABRICKS_", "AWS_", "GOOGLE_", "AZURE_", "DO_NOT_TRACK", "GIT_PYTHON")
_SERVE = (
    "import sys; sys.path[:] = {path!r}; from structopt.tracker.recording import serve; serve()"
)


class NotRecordedError(Exception):
    """An operation that the recording process could not do; the text says why."""


class Recorder:
    """A recording process, and where it listens."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # an interrupt from the keyboard is not for it
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._lock = threading.Lock()
        self._address: Any = None
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.write(self._key.hex() + "\n")
                self._process.stdin.flush()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def address(self) -> str:
        """Where it listens, and the key to it, as `SHARED` holds them; waits until it listens."""
        with self._lock:
            if self._address is None and self._process.stdout:
                self._address = ast.literal_eval(self._process.stdout.readline() or "None")
            if self._address is None:
                raise NotRecordedError("the recording process does not start")
            return f"{self._key.hex()} {self._address!r}"

    def close(self) -> None:
        """Let the process end."""
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()


class Line:
    """A connection to a recording process, which is made at the first call."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    def call(self, operation: str, *arguments: Any) -> Any:
        """Let the recording process do an operation of `structopt.tracker.recording.Recording`;
        return its result.

        Raises
        ------
        NotRecordedError
            If it fails.
        """
        try:
            if self._connection is None:
                self._connection = _connection()
            self._connection.send((operation, arguments))
            done, result = self._connection.recv()
        except (EOFError, OSError) as error:
            raise NotRecordedError("the recording process has ended") from error
        if not done:
            raise NotRecordedError(result)
        return result

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()


_own: Recorder | None = None
_making = threading.Lock()


def started() -> Recorder:
    """Return this process's recording process, started where there is none yet."""
    global _own
    with _making:
        if _own is None or not _own.alive:
            _own = Recorder()
            atexit.register(_own.close)
        return _own


def start_early() -> None:
    """Start the recording process, unless one of another process is shared: importing MLflow takes
    its time.
    """
    if SHARED not in os.environ:
        started()


def share() -> None:
    """Let processes that are started from now on use this process's recording process."""
    os.environ.setdefault(SHARED, started().address)


def switches() -> dict[str, str]:
    """Return the variables of the environment that MLflow reads."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(_SWITCHES) or "proxy" in name.lower()
    }


def _connection() -> Connection:
    """Connect to the shared recording process where there is one, else to this process's own."""
    for address in (os.environ.get(SHARED), None):
        with contextlib.suppress(OSError, EOFError, AuthenticationError):
            key, _, where = (address or started().address).partition(" ")
            return Client(ast.literal_eval(where), authkey=bytes.fromhex(key))
    raise NotRecordedError("the recording process does not answer")
