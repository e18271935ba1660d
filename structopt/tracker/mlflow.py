"""Runs recorded in MLflow by a thread in the background: training neither waits for it nor fails with it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.core.tracker import Run, Tracker
from structopt.tracker import sweep_run
from structopt.tracker.background import Background
from structopt.tracker.facts import common_tags, finite, git_tags, params, run_tags
from structopt.tracker.stored_run import StoredRun
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
THE_RUN = "run"
_LOCAL_LIMIT = 120.0
_BACKLOG_LIMIT = 300.0
_logger = logging.getLogger("structopt.tracker")


class MLflowTracker(Tracker):
    """Records runs in MLflow: configuration, data files, metrics of every pass, the run's files and the model.

    MLflow takes seconds to import and a server may not answer, so everything happens in one background thread, in order;
    only `finish` waits for it, and not for ever. On the first failure the tracker warns and records no more; `finish` then warns
    of what is not recorded.

    Parameters
    ----------
    uri : str or None
        Tracking store; None means MLFLOW_TRACKING_URI where that is set, else the sqlite store ``outputs/mlflow.db`` under the
        current folder.
    experiment : str
        Name of the experiment; made where it is missing.
    run_name : str or None
        Name of the run; None means the run's own label.
    log_model : bool
        Whether `finish` logs the saved model as a pyfunc.
    timeout : float
        Seconds that one request to a server may take.
    group_metrics : bool
        Whether metrics of passes are recorded under names such as ``dev/f1`` too, which MLflow's pages show in groups.
    """

    def __init__(
        self,
        uri: str | None = None,
        experiment: str = "structopt",
        run_name: str | None = None,
        log_model: bool = True,
        timeout: float = 5.0,
        group_metrics: bool = True,
    ) -> None:
        self.uri = store_address(uri)
        self.run_id: str | None = None
        self._experiment, self._run_name, self._log_model, self._grouped = experiment, run_name, log_model, group_metrics
        self._run: Run | None = None
        self._folder: Path | None = None  # a sweep's
        self._client: Any = None
        self._experiment_id = ""
        self._stored: Any = None  # a StoredRun, once there is one
        self._request_limit = _LOCAL_LIMIT if self.uri.startswith(SQLITE) else 3.0 * timeout
        prepare_environment(timeout)
        self._worker = Background(self._warn)
        self._worker.put(import_mlflow, _LOCAL_LIMIT)

    def start(self, run: Run) -> None:
        """Begin a run."""
        self._run = run
        moment, git = milliseconds(), git_tags()
        self._worker.put(self._connect, self._request_limit)
        self._worker.put(lambda: self._begin(run, moment, git), self._request_limit, what=THE_RUN)
        self._worker.put(lambda: self._stored.log_params(params(run.config)), self._request_limit, what="parameters")
        self._worker.put(lambda: self._stored.log_data(run.files), _LOCAL_LIMIT, what="data files")

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step; only finite ones."""
        copied, moment = dict(metrics), milliseconds()
        self._worker.put(lambda: self._stored.log_pass(copied, epoch, moment), self._request_limit, what=epoch)

    def describe(self, text: str) -> None:
        """Show a Markdown text as the run's description."""
        self._worker.put(lambda: self._stored.describe(text), self._request_limit, what="description")

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log folder and model."""
        if self._run is None:
            return
        folder, copied, moment = self._run.folder, dict(metrics), milliseconds()
        model = folder / "model" if self._log_model and (folder / "model").is_dir() else None
        self._worker.put(
            lambda: self._stored.log_final(copied, moment, model is not None), self._request_limit, what="final metrics"
        )
        self._worker.put(lambda: self._stored.log_folder(folder), _LOCAL_LIMIT, what="files")
        if model:
            self._worker.put(lambda: self._stored.log_model(model), _LOCAL_LIMIT, what="model")
        self._worker.put(lambda: self._terminate(status), self._request_limit, always=True)
        self._worker.close(_BACKLOG_LIMIT)
        if lost := self._worker.lost:
            _logger.warning("%s", missing(self.uri, lost, folder))

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
        """Make the run with its tags, or go on with the one that the folder names."""
        name, tags = self._run_name or run.label, run_tags(run) | dict(git)
        known = self._known(run.folder) if run.resumed else {}
        if known:
            self.run_id = str(known["run_id"])
        else:
            created = self._client.create_run(self._experiment_id, start_time=started, tags=tags, run_name=name)
            self.run_id = str(created.info.run_id)
            partial = run.folder / f".{RECORDED}.partial"  # a run that is killed leaves the whole file or none
            partial.write_text(json.dumps({"uri": self.uri, "run_id": self.run_id}) + "\n", encoding="utf8")
            partial.replace(run.folder / RECORDED)
        self._stored = StoredRun(self._client, self._experiment_id, self.run_id, self._grouped)
        if known:
            self._stored.go_on()

    def _known(self, folder: Path) -> dict[str, str]:
        """Return the content of `RECORDED`, which an earlier attempt wrote; empty where this store has no such run."""
        from mlflow.exceptions import MlflowException

        try:
            noted: dict[str, str] = json.loads((folder / RECORDED).read_text(encoding="utf8"))
            is_here = noted["uri"] == self.uri and self._client.get_run(noted["run_id"]).info.lifecycle_stage == "active"
        except (OSError, ValueError, KeyError, MlflowException):
            return {}
        return noted if is_here else {}

    def _terminate(self, status: str) -> None:
        """Close the run, if it was ever made."""
        if self.run_id is not None:
            self._client.set_terminated(self.run_id, status)

    def _warn(self, reason: str) -> None:
        """Say that nothing more will be recorded."""
        folder = self._folder or (self._run.folder if self._run is not None else "the run folder")
        _logger.warning("tracking stopped: %s: %s; the run goes on, everything is in %s", self.uri, reason, folder)


def missing(uri: str, lost: Sequence[str | int], folder: Path) -> str:
    """Say what a store did not record of a run.

    Parameters
    ----------
    uri : str
    lost : sequence of str or int
        Names of what is missing; a number is a pass.
    folder : Path
        The run's.
    """
    if THE_RUN in lost:
        return f"{uri} has nothing of this run. Everything is in {folder}."
    passes = [one for one in lost if isinstance(one, int)]
    words = [f"pass {passes[0]}" if len(passes) == 1 else f"passes {passes[0]} to {passes[-1]}"] if passes else []
    words += dict.fromkeys(one for one in lost if isinstance(one, str))
    return f"{uri} does not have all of this run. Not recorded: {', '.join(words)}. They are in {folder}."
