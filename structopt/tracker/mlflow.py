"""Runs recorded in MLflow by a thread in the background: training neither waits for it nor fails with it."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.core.data.splits import SplitPath
from structopt.core.tracker import Run, Tracker
from structopt.tracker import sweep_run
from structopt.tracker.background import Background
from structopt.tracker.facts import allowed_name, common_tags, dataset_input, fingerprint, finite, git_tags, params, run_tags
from structopt.tracker.logged_model import save_pyfunc
from structopt.tracker.stores import (
    SQLITE,
    artifact_location,
    experiment_id,
    import_mlflow,
    milliseconds,
    prepare_environment,
    store_address,
    store_lock,
)

RECORDED = "tracking.json"
"""A file in a run's folder with the store and the id of its MLflow run, for a run that goes on."""
_PARAMS_A_CALL = 100
_LOCAL_LIMIT = 120.0
_BACKLOG_LIMIT = 300.0
_logger = logging.getLogger("structopt.tracker")


class MLflowTracker(Tracker):
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
        self.uri = store_address(uri)
        self.run_id: str | None = None
        self._experiment, self._run_name, self._log_model = experiment, run_name, log_model
        self._run: Run | None = None
        self._folder: Path | None = None  # a sweep's
        self._client: Any = None
        self._experiment_id = ""
        self._last: tuple[int, dict[str, float]] = (0, {})
        self._request_limit = _LOCAL_LIMIT if self.uri.startswith(SQLITE) else 3.0 * timeout
        prepare_environment(timeout)
        self._worker = Background(self._warn)
        self._worker.put(import_mlflow, _LOCAL_LIMIT)

    def start(self, run: Run) -> None:
        """Begin a run."""
        self._run = run
        moment, git = milliseconds(), git_tags()
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: self._begin(run, moment, git), self._request_limit)
        self._worker.put(lambda: self._log_files(run.files), _LOCAL_LIMIT)

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step; only finite ones."""
        copied, moment = dict(metrics), milliseconds()
        self._worker.put(lambda: self._log_metrics(copied, epoch, moment), self._request_limit)

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log folder and model."""
        if self._run is None:
            return
        folder, copied, moment = self._run.folder, dict(metrics), milliseconds()
        self._worker.put(lambda: self._log_final(copied, moment), self._request_limit)
        self._worker.put(lambda: self._log_folder(folder), _LOCAL_LIMIT)
        self._worker.put(lambda: self._log_saved_model(folder / "model"), _LOCAL_LIMIT)
        self._worker.put(lambda: self._terminate(status), self._request_limit, always=True)
        self._worker.close(_BACKLOG_LIMIT)

    def open_sweep(self, name: str, folder: Path, command: str, known: str = "") -> str:
        """Make the parent of a sweep's runs, or go on with a known one.

        The store and the experiment are made too, so that processes which start together find them.

        Returns
        -------
        str
            Its id; empty where the store fails, after a warning.
        """
        self._folder, moment = folder, milliseconds()
        tags = common_tags() | git_tags() | {"sweep_folder": str(folder), "command": command}
        run_ids: list[str] = []

        def make() -> None:
            run_ids.append(sweep_run.opened(self._client, self._experiment_id, name, tags, known, moment))

        self._worker.put(self._connect, self._request_limit)
        self._worker.put(make, self._request_limit)
        self._worker.close(_BACKLOG_LIMIT)
        return run_ids[0] if run_ids else ""

    def close_sweep(self, run_id: str, status: str, metrics: Mapping[str, float], files: Sequence[Path]) -> None:
        """End the run of a sweep (status ``FINISHED``, ``FAILED`` or ``KILLED``) with metrics and files of the whole."""
        self._folder, moment = files[0].parent if files else None, milliseconds()
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: sweep_run.closed(self._client, run_id, status, finite(metrics), files, moment), _LOCAL_LIMIT)
        self._worker.close(_BACKLOG_LIMIT)

    def drop_sweep(self, run_id: str) -> None:
        """Delete the run of a sweep in which no job ever began."""
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: self._client.delete_run(run_id), self._request_limit)
        self._worker.close(_BACKLOG_LIMIT)

    def _connect(self) -> None:
        """Open the store, making it and the experiment where they are missing."""
        from mlflow import MlflowClient

        with store_lock(self.uri):
            self._client = MlflowClient(tracking_uri=self.uri)
            self._experiment_id = experiment_id(self._client, self._experiment, artifact_location(self.uri))

    def _begin(self, run: Run, started: int, git: Mapping[str, str]) -> None:
        """Make the run, with its tags and its configuration as params, or go on with the one that the folder names."""
        name, tags = self._run_name or run.label, run_tags(run) | dict(git)
        known = self._known(run.folder) if run.resumed else {}
        if known:
            self.run_id = str(known["run_id"])
            self._client.update_run(self.run_id, status="RUNNING")
        else:
            created = self._client.create_run(self._experiment_id, start_time=started, tags=tags, run_name=name)
            self.run_id = str(created.info.run_id)
            partial = run.folder / f".{RECORDED}.partial"  # a run that is killed leaves the whole file or none
            partial.write_text(json.dumps({"uri": self.uri, "run_id": self.run_id}) + "\n", encoding="utf8")
            partial.replace(run.folder / RECORDED)
        self._log_params(params(run.config))

    def _known(self, folder: Path) -> dict[str, str]:
        """Return the content of `RECORDED`, which an earlier attempt wrote; empty where this store has no such run."""
        from mlflow.exceptions import MlflowException

        try:
            noted: dict[str, str] = json.loads((folder / RECORDED).read_text(encoding="utf8"))
            is_here = noted["uri"] == self.uri and self._client.get_run(noted["run_id"]).info.lifecycle_stage == "active"
        except (OSError, ValueError, KeyError, MlflowException):
            return {}
        return noted if is_here else {}

    def _log_params(self, values: Mapping[str, str]) -> None:
        """Log params; those that were typed anew for a run that goes on become tags, since a param cannot change."""
        from mlflow.entities import Param, RunTag

        known = self._client.get_run(self.run_id).data.params
        fresh = [Param(key, value) for key, value in values.items() if key not in known]
        anew = [RunTag(f"resumed.{key}", value) for key, value in values.items() if known.get(key, value) != value]
        for first in range(0, len(fresh), _PARAMS_A_CALL):
            self._client.log_batch(self.run_id, params=fresh[first : first + _PARAMS_A_CALL])
        if anew:
            self._client.log_batch(self.run_id, tags=anew)

    def _log_files(self, files: Mapping[str, Path | SplitPath]) -> None:
        """Record name, size and digest of the data files: as inputs, and in full as tags."""
        from mlflow.entities import RunTag

        fingerprints = {role: fingerprint(Path(path)) for role, path in files.items() if Path(path).is_file()}
        if not fingerprints:
            return
        self._client.log_inputs(self.run_id, datasets=[dataset_input(role, facts) for role, facts in fingerprints.items()])
        keys = ("name", "size", "sha256")
        tags = [RunTag(f"data.{role}.{key}", str(facts[key])) for role, facts in fingerprints.items() for key in keys]
        self._client.log_batch(self.run_id, tags=tags)

    def _log_metrics(self, metrics: Mapping[str, float], step: int, timestamp: int) -> None:
        """Record the finite metrics in one call."""
        from mlflow.entities import Metric

        kept = finite(metrics)
        self._last = step, kept
        if kept:
            values = [Metric(allowed_name(key), value, timestamp, step) for key, value in kept.items()]
            self._client.log_batch(self.run_id, metrics=values)

    def _log_final(self, metrics: Mapping[str, float], timestamp: int) -> None:
        """Record the final metrics at the last pass; what that pass recorded already is left out."""
        step, known = self._last
        final = {key: value for key, value in finite(metrics).items() if known.get(key) != value}
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
            save_pyfunc(packed, folder, model, self.run_id)
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
