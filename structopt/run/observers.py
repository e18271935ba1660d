"""The observers of a training run: interrupts, the progress line, the log, the history file, the tracker, checks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from structopt.core.loss import Beginning
from structopt.core.tracker import Tracker
from structopt.kernels.waist.record import Array
from structopt.run import interruption
from structopt.run.history import History
from structopt.run.observer import Observer, Row, Training
from structopt.run.progress import ProgressLine
from structopt.run.report import SHOWN

log = logging.getLogger(__name__)


class Interrupts(Observer):
    """Ends the run after a pass during which an interrupt was swallowed."""

    def passed(self, training: Training, row: Row) -> None:
        """Raise the interrupt."""
        interruption.silence_closed_terminal()
        interruption.obey()


class HistoryFile(Observer):
    """Writes ``history.csv``, one row a pass.

    Parameters
    ----------
    folder : Path
        The run folder.
    """

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "history.csv")

    def rewind(self, epoch: int) -> None:
        """Drop the rows after a pass: the run goes on from there."""
        self.history.rewind(epoch)

    def measured(self, training: Training, row: Row) -> None:
        """Append the row of a pass."""
        self.history.append(row)


class ProgressBar(Observer):
    """Shows pass, loss, dev score and the time left on stderr.

    Parameters
    ----------
    metric : str
        The dev metric to show.
    silent : bool
        Whether to show nothing, as beside other jobs of a sweep.
    """

    def __init__(self, metric: str, silent: bool) -> None:
        self.metric, self.silent = metric, silent
        self._line: ProgressLine | None = None

    def begin(self, training: Training) -> None:
        """Show the line."""
        self._line = ProgressLine(training.progress.epoch, training.optimizer.epochs, self.metric, self.silent)

    def passed(self, training: Training, row: Row) -> None:
        """Move the line on."""
        if self._line is not None:
            self._line.show(row)

    def close(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.close()


class PassLog(Observer):
    """Logs what a pass did, learning rates that the optimizer chose, and passes that were repeated.

    Parameters
    ----------
    member : str
        The loss, in words.
    beginning : Beginning or None
        The convex loss that training begins with.
    """

    def __init__(self, member: str, beginning: Beginning | None) -> None:
        self.member, self.beginning = member, beginning
        self._repeated = 0

    def begin(self, training: Training) -> None:
        """Name the convex loss that comes first, and the learning rate that was chosen."""
        self._repeated = training.progress.repeated
        if self.beginning:
            log.warning(
                "%s is not convex: %d passes of %s come first (loss.convex_passes).",
                self.member, self.beginning.passes, self.beginning.loss.member,
            )  # fmt: skip
        self._log_rate(training)

    def passed(self, training: Training, row: Row) -> None:
        """Log the numbers of a pass."""
        if self.beginning and row["epoch"] == self.beginning.passes + 1:
            self._log_rate(training)
        if training.progress.repeated > self._repeated:
            times = training.progress.repeated - self._repeated
            log.info("pass %d raised the objective; repeated with shorter steps, %d times", row["epoch"], times)
            self._repeated = training.progress.repeated
        known = [f"{name} {value:.6g}" for name, value in row.items() if value is not None and "_" not in name]
        log.info("pass %s", "  ".join(known))

    def _log_rate(self, training: Training) -> None:
        for name in training.optimizer.plan.tried:
            log.warning("optimizer.%s=auto: took %g", name, training.state[name])


class TrackedPasses(Observer):
    """Records every pass with the tracker.

    Parameters
    ----------
    tracker : Tracker
    metric : str
        The task's main metric.
    """

    def __init__(self, tracker: Tracker, metric: str) -> None:
        self.tracker, self.metric = tracker, metric

    def passed(self, training: Training, row: Row) -> None:
        """Record the numbers of a pass."""
        known = {name: value for name, value in row.items() if value is not None}
        self.tracker.log_epoch(training.progress.epoch, epoch_metrics(known, f"dev.{self.metric}"))


class Checks(Observer):
    """Compares inference and steps with slow references, for ``check=true``.

    Parameters
    ----------
    seed : int
        Of the sample of instances.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def begin(self, training: Training) -> None:
        """Check the inference at the first weights."""
        self._check_inference("before training", training, training.weights())

    def end(self, training: Training, weights: Array) -> None:
        """Check the inference at the trained weights, and the optimizer's steps."""
        from structopt.run.checks import check_steps

        self._check_inference("after training", training, weights)
        if message := check_steps(training.problem, training.optimizer, training.state, self.seed):
            log.warning("check of steps: %s", message)

    def _check_inference(self, stage: str, training: Training, weights: Array) -> None:
        from structopt.run.checks import check_inference

        log.warning("check %s: %s", stage, check_inference(training.problem, weights, self.seed))


def epoch_metrics(row: Mapping[str, float | int], main: str) -> dict[str, float]:
    """History cells under their dotted names in MLflow: the main metric first, scores of single labels not at all.

    A server draws a chart for each, and opens its page of comparisons at the first.
    """
    train = {"loss", "primal", "dual", "gap", "seconds", "inference_seconds"}
    shown = [main, *(name for name in row if name in train or name.partition(".")[2] in SHOWN and name != main)]
    named = {f"train.{name}" if name in train else name: float(row[name]) for name in shown if name in row}
    return {("train.objective" if name == "train.primal" else name): value for name, value in named.items()}
