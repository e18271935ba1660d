"""The MLflow store of a comparison: runs are looked up and fetched, and the comparison is
recorded.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from structopt.errors import ConfigError, did_you_mean
from structopt.progress import credentials
from structopt.run.records import PRUNED
from structopt.tracker import stores
from structopt.tracker.stores import (
    RUN_FOLDER,
    asked_at,
    check_exists,
    import_mlflow,
    prepare_environment,
    store_address,
)

log = logging.getLogger(__name__)

ADDRESS = "runs:/"
DESCRIPTION = stores.NOTE
FILES = ("metrics.json", "history.csv", ".hydra")
KIND = "structopt.kind"
"""The tag that marks a comparison."""
COMPARISON = "comparison"
_PATIENCE = 5.0  # seconds to wait for a server


class Store:
    """An MLflow store; MLflow is imported and the store is opened at its first use.

    Parameters
    ----------
    uri : str
        Its address; empty for MLFLOW_TRACKING_URI, else the sqlite store ``outputs/mlflow.db``
        under the current folder.
    """

    def __init__(self, uri: str = "") -> None:
        self.uri = store_address(uri or None)

    def folder_of(self, run_id: str) -> Path | None:
        """Return the folder of a run where it still exists, else None."""
        with self._asked(f"run '{run_id}'"):
            tags = self._client.get_run(run_id).data.tags
        folder = Path(tags.get(RUN_FOLDER) or os.devnull)
        return folder if folder.is_dir() else None

    def runs_of(self, experiment: str) -> list[str]:
        """Return the ids of an experiment's finished training runs, the oldest first; warn of how
        many have not finished.
        """
        with self._asked(f"experiment '{experiment}'"):
            stored = self._client.get_experiment_by_name(experiment)
            known = (
                [one.name for one in self._client.search_experiments()] if stored is None else []
            )
        if stored is None:
            raise ConfigError(
                f"experiment={experiment}: {self.uri} has none.{did_you_mean(experiment, known)} "
                f"It has: {known}."
            )
        runs = self._all_runs(stored.experiment_id)
        # sweeps and comparisons are not
        trained = [run.info for run in runs if RUN_FOLDER in run.data.tags]
        pruned = {run.info.run_id for run in runs if PRUNED.lower() in run.data.tags}
        finished = [
            info.run_id
            for info in trained
            if info.status == "FINISHED" and info.run_id not in pruned
        ]
        if len(finished) < len(trained):
            log.warning(
                "experiment '%s': %d runs have not finished, or were pruned, and are left out.",
                experiment,
                len(trained) - len(finished),
            )
        return finished

    def download(self, run_id: str, target: Path) -> Path:
        """Fetch what was logged of a run: metrics, history and configuration."""
        target.mkdir(parents=True, exist_ok=True)
        with self._asked(f"run '{run_id}'"):
            logged = {artifact.path for artifact in self._client.list_artifacts(run_id)}
            for name in logged.intersection(FILES):
                self._client.download_artifacts(run_id, name, str(target))
        return target

    def download_model(self, run_id: str, target: Path) -> Path:
        """Fetch the model that a run logged, and return its folder."""
        import mlflow

        target.mkdir(parents=True, exist_ok=True)
        # looking up a logged model takes no address
        with self._asked(f"the model of run '{run_id}'"), asked_at(self.uri):
            mlflow.artifacts.download_artifacts(
                f"{ADDRESS}{run_id}/model",
                dst_path=str(target),
                tracking_uri=credentials.restored(self.uri),
            )
        for manifest in sorted(target.rglob("manifest.json")):
            return manifest.parent
        raise ConfigError(f"runs:/{run_id}/model was not saved by structopt.")

    def add(
        self,
        run_id: str,
        files: Sequence[Path],
        tags: Mapping[str, str],
        folder: str | None = COMPARISON,
    ) -> None:
        """Log files and tags on a run; the tag `DESCRIPTION` is shown as its description."""
        for file in files:
            self._client.log_artifact(run_id, str(file), folder)
        for key, value in tags.items():
            self._client.set_tag(run_id, key, value)

    def record(
        self, beside: str, files: Sequence[Path], tags: Mapping[str, str], params: Mapping[str, str]
    ) -> str:
        """Make a run for a comparison, with its files, in the experiment of another run; return its
        id.
        """
        experiment = self._client.get_run(beside).info.experiment_id
        run_id = str(
            self._client.create_run(
                experiment, run_name=COMPARISON, tags={KIND: COMPARISON}
            ).info.run_id
        )
        for key, value in params.items():
            self._client.log_param(run_id, key, value[:500])
        self.add(run_id, files, tags, None)
        self._client.set_terminated(run_id)
        return run_id

    @cached_property
    def _client(self) -> Any:
        check_exists(self.uri)
        prepare_environment(_PATIENCE)
        import_mlflow()
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=credentials.restored(self.uri))

    def _all_runs(self, experiment_id: str) -> list[Any]:
        """Return the runs of an experiment, the oldest first, page by page."""
        runs: list[Any] = []
        token: str | None = ""
        while token is not None:
            order = ["attributes.start_time"]
            page = self._client.search_runs(
                [experiment_id], order_by=order, page_token=token or None
            )
            runs += page
            token = page.token or None
        return runs

    @contextlib.contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        """Turn errors of MLflow into a ConfigError of one line."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:
            first = credentials.hidden(str(error).strip() or type(error).__name__).splitlines()[0]
            raise ConfigError(f"{what} cannot be had from {self.uri}: {first}") from error
