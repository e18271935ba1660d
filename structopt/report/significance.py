"""Significance of differences between runs: their saved models predict the same file again, and its instances are resampled."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from structopt.config import registry
from structopt.errors import ConfigError, StructoptError
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.objective.decoding import predicted
from structopt.report.bootstrap import Difference, difference, holm, resampled
from structopt.report.chosen_runs import Candidate
from structopt.report.mlflow_store import Store
from structopt.report.origins import file_of, same_file

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Test:
    """What is tested, and how.

    Attributes
    ----------
    metric : str
        Of a held-out part: ``test.f1``.
    baseline : int
        Number of the run that the others are compared with.
    samples, seed : int
        Of the bootstrap.
    """

    metric: str
    baseline: int
    samples: int
    seed: int

    @property
    def part(self) -> str:
        """``dev`` or ``test``."""
        return self.metric.partition(".")[0]

    @property
    def name(self) -> str:
        """The metric without its part."""
        return self.metric.partition(".")[2]


def differences(runs: Sequence[Candidate], test: Test, store: Store) -> dict[int, tuple[Difference, float]]:
    """Every run's difference to the baseline, and its p-value after Holm's correction; runs by number.

    A run whose file or model is gone is left out with a warning.

    Raises
    ------
    ConfigError
        If nothing can be tested: runs are of different files, or the baseline's file or model is gone.
    """
    base = runs[test.baseline]
    same_file([run.record for run in runs], test.part)
    scores = {test.baseline: _resamples(base, test, store)}
    for number, run in enumerate(runs):
        if number != test.baseline:
            try:
                scores[number] = _resamples(run, test, store)
            except StructoptError as error:
                log.warning("%s: left out of the significance tests: %s", run.record.name, error)
    value, resamples = scores.pop(test.baseline)
    found = {number: difference(own - value, drawn - resamples) for number, (own, drawn) in scores.items()}
    return dict(zip(found, zip(found.values(), holm([one.p for one in found.values()]), strict=True), strict=True))


def _resamples(run: Candidate, test: Test, store: Store) -> tuple[float, Any]:
    """A run's metric on the file, and on its resamples."""
    outcomes = predictions(run, test.part, store)
    value = outcomes.scores().get(test.name)
    if value is None:
        known = ", ".join(outcomes.scores())
        raise ConfigError(f"{test.metric} is no score of predictions and cannot be tested. Scores: {known}.")
    recorded = run.record.metric(test.metric)
    if recorded is not None and abs(recorded - value) > 1e-9:
        log.warning(
            "%s: its model now scores %s %.6f instead of %.6f: file or model has changed since.",
            run.record.name, test.metric, value, recorded,
        )  # fmt: skip
    return value, resampled(outcomes, test.name, test.samples, test.seed)


def predictions(run: Candidate, part: str, store: Store) -> Any:
    """Outcomes of a run's model on the file of a part."""
    model, file = _model(run, store), file_of(run.record, part)
    corpus = model.task.read(file)
    examples = model.examples(corpus)
    rest = model.inference, model.kernels, model.weights, registry.serial()
    return model.task.outcomes(corpus, predicted(examples, model.task, model.graph, *rest))


def _model(run: Candidate, store: Store) -> Model:
    """The model in a run's folder; where it is not there, the one that the run logged."""
    if not run.run_id or (run.record.folder / "model").is_dir():
        return Model.load(find_model(str(run.record.folder)))
    with TemporaryDirectory() as folder:
        return Model.load(store.download_model(run.run_id, Path(folder)))
