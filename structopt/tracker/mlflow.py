"""Runs recorded in MLflow, from a thread of its own: training neither waits for it nor fails with it."""

from __future__ import annotations

import atexit
import contextlib
import getpass
import hashlib
import importlib
import json
import logging
import math
import os
import platform
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from structopt.core.protocols import Run
from structopt.errors import ModelError
from structopt.tracker import sweep_run

DISTRIBUTION = "structopt-trainer"
VECTORS = ("vector",)  # the columns of a task that labels vectors instead of sequences
ARRAYS = (("pixels",), ("x",))  # and of those that label arrays of numbers
PARENT_VARIABLE = "STRUCTOPT_PARENT_RUN"
RECORDED = "tracking.json"
"""In a run's folder: the store and the id of its MLflow run, for a run that goes on."""
NOISE = ("tracker", "sweep", "resume", "check")
"""Keys of a config that say nothing about what was learnt; of the others, those that are null are left out too."""
_SQLITE = "sqlite:///"
_LONGEST_VALUE = 500
_PARAMS_A_CALL = 100
_LOCAL_LIMIT = 120.0
_BACKLOG_LIMIT = 300.0
_LAST_LIMIT = 3.0
_logger = logging.getLogger("structopt.tracker")


class MLflowTracker:
    """Records runs in MLflow: configuration, data files, metrics of every pass, the run's files and the model.

    MLflow takes seconds to import and a server may not answer, so everything happens in one background thread, in order;
    only `finish` waits for it, and not for ever. On the first failure the tracker warns once and records no more.

    Parameters
    ----------
    uri : str or None
        Tracking store; None means the sqlite store ``outputs/mlflow.db`` under the current folder.
    experiment : str
        Name of the experiment; made where it is missing.
    run_name : str or None
        Name of the run; None means the run's own label.
    log_model : bool
        Whether `finish` logs the saved model as a pyfunc.
    timeout : float
        Seconds that one request to a server may take.
    """

    def __init__(
        self,
        uri: str | None = None,
        experiment: str = "structopt",
        run_name: str | None = None,
        log_model: bool = True,
        timeout: float = 5.0,
    ) -> None:
        self.uri = _absolute(uri)
        self.run_id: str | None = None
        self._experiment, self._run_name, self._log_model = experiment, run_name, log_model
        self._run: Run | None = None
        self._folder: Path | None = None  # a sweep's
        self._client: Any = None
        self._experiment_id = ""
        self._last: tuple[int, dict[str, float]] = (0, {})
        self._request_limit = _LOCAL_LIMIT if self.uri.startswith(_SQLITE) else 3.0 * timeout
        _prepare_environment(timeout)
        self._worker = _Worker(self._warn)
        self._worker.put(_import_mlflow, _LOCAL_LIMIT)

    def start(self, run: Run) -> None:
        """Begin a run."""
        self._run = run
        now, git = _now(), _git_tags()
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: self._begin(run, now, git), self._request_limit)
        self._worker.put(lambda: self._log_files(run.files), _LOCAL_LIMIT)

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step; only finite ones."""
        copied, now = dict(metrics), _now()
        self._worker.put(lambda: self._log_metrics(copied, epoch, now), self._request_limit)

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log folder and model."""
        if self._run is None:
            return
        folder, copied, now = self._run.folder, dict(metrics), _now()
        self._worker.put(lambda: self._log_final(copied, now), self._request_limit)
        self._worker.put(lambda: self._log_folder(folder), _LOCAL_LIMIT)
        self._worker.put(lambda: self._log_saved_model(folder / "model"), _LOCAL_LIMIT)
        self._worker.put(lambda: self._terminate(status), self._request_limit, always=True)
        self._worker.close(_BACKLOG_LIMIT)

    def open_sweep(self, name: str, folder: Path, command: str, known: str = "") -> str:
        """Make the run that those of a sweep are children of, or go on with a known one.

        The store and the experiment are made too, so that processes which start together find them.

        Returns
        -------
        str
            Its id; empty where the store fails, of which was warned then.
        """
        self._folder, now = folder, _now()
        tags = _common_tags() | _git_tags() | {"sweep_folder": str(folder), "command": command}
        found: list[str] = []
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(
            lambda: found.append(sweep_run.opened(self._client, self._experiment_id, name, tags, known, now)), self._request_limit
        )
        self._worker.close(_BACKLOG_LIMIT)
        return found[0] if found else ""

    def close_sweep(self, run_id: str, status: str, metrics: Mapping[str, float], files: Sequence[Path]) -> None:
        """End the run of a sweep (status ``FINISHED``, ``FAILED`` or ``KILLED``) with metrics and files of the whole."""
        self._folder, now = files[0].parent if files else None, _now()
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: sweep_run.closed(self._client, run_id, status, _finite(metrics), files, now), _LOCAL_LIMIT)
        self._worker.close(_BACKLOG_LIMIT)

    def drop_sweep(self, run_id: str) -> None:
        """Delete the run of a sweep that came to nothing."""
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: self._client.delete_run(run_id), self._request_limit)
        self._worker.close(_BACKLOG_LIMIT)

    def _connect(self) -> None:
        """Open the store, making it and the experiment where they are missing."""
        from mlflow import MlflowClient

        with _store_lock(self.uri):
            self._client = MlflowClient(tracking_uri=self.uri)
            self._experiment_id = _experiment_id(self._client, self._experiment, _artifact_location(self.uri))

    def _begin(self, run: Run, started: int, git: Mapping[str, str]) -> None:
        """Make the run, with its tags and its configuration as params, or go on with the one that the folder names."""
        name, tags = self._run_name or run.label, _tags(run) | dict(git)
        known = self._known(run.folder) if run.resumed else {}
        if known:
            self.run_id = str(known["run_id"])
            self._client.update_run(self.run_id, status="RUNNING")
        else:
            made = self._client.create_run(self._experiment_id, start_time=started, tags=tags, run_name=name)
            self.run_id = str(made.info.run_id)
            (run.folder / RECORDED).write_text(json.dumps({"uri": self.uri, "run_id": self.run_id}) + "\n", encoding="utf8")
        self._log_params(_params(run.config))

    def _known(self, folder: Path) -> dict[str, str]:
        """What an earlier attempt at a run noted in its folder, as far as this store has it."""
        from mlflow.exceptions import MlflowException

        try:
            noted: dict[str, str] = json.loads((folder / RECORDED).read_text(encoding="utf8"))
            there = noted["uri"] == self.uri and self._client.get_run(noted["run_id"]).info.lifecycle_stage == "active"
        except (OSError, ValueError, KeyError, MlflowException):
            return {}
        return noted if there else {}

    def _log_params(self, values: Mapping[str, str]) -> None:
        """Log params; those that a run which goes on was told anew are tags, since a param cannot change."""
        from mlflow.entities import Param, RunTag

        known = self._client.get_run(self.run_id).data.params
        fresh = [Param(key, value) for key, value in values.items() if key not in known]
        anew = [RunTag(f"resumed.{key}", value) for key, value in values.items() if known.get(key, value) != value]
        for first in range(0, len(fresh), _PARAMS_A_CALL):
            self._client.log_batch(self.run_id, params=fresh[first : first + _PARAMS_A_CALL])
        if anew:
            self._client.log_batch(self.run_id, tags=anew)

    def _log_files(self, files: Mapping[str, Path]) -> None:
        """Record name, size and digest of the data files: as inputs, and in full as tags."""
        from mlflow.entities import RunTag

        found = {role: _fingerprint(Path(path)) for role, path in files.items() if Path(path).is_file()}
        if not found:
            return
        self._client.log_inputs(self.run_id, datasets=[_dataset_input(role, facts) for role, facts in found.items()])
        keys = ("name", "size", "sha256")
        tags = [RunTag(f"data.{role}.{key}", str(facts[key])) for role, facts in found.items() for key in keys]
        self._client.log_batch(self.run_id, tags=tags)

    def _log_metrics(self, metrics: Mapping[str, float], step: int, timestamp: int) -> None:
        """Record the finite metrics in one call."""
        from mlflow.entities import Metric

        kept = _finite(metrics)
        self._last = step, kept
        if kept:
            values = [Metric(_name(key), value, timestamp, step) for key, value in kept.items()]
            self._client.log_batch(self.run_id, metrics=values)

    def _log_final(self, metrics: Mapping[str, float], timestamp: int) -> None:
        """Record the final metrics at the last pass; what that pass recorded already is left out."""
        step, known = self._last
        final = {key: value for key, value in _finite(metrics).items() if known.get(key) != value}
        self._log_metrics(final, step, timestamp)

    def _log_folder(self, folder: Path) -> None:
        """Log the run's files: configuration, history, metrics, plots and log."""
        for name in (".hydra", "plots"):
            if (folder / name).is_dir():
                self._client.log_artifacts(self.run_id, str(folder / name), name)
        for file in [folder / "history.csv", folder / "metrics.json", *sorted(folder.glob("*.log"))]:
            if file.is_file():
                self._client.log_artifact(self.run_id, str(file))

    def _log_saved_model(self, folder: Path) -> None:
        """Log the saved model as a pyfunc named ``model``."""
        from mlflow.entities import LoggedModelOutput

        if not (self._log_model and folder.is_dir()):
            return
        model = self._client.create_logged_model(self._experiment_id, name="model", source_run_id=self.run_id)
        self._client.log_outputs(self.run_id, [LoggedModelOutput(model.model_id, self._last[0])])
        with tempfile.TemporaryDirectory() as temporary:
            packed = Path(temporary, "model")
            _save_pyfunc(packed, folder, model, self.run_id, self._run)
            self._client.log_model_artifacts(model.model_id, str(packed))
        self._client.finalize_logged_model(model.model_id, "READY")

    def _terminate(self, status: str) -> None:
        """Close the run, if it was ever made."""
        if self.run_id is not None:
            self._client.set_terminated(self.run_id, status)

    def _warn(self, reason: str) -> None:
        """Say that nothing more will be recorded."""
        folder = self._folder or (self._run.folder if self._run is not None else "the run folder")
        _logger.warning("tracking stopped: %s; the run goes on, everything is in %s", reason, folder)


@dataclass(frozen=True)
class _Operation:
    """Something to do, the seconds it may take, and whether to try it even after a failure."""

    action: Callable[[], None]
    limit: float
    always: bool = False


class _Worker:
    """Does operations in order in one thread; after the first failure it skips all but those marked ``always``."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._queue: queue.SimpleQueue[_Operation | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._broken = False
        self._closed = self._stuck = False
        self._deadline = math.inf
        self._thread = threading.Thread(target=self._loop, name="structopt-tracker", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def put(self, action: Callable[[], None], limit: float, always: bool = False) -> None:
        """Queue an operation."""
        if not self._closed:
            self._queue.put(_Operation(action, limit, always))

    def close(self, backlog: float) -> None:
        """Wait until all is done, but no longer than an operation's limit or `backlog` seconds in all."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        end = time.monotonic() + backlog
        while self._thread.is_alive() and time.monotonic() < min(end, self._deadline):
            self._thread.join(0.05)
        if backlog and self._thread.is_alive():
            self._stuck = True
            self._break("the store does not answer")

    def _loop(self) -> None:
        """Take operations until told to end."""
        while (operation := self._queue.get()) is not None:
            if not self._broken or operation.always:
                limit = min(operation.limit, _LAST_LIMIT) if self._broken else operation.limit
                self._deadline = time.monotonic() + limit
                self._do(operation)
            self._deadline = math.inf

    def _do(self, operation: _Operation) -> None:
        """Do one operation; a failure is told once and ends the recording."""
        try:
            operation.action()
        except BaseException as error:  # a tracker never costs a trained model
            first = (str(error).strip() or "no message").splitlines()[0][:300]
            self._break(f"{type(error).__name__}: {first}")

    def _break(self, reason: str) -> None:
        """Become silent, warning the first time."""
        with self._lock:
            told, self._broken = self._broken, True
        if not told:
            self._warn(reason)

    def _leave(self) -> None:
        """Let the operation under way end before the interpreter does: a thread cut off in C++ code would abort it."""
        self._broken = True
        self.close(0.0)
        self._thread.join(0.0 if self._stuck else 10.0)


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Turn a nested config into dotted keys and strings, written as one would type them (``inf``, ``null``, ``true``)."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = _text(value)
    return flat


def _text(value: Any) -> str:
    """Write a value as one would type it, cut where it is very long."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    text = f"[{','.join(map(_text, value))}]" if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _name(key: str) -> str:
    """Replace what MLflow refuses in a name."""
    return "".join(letter if letter.isalnum() or letter in "_-. /:" else "_" for letter in key)[:250]


def _finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Keep what is a finite number: sqlite stores turn infinity into 1.8e308."""
    numbers = {key: value for key, value in metrics.items() if value is not None}
    return {key: float(value) for key, value in numbers.items() if math.isfinite(value)}


def _now() -> int:
    """Milliseconds since the epoch, as MLflow counts time."""
    return int(time.time() * 1000)


def _absolute(uri: str | None) -> str:
    """Make the address of a sqlite store independent of the current folder."""
    if uri is None:
        return f"{_SQLITE}{Path('outputs', 'mlflow.db').resolve()}"
    if uri.startswith(_SQLITE) and not uri.endswith(":memory:"):
        return f"{_SQLITE}{Path(uri.removeprefix(_SQLITE)).resolve()}"
    return uri


def _artifact_location(uri: str) -> str | None:
    """Where a new experiment keeps its artifacts: beside a sqlite store; elsewhere the server decides."""
    if not uri.startswith(_SQLITE):
        return None
    return Path(uri.removeprefix(_SQLITE)).with_name("mlartifacts").as_uri()


@contextlib.contextmanager
def _store_lock(uri: str) -> Iterator[None]:
    """Let one process at a time make the tables of a sqlite store."""
    if not uri.startswith(_SQLITE):
        yield
        return
    store = Path(uri.removeprefix(_SQLITE))
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.with_name(store.name + ".lock").open("w") as stream:
        try:
            import fcntl
        except ImportError:
            yield
            return
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _prepare_environment(timeout: float) -> None:
    """Set MLflow's switches, unless the user has set them: a dead server costs seconds; nothing is sent elsewhere."""
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


def _import_mlflow() -> None:
    """Import what takes seconds, and silence what would fill the terminal."""
    for name, level in {"alembic": logging.WARNING, "urllib3.connectionpool": logging.ERROR}.items():
        logging.getLogger(name).setLevel(level)
    importlib.import_module("mlflow.pyfunc")
    logging.getLogger("mlflow").setLevel(logging.WARNING)


def _experiment_id(client: Any, name: str, artifact_location: str | None) -> str:
    """Find or make the experiment; another process may make it at the same moment."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifact_location))
        except MlflowException:
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def _params(config: Mapping[str, Any]) -> dict[str, str]:
    """The configuration as params, without what would only fill the pages on which runs are compared."""
    kept = {key: value for key, value in config.items() if key not in NOISE and value is not None}
    return {_name(key): value for key, value in flatten(kept).items()}


def _tags(run: Run) -> dict[str, str]:
    """Versions, user, folder and parent of a run."""
    tags = _common_tags() | {"run_folder": str(run.folder)}
    if parent := run.parent or os.environ.get(PARENT_VARIABLE):
        tags[sweep_run.PARENT] = parent
    if run.job is not None:
        tags |= {"job": str(run.job)}
    return tags


def _common_tags() -> dict[str, str]:
    """Versions and user."""
    tags = {"mlflow.source.name": "structopt", "mlflow.source.type": "LOCAL"}
    tags |= {"version.structopt": _version(DISTRIBUTION) or "unknown", "version.python": platform.python_version()}
    tags |= {f"version.{package}": found for package in ("numpy", "numba") if (found := _version(package))}
    with contextlib.suppress(Exception):
        tags["mlflow.user"] = getpass.getuser()
    return tags


def _version(package: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_tags() -> dict[str, str]:
    """Commit of the current folder's repository and whether files differ from it; nothing outside a repository."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {}
    changes = _git("status", "--porcelain", "--untracked-files=no")
    dirty = "unknown" if changes is None else json.dumps(bool(changes))
    return {"mlflow.source.git.commit": commit, "git.dirty": dirty}


def _git(*arguments: str) -> str | None:
    """Output of a git command, or None where it fails."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=2.0, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _fingerprint(path: Path) -> dict[str, Any]:
    """Name, size and SHA-256 digest of a file."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": path.name, "size": path.stat().st_size, "sha256": digest, "uri": path.resolve().as_uri()}


def _dataset_input(role: str, facts: Mapping[str, Any]) -> Any:
    """Describe a data file as an MLflow input; MLflow keeps 36 characters of a digest, the profile holds all of it."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    profile = json.dumps({"size": facts["size"], "sha256": facts["sha256"]})
    source = json.dumps({"uri": facts["uri"]})
    dataset = Dataset(facts["name"], facts["sha256"][:32], "local", source, profile=profile)
    return DatasetInput(dataset, tags=[InputTag("mlflow.data.context", role)])


def _save_pyfunc(target: Path, folder: Path, logged: Any, run_id: str | None, run: Run | None) -> None:
    """Pack a saved model as a pyfunc whose code is `structopt.tracker.pyfunc`; nothing is pickled."""
    import mlflow.pyfunc
    import pandas
    from mlflow.models import Model

    found, columns = _version(DISTRIBUTION), run.columns if run else ()
    sequences = tuple(columns) not in (VECTORS, *ARRAYS)
    logging.getLogger("mlflow.pyfunc").setLevel(logging.NOTSET if sequences else logging.ERROR)  # it would miss a signature
    example = pandas.DataFrame({"tokens": [["A", "sentence", "of", "six", "tokens", "."]]})
    mlflow.pyfunc.save_model(
        path=str(target),
        python_model=str(Path(__file__).with_name("pyfunc.py")),
        artifacts={"model": str(folder)},
        signature=_signature(run) if run and sequences else None,  # a vector's columns are its indices, whichever there are
        input_example=example if sequences else None,
        pip_requirements=[f"{DISTRIBUTION}=={found}" if found else DISTRIBUTION],
        mlflow_model=Model(
            artifact_path=logged.artifact_location, model_uuid=logged.model_id, run_id=run_id, model_id=logged.model_id
        ),
    )


def _signature(run: Run) -> Any:
    """Return the signature: lists of strings in, lists of strings or of numbers out."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import Array

    strings = Array(DataType.string)
    inputs: list[Any] = [ColSpec(strings, "tokens"), *(ColSpec(strings, name, required=False) for name in run.columns[1:])]
    made: list[Any] = [ColSpec(strings if kind is str else Array(DataType.long), name) for name, kind in run.outputs.items()]
    return ModelSignature(inputs=Schema(inputs), outputs=Schema(made))


def download_model(address: str, uri: str | None = None) -> Path:
    """Fetch a model from an MLflow address (``runs:/ID/model``, ``models:/NAME/VERSION``) and return its local folder.

    Parameters
    ----------
    address : str
    uri : str, optional
        The store; MLFLOW_TRACKING_URI where that is set, else the local store under ``outputs``.

    Raises
    ------
    ModelError
        If MLflow cannot find or fetch it.
    """
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow

    store = uri or os.environ.get("MLFLOW_TRACKING_URI") or _absolute(None)
    mlflow.set_tracking_uri(store)  # looking up a logged model does not take the argument below
    try:
        return Path(mlflow.artifacts.download_artifacts(artifact_uri=address, tracking_uri=store))
    except Exception as error:
        raise ModelError(f"{address}: MLflow cannot fetch it from {store} ({error}).") from error
