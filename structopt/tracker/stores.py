"""MLflow's stores of runs: their addresses, and the switches, locks and experiments that are set
before one is used.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from structopt.errors import ConfigError
from structopt.progress import credentials

SQLITE = "sqlite:///"
LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
"""Flags for opening a lock: it is not truncated, and a link is refused (not on Windows)."""
RUN_FOLDER = "run_folder"
"""The tag with a run's folder."""
NOTE = "mlflow.note.content"
"""The tag that MLflow shows as the description of a run, rendered as Markdown."""
DESCRIBED = "structopt.note"
"""The tag that marks a description that was not written by the user."""
_KIND, _MODEL_TRAINING = "mlflow.experimentKind", "custom_model_development"
"""The tag by which MLflow tells experiments with training runs from those with traces of agents,
and its value.
"""


def milliseconds() -> int:
    """Return the milliseconds since 1970, as MLflow counts time."""
    return int(time.time() * 1000)


def store_address(uri: str | None) -> str:
    """Return a store's address, that of a sqlite store independent of the current folder.

    User and password are removed (see `structopt.progress.credentials`), so that it may be written.

    None means MLFLOW_TRACKING_URI where that is set, else the sqlite store ``outputs/mlflow.db``
    under the current folder.
    """
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or None
    if uri is None:
        return f"{SQLITE}{Path('outputs', 'mlflow.db').resolve()}"
    if uri.startswith(SQLITE) and not uri.endswith(":memory:"):
        return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).resolve()}"
    return credentials.removed(uri)


def check_exists(uri: str) -> None:
    """Raise `ConfigError` if a store on this machine does not exist; MLflow would create it."""
    scheme, _, path = uri.rpartition(":")
    if uri.startswith(SQLITE) and not uri.endswith(":memory:"):
        file = Path(uri.removeprefix(SQLITE))
    elif scheme == "file" or not scheme and uri not in ("databricks", "databricks-uc", "uc"):
        file = Path(url2pathname(path))
    else:
        return
    if not file.exists():
        raise ConfigError(
            f"{uri}: this store does not exist.",
            remedy="Set MLFLOW_TRACKING_URI (or uri=... of compare) to the store of the run, or "
            "start the command in the folder of the training.",
        )


def artifact_location(uri: str) -> str | None:
    """Return the folder of a new experiment's artifacts: beside a sqlite store; elsewhere None, as
    the server decides.
    """
    if not uri.startswith(SQLITE):
        return None
    return Path(uri.removeprefix(SQLITE)).with_name("mlartifacts").as_uri()


@contextlib.contextmanager
def store_lock(uri: str) -> Iterator[None]:
    """Let one process at a time make the tables of a sqlite store."""
    if not uri.startswith(SQLITE):
        yield
        return
    store = Path(uri.removeprefix(SQLITE))
    store.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(store.with_name(store.name + ".lock"), LOCK_FLAGS, 0o666)
    with os.fdopen(lock, "r+") as stream:
        try:
            import fcntl
        except ImportError:
            yield
            return
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def prepare_environment(timeout: float) -> None:
    """Set MLflow's switches, unless the user has set them: a dead server costs seconds; nothing is
    sent elsewhere.
    """
    defaults = {
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(max(1, math.ceil(timeout))),
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def import_mlflow() -> None:
    """Import MLflow, which takes seconds, and silence log messages that would fill the terminal."""
    for name, level in {
        "alembic": logging.WARNING,
        "urllib3.connectionpool": logging.ERROR,
    }.items():
        logging.getLogger(name).setLevel(level)
    importlib.import_module("mlflow.pyfunc")
    logging.getLogger("mlflow").setLevel(logging.WARNING)


def experiment_id(client: Any, name: str, artifact_location: str | None) -> str:
    """Find or make the experiment, one of model training; another process may make it at the same
    moment.
    """
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return str(
                client.create_experiment(
                    name, artifact_location=artifact_location, tags={_KIND: _MODEL_TRAINING}
                )
            )
        except MlflowException:
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    if _KIND not in experiment.tags:
        client.set_experiment_tag(experiment.experiment_id, _KIND, _MODEL_TRAINING)
    return str(experiment.experiment_id)


def describe(client: Any, run_id: str, text: str) -> None:
    """Set a run's description."""
    client.set_tag(run_id, NOTE, text)
    client.set_tag(run_id, DESCRIBED, "true")


@contextlib.contextmanager
def asked_at(uri: str) -> Iterator[None]:
    """Let MLflow look up runs and models in a store; afterwards the address that this process had
    counts again.

    MLflow keeps one address a process, in a variable and in the environment, and takes the
    environment's where it has none.
    """
    import mlflow

    before = os.environ.get("MLFLOW_TRACKING_URI")
    mlflow.set_tracking_uri(credentials.restored(uri))
    try:
        yield
    finally:
        mlflow.set_tracking_uri(None)  # type: ignore[arg-type]  # None takes the address away
        if before is not None:
            os.environ["MLFLOW_TRACKING_URI"] = before
