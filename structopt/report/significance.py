"""Significance of differences between runs: their saved models predict the same file again, and its
instances are resampled.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from structopt.errors import ConfigError, StructoptError
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.report.bootstrap import Difference, difference, holm, resampled
from structopt.report.chosen_runs import Candidate
from structopt.report.mlflow_store import Store
from structopt.report.origins import check_same_file, file_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Test:
    """A metric, the baseline that runs are tested against, and the bootstrap's parameters.

    Attributes
    ----------
    metric : str
        Of the dev or test split, such as ``test.f1``.
    baseline : int
        Number of the setting that the others are compared with.
    samples, seed : int
        Number of resamples of the bootstrap, and the seed that they are drawn by.
    """

    metric: str
    baseline: int
    samples: int
    seed: int

    @property
    def split(self) -> str:
        """``dev`` or ``test``."""
        return self.metric.partition(".")[0]

    @property
    def name(self) -> str:
        """The metric without its split."""
        return self.metric.partition(".")[2]


def differences(
    settings: Sequence[Sequence[Candidate]], test: Test, store: Store
) -> dict[int, tuple[Difference, float]]:
    """Return every setting's difference to the baseline, and its p-value after Holm's correction,
    by the setting's number.

    The score of a setting, on the file and on each resample, is the mean over its runs. A run whose
    file or model is gone is left out with a warning.

    Raises
    ------
    ConfigError
        If nothing can be tested: runs are of different files, or the baseline's files or models are
        gone.
    """
    check_same_file([run.record for runs in settings for run in runs], test.split)
    scores = {}
    for number in sorted(range(len(settings)), key=lambda number: number != test.baseline):
        if means := _means(settings[number], test, store, number == test.baseline):
            scores[number] = means
    base_value, base_resamples = scores.pop(test.baseline)
    tested = {
        number: difference(value - base_value, resamples - base_resamples)
        for number, (value, resamples) in scores.items()
    }
    corrected = holm([result.p for result in tested.values()])
    return {
        number: (result, p) for (number, result), p in zip(tested.items(), corrected, strict=True)
    }


def _means(
    runs: Sequence[Candidate], test: Test, store: Store, needed: bool
) -> tuple[float, Any] | None:
    """Return the means of `_resamples` over the runs of a setting; None, after warnings, if no run
    is left, unless it is needed.
    """
    scores = []
    for run in runs:
        try:
            scores.append(_resamples(run, test, store))
        except StructoptError as error:
            if needed and len(runs) == 1:
                raise
            log.warning("%s: left out of the significance tests: %s", run.record.name, error)
    if not scores and needed:
        raise ConfigError("no run of the baseline can be tested.")
    if not scores:
        return None
    value, resamples = (sum(parts) / len(scores) for parts in zip(*scores, strict=True))
    return value, resamples


def _resamples(run: Candidate, test: Test, store: Store) -> tuple[float, Any]:
    """Return a run's metric on the file, and on resamples of it."""
    outcomes = _outcomes(run, test.split, store)
    value = outcomes.scores().get(test.name)
    if value is None:
        known = ", ".join(outcomes.scores())
        raise ConfigError(
            f"{test.metric} is no score of predictions and cannot be tested. Scores: {known}."
        )
    recorded = run.record.metric(test.metric)
    if recorded is not None and abs(recorded - value) > 1e-9:
        log.warning(
            "%s: its model now scores %s %.6f instead of %.6f: file or model has changed since.",
            run.record.name,
            test.metric,
            value,
            recorded,
        )
    return value, resampled(outcomes, test.name, test.samples, test.seed)


def _outcomes(run: Candidate, split: str, store: Store) -> Any:
    """Return the outcomes of a run's model on its file of a split."""
    model, file = _model(run, store), file_of(run.record, split)
    corpus = model.task.read(file)
    examples = model.examples(corpus)
    return model.task.outcomes(corpus, model.outputs(examples))


def _model(run: Candidate, store: Store) -> Model:
    """Load the model in a run's folder; where there is none, the one that the run logged."""
    if not run.run_id or (run.record.folder / "model").is_dir():
        return Model.load(find_model(str(run.record.folder)))
    with TemporaryDirectory() as folder:
        return Model.load(store.download_model(run.run_id, Path(folder)))
