"""What the recording process does: it imports MLflow, and writes to its stores what other processes
tell it.

``python -c "from structopt.tracker.recording import serve; serve()"`` reads a key from its standard
input, writes the address at which it listens to its standard output, and ends when its standard
input does. Each connection is a run's or a sweep's: pairs of an operation's name and its arguments,
answered by (True, result) or (False, why it failed).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from structopt.tracker import sweep_run
from structopt.tracker.stored_run import StoredRun
from structopt.tracker.stores import artifact_location, experiment_id, import_mlflow, store_lock

_ONE_AT_A_TIME = threading.Lock()
"""Held where something changes that all of the process has: its environment, MLflow's modules,
those of a packed model.
"""


class Recording:
    """A run, or the run of a sweep, in a store of MLflow: one operation after another."""

    def __init__(self) -> None:
        self._client: Any = None
        self._experiment_id = ""
        self._stored: Any = None  # a StoredRun, once there is one

    def prepare(self, switches: Mapping[str, str]) -> None:
        """Set the caller's switches of MLflow in the environment, and import it."""
        with _ONE_AT_A_TIME:
            os.environ.update(switches)
            import_mlflow()

    def connect(self, uri: str, experiment: str) -> None:
        """Open the store, making it and the experiment where they are missing."""
        from mlflow import MlflowClient

        with store_lock(uri):
            self._client = MlflowClient(tracking_uri=uri)
            self._experiment_id = experiment_id(self._client, experiment, artifact_location(uri))

    def known(self, run_id: str) -> bool:
        """Whether the store has a run that was not deleted."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(self._client.get_run(run_id).info.lifecycle_stage == "active")
        except MlflowException:
            return False

    def begin(self, name: str, tags: Mapping[str, str], started: int, grouped: bool) -> str:
        """Make the run; return its id."""
        created = self._client.create_run(
            self._experiment_id, start_time=started, tags=dict(tags), run_name=name
        )
        run_id = str(created.info.run_id)
        self._stored = StoredRun(self._client, self._experiment_id, run_id, grouped)
        return run_id

    def go_on(self, run_id: str, grouped: bool) -> None:
        """Open an earlier run again."""
        self._stored = StoredRun(self._client, self._experiment_id, run_id, grouped)
        self._stored.go_on()

    def log_params(self, values: Mapping[str, str]) -> None:
        """See `StoredRun`; so for the operations below."""
        self._stored.log_params(values)

    def log_data(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Record what is known of the data files."""
        self._stored.log_data(facts)

    def log_pass(self, metrics: Mapping[str, float], step: int, moment: int) -> None:
        """Record the metrics of a pass."""
        self._stored.log_pass(metrics, step, moment)

    def tag(self, name: str, value: str) -> None:
        """Set a tag."""
        self._stored.tag(name, value)

    def describe(self, text: str) -> None:
        """Set the description."""
        self._stored.describe(text)

    def log_final(self, metrics: Mapping[str, float], moment: int) -> None:
        """Record the final metrics."""
        self._stored.log_final(metrics, moment)

    def log_folder(self, folder: Path) -> None:
        """Log the run's files."""
        self._stored.log_folder(folder)

    def log_model(self, folder: Path) -> list[str]:
        """Log the saved model; return the reasons for missing wheels."""
        with _ONE_AT_A_TIME:
            problems: list[str] = self._stored.log_model(folder)
            return problems

    def check_model(self) -> None:
        """Raise what kept the model from being logged, if anything did."""
        self._stored.check_model()

    def terminate(self, status: str) -> None:
        """Close the run, if it was ever made."""
        if self._stored is not None:
            self._client.set_terminated(self._stored.run_id, status)

    def open_sweep(self, name: str, tags: Mapping[str, str], known: str, now: int) -> str:
        """Make the run of a sweep, or go on with the known one; return its id."""
        return sweep_run.opened(self._client, self._experiment_id, name, tags, known, now)

    def close_sweep(
        self,
        run_id: str,
        status: str,
        metrics: Mapping[str, float],
        files: Sequence[Path],
        now: int,
    ) -> None:
        """End the run of a sweep."""
        sweep_run.closed(self._client, run_id, status, metrics, files, now)

    def drop_sweep(self, run_id: str) -> None:
        """Delete the run of a sweep."""
        self._client.delete_run(run_id)


def answer(connection: Connection, recording: Recording) -> None:
    """Do what a connection asks for, until it is closed."""
    while True:
        try:
            name, arguments = connection.recv()
        except (EOFError, OSError):
            return
        reply: tuple[bool, Any]
        try:
            reply = True, getattr(recording, name)(*arguments)
        except BaseException as error:
            reply = False, reason(error)
        try:
            connection.send(reply)
        except OSError:
            return


def reason(error: BaseException) -> str:
    """Return the kind and the first line of an error; of one of a connection only that there was
    none, and why.
    """
    text = str(error).strip() or "no message"
    if "Max retries exceeded" in text:
        cause = (
            "it refuses connections"
            if "refused" in text
            else "no answer in time"
            if "timed out" in text
            else ""
        )
        return "the server cannot be reached" + (f" ({cause})" if cause else "")
    return f"{type(error).__name__}: {text.splitlines()[0][:300]}"


def listen(key: bytes) -> Listener:
    """Listen at a socket file or pipe of this machine; at a port of it where the name of such a
    file would be too long.
    """
    try:
        return Listener(authkey=key)
    except OSError:
        return Listener(("127.0.0.1", 0), authkey=key)


def serve() -> None:
    """Answer connections until the process that started this one ends, or closes its end of the
    standard input.
    """
    listener = listen(bytes.fromhex(sys.stdin.readline()))
    sys.stdout.write(f"{listener.address!r}\n")
    sys.stdout.flush()
    threading.Thread(target=_accept, args=[listener], daemon=True).start()
    threading.Thread(target=Recording().prepare, args=[{}], daemon=True).start()
    sys.stdin.read()
    listener.close()


def _accept(listener: Listener) -> None:
    """Answer each connection in a thread of its own; one whose key is wrong is turned away."""
    from multiprocessing import AuthenticationError

    while True:
        try:
            connection = listener.accept()
        except (AuthenticationError, EOFError, ConnectionError):
            continue
        except OSError:  # closed
            return
        threading.Thread(target=answer, args=[connection, Recording()], daemon=True).start()
