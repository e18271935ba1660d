"""The end of a run: its weights evaluated, ``metrics.json`` written, the learning curve drawn, and
how it went in words.

A first interrupt during all this ends what takes long, and nothing is lost: the metrics are then
those of the last pass.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.learning.training import Training
from structopt.process import interruption
from structopt.process.time_limit import TimeIsUp, at_most
from structopt.progress import console, phases
from structopt.run import history
from structopt.run.components import Components
from structopt.run.evaluation import Metrics, evaluate, known
from structopt.run.plots import objective_remark
from structopt.run.reading import TrainingData
from structopt.run.report import closing_text, draw, unfinished

log = logging.getLogger(__name__)

PATIENCE = 1.5
"""Seconds that the evaluation of an interrupted run may take, and its picture."""


@dataclass(frozen=True)
class Closing:
    """What the end of a run looks at.

    Attributes
    ----------
    config : mapping
    folder : Path
        The run folder.
    label : str
        The name of the run.
    components : Components
    data : TrainingData
    trainer : Training
        After the last pass.
    shards : int
        Into how many shards the passes were divided; 0 for none.
    is_job : bool
        Whether the run is a job of a sweep: its closing text goes to its log.
    pictures : bool
        Whether the learning curve is drawn.
    """

    config: Mapping[str, Any]
    folder: Path
    label: str
    components: Components
    data: TrainingData
    trainer: Training
    shards: int
    is_job: bool
    pictures: bool = True

    def measured(
        self, weights: Array, interrupt: KeyboardInterrupt | None
    ) -> tuple[Metrics, KeyboardInterrupt | None]:
        """Metrics of the weights, and the interrupt of the run, if one came before or now.

        Of an interrupted run they are those that its last pass left, where an evaluation takes
        long.
        """
        measure = self.config, self.components, self.data, self.trainer, weights, self.shards
        try:
            if interrupt is None:
                return evaluate(*measure), None
            with interruption.put_off(), at_most(PATIENCE):
                return evaluate(*measure), interrupt
        except TimeIsUp:
            return self._of_last_pass(), interrupt
        except KeyboardInterrupt as now:
            return self._of_last_pass(), now

    def report(
        self, metrics: Metrics, interrupt: KeyboardInterrupt | None
    ) -> KeyboardInterrupt | None:
        """Write ``metrics.json``, draw, and print the metrics; return the interrupt of the run, if
        one came before or while it is drawn.
        """
        durable_files.write_json(self.folder / "metrics.json", metrics)
        if self.pictures:
            with phases.phase("drawing"):
                interrupt = self._draw(interrupt)
        model = self.folder / "model"
        text = summary(
            self.label,
            self.components,
            self.data,
            self.trainer,
            metrics,
            model if model.is_dir() else None,  # a pruned trial has none
            interrupt is not None,
        )
        if self.is_job:
            log.info("%s", text)
        else:
            console.say(text)
        return interrupt

    def _of_last_pass(self) -> Metrics:
        """The metrics of the pass whose weights are returned, as the history has them."""
        progress = self.trainer.progress
        epoch = progress.best_epoch if self.trainer.kept is not None else progress.epoch
        rows = (row for row in history.read(self.folder / "history.csv") if row["epoch"] == epoch)
        return known(self.components, self.data, self.trainer, next(rows, {}), self.shards)

    def _draw(self, interrupt: KeyboardInterrupt | None) -> KeyboardInterrupt | None:
        """Draw the learning curve, briefly if the run is interrupted; return the interrupt."""
        metric = self.components.task.main_metric
        minimizes = self.components.optimizer.plan.minimizes
        remark = objective_remark(str(self.config["optimizer"]["name"]), minimizes)
        try:
            with at_most(PATIENCE) if interrupt else interruption.not_put_off():
                draw(self.folder, metric, remark)
        except TimeIsUp:
            self._drop_plots()
        except KeyboardInterrupt as now:
            interrupt = now
            self._drop_plots()
        return interrupt

    def _drop_plots(self) -> None:
        shutil.rmtree(self.folder / "plots", ignore_errors=True)


def summary(
    label: str,
    components: Components,
    data: TrainingData,
    training: Training,
    metrics: Metrics,
    model: Path | None = None,
    interrupted: bool = False,
) -> str:
    """Return the text that training prints at its end.

    Parameters
    ----------
    label : str
        The name of the run.
    components : Components
    data : TrainingData
    training : Training
    metrics : Metrics
    model : Path or None
        The folder of the model.
    interrupted : bool
        Whether the user ended training.
    """
    pruner, main = "; ".join(data.pruned.summaries), components.task.main_metric
    member, progress = components.loss.member, training.progress
    text = closing_text(label, member, metrics, progress, data.beginning, pruner, main)
    if model is not None:
        text += f"\nmodel: {model}"
    if (advice := unfinished(training)) and not interrupted:
        text += f"\n{advice}"
    if columns := components.task.needed_columns:
        text += f"\nprediction needs the columns: {', '.join(columns)}"
    return text
