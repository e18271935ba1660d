"""A run in an MLflow store: its configuration, data, metrics, files, model and description are
written, in few calls.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structopt.core.data.splits import SPLITS
from structopt.tracker.facts import allowed_name, dataset_input, finite
from structopt.tracker.logged_model import save_pyfunc
from structopt.tracker.stores import DESCRIBED, NOTE, describe

_PARAMS_A_CALL = 100


class StoredRun:
    """Writes one run.

    The model is logged before the final metrics, so that these are linked to it and to the data
    they were measured on.

    Parameters
    ----------
    client : MlflowClient
    experiment_id, run_id : str
    grouped : bool
        Whether metrics of passes are written under names with a slash too, which MLflow's pages
        show in groups.
    """

    def __init__(self, client: Any, experiment_id: str, run_id: str, grouped: bool) -> None:
        self.run_id = run_id
        self._client, self._experiment_id, self._grouped = client, experiment_id, grouped
        self._params: Mapping[str, str] = {}
        self._datasets: dict[str, Any] = {}
        # step, time and metrics of the last pass
        self._last: tuple[int, int, dict[str, float]] = (0, 0, {})
        self._model: Any = None
        self._without_model: Exception | None = None

    def log_params(self, values: Mapping[str, str]) -> None:
        """Log params; those that were typed anew for a run that goes on become tags, since a param
        cannot change.
        """
        from mlflow.entities import Param, RunTag

        self._params = values
        known = self._client.get_run(self.run_id).data.params
        fresh = [Param(key, value) for key, value in values.items() if key not in known]
        anew = [
            RunTag(f"resumed.{key}", value)
            for key, value in values.items()
            if known.get(key, value) != value
        ]
        for first in range(0, len(fresh), _PARAMS_A_CALL):
            self._client.log_batch(self.run_id, params=fresh[first : first + _PARAMS_A_CALL])
        if anew:
            self._client.log_batch(self.run_id, tags=anew)

    def log_data(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Record name, size and digest of the data files, by split: as inputs, and in full as
        tags.
        """
        from mlflow.entities import RunTag

        if not facts:
            return
        inputs = {split: dataset_input(split, fact) for split, fact in facts.items()}
        self._datasets = {split: one.dataset for split, one in inputs.items()}
        self._client.log_inputs(self.run_id, datasets=list(inputs.values()))
        keys = ("name", "size", "sha256")
        tags = [
            RunTag(f"data.{split}.{key}", str(fact[key]))
            for split, fact in facts.items()
            for key in keys
        ]
        self._client.log_batch(self.run_id, tags=tags)

    def log_pass(self, metrics: Mapping[str, float], step: int, moment: int) -> None:
        """Record the finite metrics of a pass in one call."""
        kept = finite(metrics)
        self._last = step, moment, kept
        self._log(
            [self._metric(key, value, moment) for key, value in kept.items()]
            + self._in_groups(kept, kept, moment)
        )

    def log_final(self, metrics: Mapping[str, float], moment: int) -> None:
        """Record the final metrics at the last pass, linked to the logged model.

        What the last pass recorded already keeps its time, by which the store knows that it is the
        same point.
        """
        (_, before, known), kept = self._last, finite(metrics)
        changed = {key: value for key, value in kept.items() if known.get(key) != value}
        metrics_of_run = [
            self._metric(key, value, moment if key in changed else before)
            for key, value in kept.items()
        ]
        self._log(metrics_of_run + self._in_groups(changed, known, moment))

    def log_folder(self, folder: Path) -> None:
        """Log the run's files: configuration, history, metrics, plots and log."""
        for name in (".hydra", "plots"):
            if (folder / name).is_dir():
                self._client.log_artifacts(self.run_id, str(folder / name), name)
        for file in [
            folder / "history.csv",
            folder / "metrics.json",
            *sorted(folder.glob("*.log")),
        ]:
            if file.is_file():
                self._client.log_artifact(self.run_id, str(file))

    def log_model(self, folder: Path) -> list[str]:
        """Log the saved model as a pyfunc named ``model``, and return the reasons for missing
        wheels; an error is kept for `check_model`.
        """
        try:
            self._model = self._client.create_logged_model(
                self._experiment_id,
                name="model",
                source_run_id=self.run_id,
                params=dict(self._params),
            )
            return self._pack(folder)
        except Exception as error:  # metrics and files are still to come
            self._without_model = error
            return []

    def check_model(self) -> None:
        """Raise what went wrong in `log_model`, if anything did."""
        if self._without_model is not None:
            raise self._without_model

    def _pack(self, folder: Path) -> list[str]:
        """Fill the logged model; see `save_pyfunc`."""
        from mlflow.entities import LoggedModelOutput

        status = "FAILED"
        try:
            self._client.log_outputs(
                self.run_id, [LoggedModelOutput(self._model.model_id, self._last[0])]
            )
            with tempfile.TemporaryDirectory() as temporary:
                packed = Path(temporary, "model")
                problems = save_pyfunc(packed, folder, self._model, self.run_id)
                self._client.log_model_artifacts(self._model.model_id, str(packed))
            status = "READY"
        finally:
            self._client.finalize_logged_model(self._model.model_id, status)
        return problems

    def tag(self, name: str, value: str) -> None:
        """Set a tag of the run."""
        self._client.set_tag(self.run_id, name, value)

    def describe(self, text: str) -> None:
        """Show a Markdown text as the run's description."""
        describe(self._client, self.run_id, text)

    def go_on(self) -> None:
        """Mark an earlier run as running again, and drop the description of how it ended."""
        self._client.update_run(self.run_id, status="RUNNING")
        if DESCRIBED in self._client.get_run(self.run_id).data.tags:
            for tag in (NOTE, DESCRIBED):
                with contextlib.suppress(Exception):  # the user has deleted it
                    self._client.delete_tag(self.run_id, tag)

    def _metric(self, key: str, value: float, moment: int) -> Any:
        """Return a metric of the last pass, with its model and data as far as they are known."""
        from mlflow.entities import Metric

        dataset = self._datasets.get(key.partition(".")[0])
        of = {"dataset_name": dataset.name, "dataset_digest": dataset.digest} if dataset else {}
        model_id = self._model.model_id if self._model else None
        return Metric(allowed_name(key), value, moment, self._last[0], model_id=model_id, **of)

    def _in_groups(
        self, metrics: Mapping[str, float], passes: Mapping[str, float], moment: int
    ) -> list[Any]:
        """Return those that passes record, and the same of the test split, named as MLflow's pages
        group them: ``dev/f1``.
        """
        from mlflow.entities import Metric

        shown = {
            name
            for key in passes
            for name in (key, key.replace("dev.", "test.", 1))
            if key.partition(".")[0] in SPLITS
        }
        named = {
            key.replace(".", "/", 1): value
            for key, value in metrics.items()
            if self._grouped and key in shown
        }
        return [
            Metric(allowed_name(name), value, moment, self._last[0])
            for name, value in named.items()
        ]

    def _log(self, metrics: list[Any]) -> None:
        if metrics:
            self._client.log_batch(self.run_id, metrics=metrics)
