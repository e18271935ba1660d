"""What every tracker promises: it takes the life of a run as it comes, and never raises."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from structopt.core.tracker import Run, Tracker
from structopt.testing.promises import default, promises, required


@promises("tracker", never_raises=True)
class TrackerSuite:
    """Override the fixture `tracker`, which returns a function that creates a tracker. Also
    override `broken`: it returns a function that creates one whose store cannot be written.
    """

    @required
    def tracker(self) -> Any:
        """Return a function without arguments that creates the tracker under test."""

    @default
    def broken(self) -> Any:
        """Return a function that creates a tracker whose store cannot be written, or None."""
        return None

    @default
    def run(self, tmp_path: Path) -> Run:
        """Create the folder of a run, with a file of data."""
        folder, data = tmp_path / "run", tmp_path / "train.txt"
        folder.mkdir(exist_ok=True)
        data.write_text("a word\n", encoding="utf8")
        config = {
            "task": {"name": "ner", "train": str(data), "limit": None},
            "loss": {"name": "svm", "beta": float("inf")},
        }
        return Run(folder, config, {"train": data, "dev": tmp_path / "missing.txt"}, "ner-dca-svm")

    def test_a_run(self, tracker: Callable[[], Tracker], run: Run) -> None:
        """Start, passes, model, end; the methods return nothing.

        Return nothing from `start`, `log_epoch` and `finish`.
        """
        component = tracker()
        started = component.start(run)
        passes = [
            component.log_epoch(epoch, {"train.loss": 1 / epoch, "dev.f1": 0.5}) for epoch in (1, 2)
        ]
        component.log_model(run.folder / "model")
        assert [started, *passes, component.finish("FINISHED", {"dev.f1": 0.5})] == [None] * 4

    def test_a_run_that_ends_early(self, tracker: Callable[[], Tracker], run: Run) -> None:
        """A run may end before its first pass, without any metric.

        Take a run that ends without passes or metrics.
        """
        for status in ("FAILED", "KILLED"):
            component = tracker()
            component.start(run)
            component.describe("**Why** it ended.")
            component.finish(status, {})

    def test_metrics_that_are_no_numbers(self, tracker: Callable[[], Tracker], run: Run) -> None:
        """Infinite and undefined metrics, and names of metrics that are new, do no harm.

        Take metrics that are not finite, and names that come later.
        """
        component = tracker()
        component.start(run)
        component.log_epoch(1, {"train.loss": float("inf"), "dev.f1": float("nan")})
        component.log_epoch(2, {"something.else": 1.0})
        component.finish("FINISHED", {"dev.f1": float("nan")})

    def test_a_sweep(self, tracker: Callable[[], Tracker], run: Run) -> None:
        """Where it knows of runs within runs: the sweep's run is opened, opened again, and closed
        after those of its jobs.

        Return from `open_sweep` the id that it was given, where the sweep was opened before.
        """
        folder, command = run.folder.parent, "structopt seed=0,1"
        parent = tracker().open_sweep("a sweep", folder, command, "")
        if not parent:  # no runs within runs
            return
        job = tracker()
        job.start(replace(run, parent=parent, job=0))
        job.finish("FINISHED", {"dev.f1": 0.5})
        assert tracker().open_sweep("a sweep", folder, command, parent) == parent
        tracker().close_sweep(parent, "FINISHED", {"dev.f1": 0.5}, [])

    def test_a_broken_store_stops_nobody(self, broken: Any, run: Run) -> None:
        """It warns when it breaks, and once more at most, and the run goes on.

        Catch the errors of the store, warn at the first by the module's logger, and do nothing from
        then on.
        """
        if broken is None:
            return
        warnings = _Warnings()
        logging.getLogger().addHandler(warnings)
        try:
            component = broken()
            component.start(run)
            for epoch in range(1, 4):
                component.log_epoch(epoch, {"train.loss": 1.0})
            component.finish("FINISHED", {"dev.f1": 0.5})
        finally:
            logging.getLogger().removeHandler(warnings)
        assert len(warnings.texts) in (1, 2), f"It warns: {warnings.texts}"


class _Warnings(logging.Handler):
    """Keeps the texts of warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        if record.levelno == logging.WARNING:
            self.texts.append(record.getMessage())
