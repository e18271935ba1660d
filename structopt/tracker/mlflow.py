"""Runs recorded in MLflow by a process of its own: training neither waits for it nor fails with
it.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from structopt.core.tracker import Run, Tracker
from structopt.errors import full_installation
from structopt.progress import credentials
from structopt.tracker import recorder
from structopt.tracker.background import Background
from structopt.tracker.facts import common_tags, fingerprints, finite, git_tags, params, run_tags
from structopt.tracker.stores import SQLITE, milliseconds, prepare_environment, store_address

RECORDED = "tracking.json"
"""A file in a run's folder with the store and the id of its MLflow run, for a run that goes on."""
THE_RUN = "run"
_LOCAL_LIMIT = 120.0
_BACKLOG_LIMIT = 300.0
_logger = logging.getLogger("structopt.tracker")


class MLflowTracker(Tracker):
    """Records runs in MLflow: configuration, data files, metrics of every pass, the run's files and
    the model.

    MLflow takes seconds to import and a server may not answer, so everything happens in the
    recording process (`structopt.tracker.recorder`), in order, and a thread here waits for it; only
    `finish` waits for that thread, and not for ever. On the first failure the tracker warns and
    records no more; `finish` then warns of what is not recorded.

    Parameters
    ----------
    uri : str or None
        Tracking store; None means MLFLOW_TRACKING_URI where that is set, else the sqlite store
        ``outputs/mlflow.db`` under the current folder. User and password in it are not written to
        any file; a run that resumes needs them again.
    experiment : str
        Name of the experiment; made where it is missing.
    run_name : str or None
        Name of the run; None means the run's own label.
    log_model : bool
        Whether `finish` logs the saved model as a pyfunc.
    timeout : float
        Seconds that one request to a server may take.
    group_metrics : bool
        Whether metrics of passes are recorded under names such as ``dev/f1`` too, which MLflow's
        pages show in groups.
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
        credentials.restored(self.uri)  # refuses an address without its user and password now
        self.run_id: str | None = None
        self._experiment, self._run_name, self._log_model, self._grouped = (
            experiment,
            run_name,
            log_model,
            group_metrics,
        )
        self._run: Run | None = None
        self._has_model = False
        self._folder: Path | None = None  # a sweep's
        self._line = recorder.Line()
        self._request_limit = _LOCAL_LIMIT if self.uri.startswith(SQLITE) else 3.0 * timeout
        with full_installation("Tracking by MLflow", "mlflow"):
            prepare_environment(timeout)
        recorder.start_early()
        self._worker = Background(self._warn)

    def start(self, run: Run) -> None:
        """Begin a run."""
        self._run = run
        moment = milliseconds()
        self._connect()
        self._put(lambda: self._begin(run, moment), what=THE_RUN)
        self._put(lambda: self._line.call("log_params", params(run.config)), what="parameters")
        self._worker.put(
            lambda: self._line.call("log_data", fingerprints(run.files)),
            _LOCAL_LIMIT,
            what="data files",
        )

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step; only
        finite ones.
        """
        copied, moment = dict(metrics), milliseconds()
        self._put(lambda: self._line.call("log_pass", copied, epoch, moment), what=epoch)

    def log_model(self, folder: Path) -> None:
        """Log the saved model; what goes wrong is told when the run has ended, so that the rest is
        recorded.
        """
        if self._log_model:
            path, self._has_model = folder.absolute(), True
            self._worker.put(lambda: self._pack(path), _LOCAL_LIMIT, what="model")

    def tag(self, name: str, value: str) -> None:
        """Set a tag of the run."""
        self._put(lambda: self._line.call("tag", name, value), what="tags")

    def describe(self, text: str) -> None:
        """Show a Markdown text as the run's description."""
        self._put(lambda: self._line.call("describe", text), what="description")

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log
        its folder.
        """
        if self._run is None:
            return
        folder, copied, moment = self._run.folder.absolute(), dict(metrics), milliseconds()
        self._put(lambda: self._line.call("log_final", copied, moment), what="final metrics")
        self._worker.put(lambda: self._line.call("log_folder", folder), _LOCAL_LIMIT, what="files")
        if self._has_model:
            self._worker.put(lambda: self._line.call("check_model"), _LOCAL_LIMIT, what="model")
        self._put(lambda: self._line.call("terminate", status), always=True)
        self._close()
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
        self._connect()
        self._put(lambda: run_ids.append(self._line.call("open_sweep", name, tags, known, moment)))
        self._worker.put(recorder.share, _LOCAL_LIMIT)
        self._close()
        return run_ids[0] if run_ids else ""

    def close_sweep(
        self, run_id: str, status: str, metrics: Mapping[str, float], files: Sequence[Path]
    ) -> None:
        """End the run of a sweep (status ``FINISHED``, ``FAILED`` or ``KILLED``) with metrics and
        files of the whole.
        """
        self._folder, moment = files[0].parent if files else None, milliseconds()
        paths = [file.absolute() for file in files]
        self._connect()
        self._worker.put(
            lambda: self._line.call("close_sweep", run_id, status, finite(metrics), paths, moment),
            _LOCAL_LIMIT,
        )
        self._close()

    def drop_sweep(self, run_id: str) -> None:
        """Delete the run of a sweep in which no job ever began."""
        self._connect()
        self._put(lambda: self._line.call("drop_sweep", run_id))
        self._close()

    def _put(
        self, action: Callable[[], object], always: bool = False, what: str | int = ""
    ) -> None:
        """Queue a request to the store."""
        self._worker.put(action, self._request_limit, always, what)

    def _connect(self) -> None:
        """Let the store be opened; that MLflow is imported first is not charged to the store."""
        self._worker.put(lambda: self._line.call("prepare", recorder.switches()), _LOCAL_LIMIT)
        self._put(
            lambda: self._line.call("connect", credentials.restored(self.uri), self._experiment)
        )

    def _close(self) -> None:
        """Wait for what is queued."""
        self._worker.close(_BACKLOG_LIMIT)
        self._line.close()

    def _begin(self, run: Run, started: int) -> None:
        """Make the run with its tags, or go on with the one that the folder names."""
        known = self._known(run.folder) if run.resumed else ""
        if known:
            self.run_id = known
            self._line.call("go_on", known, self._grouped)
            return
        tags = run_tags(run) | git_tags()
        self.run_id = str(
            self._line.call("begin", self._run_name or run.label, tags, started, self._grouped)
        )
        facts = json.dumps({"uri": self.uri, "run_id": self.run_id}) + "\n"
        # a run that is killed leaves the whole file or none
        partial = run.folder / f".{RECORDED}.{secrets.token_hex(8)}.partial"
        with partial.open("x", encoding="utf8") as stream:
            stream.write(facts)
        partial.replace(run.folder / RECORDED)

    def _pack(self, folder: Path) -> None:
        """Log the saved model, and a line for each of its wheels that cannot be built."""
        for problem in self._line.call("log_model", folder) or ():
            _logger.info("The logged model cannot be installed by itself. %s", problem)

    def _known(self, folder: Path) -> str:
        """Return the run in `RECORDED`, which an earlier attempt wrote; empty where this store has
        no such run.
        """
        try:
            noted: dict[str, str] = json.loads((folder / RECORDED).read_text(encoding="utf8"))
            uri, run_id = noted["uri"], noted["run_id"]
        except (OSError, ValueError, KeyError):
            return ""
        return run_id if uri == self.uri and self._line.call("known", run_id) else ""

    def _warn(self, reason: str) -> None:
        """Say that nothing more will be recorded."""
        folder = self._folder or (self._run.folder if self._run is not None else "the run folder")
        _logger.warning(
            "tracking stopped: %s: %s; the run goes on, everything is in %s",
            self.uri,
            credentials.hidden(reason),
            folder,
        )


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
    words = (
        [f"pass {passes[0]}" if len(passes) == 1 else f"passes {passes[0]} to {passes[-1]}"]
        if passes
        else []
    )
    words += dict.fromkeys(one for one in lost if isinstance(one, str))
    return (
        f"{uri} does not have all of this run. Not recorded: {', '.join(words)}. They are in "
        f"{folder}."
    )
