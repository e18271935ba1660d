"""The callbacks of a run: scores of the dev part, the judge of a search, interrupts, the progress
line, the log, the tracker, checks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal, Protocol

import numpy as np

from structopt.core.executor import COSTS
from structopt.core.loss import Beginning
from structopt.core.objective import OUTPUT_KERNELS
from structopt.core.optimizer import Plan
from structopt.core.optimizer_state import values_of
from structopt.core.tracker import Tracker
from structopt.kernels.waist import halting
from structopt.kernels.waist.compiling import Stopwatch
from structopt.kernels.waist.record import Array
from structopt.learning.training import Callback, Row, Training
from structopt.process import interruption
from structopt.progress import phases
from structopt.progress.phases import Phase
from structopt.run.report import SHOWN

log = logging.getLogger(__name__)


Scores = Callable[[Array], Mapping[str, float]]
"""Weights to metrics."""


class Judge(Protocol):
    """Decides after each epoch of a trial if it continues.

    Attributes
    ----------
    verdict : str
        Why the trial was stopped; empty if it was not.
    """

    verdict: str

    def __call__(self, row: Row, /) -> str:
        """Return the reason to stop after an epoch, given its row; or the empty string."""


def kept(config: Mapping[str, Any], plan: Plan) -> Literal["best", "last"]:
    """Return which weights a run keeps, by its config and the plan of its optimizer.

    The last ones if the setting ``keep`` is not set, the optimizer converges and nothing stops the
    run early, and in configs of versions without this setting.
    """
    stops_early = config.get("patience") is not None
    if keep := config.get("keep"):
        return "best" if keep == "best" else "last"
    return "best" if stops_early or ("keep" in config and not plan.converges) else "last"


class Interrupts(Callback):
    """Ends the run after a pass during which an interrupt was swallowed."""

    def passed(self, training: Training, row: Row) -> None:
        """Raise the interrupt."""
        interruption.silence_closed_terminal()
        interruption.obey()


class Development(Callback):
    """Scores the dev part after each epoch, keeps the best weights, and stops when it gets no
    better.

    Parameters
    ----------
    scores : callable or None
        Weights to dev metrics; None without a dev part.
    metric : str
        The dev metric by which epochs are compared.
    keep : str
        Which weights to return: ``best``, of the epoch with the best dev score, or ``last``.
    patience : int or None
        Stop after so many epochs without a better dev score.
    test : callable or None
        Weights to test metrics, if the test part is scored after every epoch; nothing is chosen by
        them.
    """

    def __init__(
        self,
        scores: Scores | None,
        metric: str,
        keep: Literal["best", "last"] = "last",
        patience: int | None = None,
        test: Scores | None = None,
    ) -> None:
        self.parts = {"dev": scores, "test": test}
        self.metric, self.keep, self.patience = metric, keep, patience
        self.modules = (OUTPUT_KERNELS,) if scores or test else ()

    def begin(self, training: Training) -> None:
        """Drop the best weights of a resumed run that kept them, unless this one does."""
        if self.keep != "best":
            training.kept = None

    def evaluated(self, training: Training, row: Row) -> None:
        """Append scores to the row. Epochs of a convex start are not compared."""
        scored = {part: scores for part, scores in self.parts.items() if scores is not None}
        # the mean of iterates is an array of its own
        weights = training.optimizer.weights(training.state) if scored else np.zeros(0)
        for part, scores in scored.items():
            row |= {f"{part}.{name}": value for name, value in scores(weights).items()}
        if "convex_pass" not in row:
            self._choose(training, row, weights)

    def _choose(self, training: Training, row: Row, weights: Array) -> None:
        progress, score = training.progress, row.get(f"dev.{self.metric}")
        progress.latest = None if score is None else float(score)
        if score is not None and score > progress.best:
            progress.best, progress.best_epoch = float(score), progress.epoch
            if self.keep == "best":
                training.kept, training.known = weights.copy(), row
        if self.patience is not None and progress.epoch - progress.best_epoch >= self.patience:
            training.stop(f"no better dev {self.metric} in {self.patience} passes")


class Judging(Callback):
    """Stops a trial for the reason that a judge returns, who knows the other trials of a search.

    Parameters
    ----------
    judge : Judge
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def evaluated(self, training: Training, row: Row) -> None:
        """Ask while epochs are left."""
        progress = training.progress
        if progress.epoch < training.epochs and not progress.stopped:
            training.stop(self.judge(row))


class PassProgress(Callback):
    """Shows the epoch, its share, and loss, gap and dev score of the epoch before.

    The position only increases. The steps of an epoch move it from one integer to the next, and it
    rests there while they are evaluated: visits of the evaluation are in phases of their own.

    Parameters
    ----------
    metric : str
        The dev metric to show.
    """

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self._phase: Phase | None = None
        self._row: Row = {}
        self._entered, self._clock = ExitStack(), Stopwatch()
        self._total = self._done_before = 0
        self._usual = 1  # visits of the steps of an epoch
        # epochs done, and the visits at which the next one began; None during an evaluation. One
        # assignment replaces both, because the display reads them in another thread.
        self._place: tuple[int, int | None] = (0, None)

    def begin(self, training: Training) -> None:
        """Enter the phase."""
        self._row, self._clock = {}, Stopwatch()
        self._total, self._done_before = training.epochs, training.progress.epoch
        self._usual = max(1, training.problem.m)
        self._place = (self._done_before, halting.visits())
        self._phase = self._entered.enter_context(
            phases.phase("training", line=self.line, remark=self.remark, lasting=False)
        )

    def trained(self, training: Training) -> None:
        """Count the epoch, and its visits with all trials of its steps."""
        began = self._place[1]
        if began is not None:
            self._usual = max(1, halting.visits() - began)
        self._place = (training.progress.epoch, None)

    def passed(self, training: Training, row: Row) -> None:
        """Store the numbers of the epoch, and begin the next one."""
        self._row = row
        self._place = (training.progress.epoch, halting.visits())

    def close(self) -> None:
        """Leave the phase."""
        self._entered.close()

    @property
    def position(self) -> float:
        """The number of epochs done, with the share of the present one.

        Visits of the epoch before estimate the share; for the first, the number of instances.
        """
        done, began = self._place
        visits = 0 if began is None else halting.visits() - began
        return min(done + min(0.99, visits / self._usual), self._total)

    def line(self) -> str:
        """Format a line for a terminal: a bar of the epochs, and the remaining time."""
        from tqdm import tqdm

        epoch, _ = self._epoch()
        meter = tqdm.format_meter(
            self.position,
            self._total,
            self._clock.seconds,
            initial=self._done_before,
            postfix=", ".join(self._evaluation() or self._numbers()),
            prefix=f"epoch {epoch}/{self._total}",
            bar_format="{desc} |{bar:24}| {elapsed}<{remaining}{postfix}",
        )
        return str(meter)

    def remark(self) -> str:
        """Describe the position in words."""
        epoch, share = self._epoch()
        words = [f"epoch {epoch} of {self._total}"]
        words += [f"{share:.0%} of the epoch"] if share else []
        return ", ".join([*words, *self._numbers()])

    def _epoch(self) -> tuple[int, float]:
        """Return the epoch that is trained or evaluated, and the share of its steps."""
        done, began = self._place
        if began is None:
            return done, 0.0
        return min(done + 1, self._total), max(0.0, self.position - done)

    def _evaluation(self) -> list[str]:
        """Return the innermost phase within training with its share; nothing if there is none."""
        inner = phases.under_way()[-1:]
        if not inner or inner[0] is self._phase:
            return []
        share = inner[0].share
        return [inner[0].title, *([] if share is None else [f"{share:.0%}"])]

    def _numbers(self) -> list[str]:
        """Return numbers of the last epoch; the gap is relative to the objective."""
        row = self._row
        score, gap, primal, loss = (
            row.get(name) for name in (f"dev.{self.metric}", "gap", "primal", "loss")
        )
        known = [f"loss {loss:.6g}"] if loss is not None else []
        known += [f"gap {gap / abs(primal):.1e}"] if gap is not None and primal else []
        return known + ([f"dev {self.metric} {score:.4f}"] if score is not None else [])


class PassLog(Callback):
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
                self.member,
                self.beginning.passes,
                self.beginning.loss.member,
            )
        self._log_rate(training)

    def passed(self, training: Training, row: Row) -> None:
        """Log the numbers of a pass."""
        if self.beginning and row["epoch"] == self.beginning.passes + 1:
            self._log_rate(training)
        if training.progress.repeated > self._repeated:
            times = training.progress.repeated - self._repeated
            log.info(
                "pass %d raised the objective; repeated with shorter steps, %d times",
                row["epoch"],
                times,
            )
            self._repeated = training.progress.repeated
        shown = {name for name in row if "_" not in name or name.partition(".")[2] in SHOWN}
        known = [
            f"{name} {value:.6g}"
            for name, value in row.items()
            if value is not None and name in shown
        ]
        log.info("pass %s", "  ".join(known))

    def _log_rate(self, training: Training) -> None:
        for name in training.optimizer.plan.tried:
            log.warning("optimizer.%s=auto: took %g", name, values_of(training.state)[name])


class TrackedPasses(Callback):
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


class Checks(Callback):
    """Compares inference, loss and steps with slow references, for ``check=true``.

    Parameters
    ----------
    seed : int
        Of the sample of instances.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def begin(self, training: Training) -> None:
        """Check the inference and the gradient of the loss at the initial weights."""
        self._check("before training", training, training.weights())

    def end(self, training: Training, weights: Array) -> None:
        """Check both at the trained weights, and the optimizer's steps."""
        from structopt.run.checks import check_steps

        self._check("after training", training, weights)
        with phases.phase("checking", "steps"):
            message = check_steps(training.problem, training.optimizer, training.state, self.seed)
        if message:
            log.warning("check of steps: %s", message)

    def _check(self, stage: str, training: Training, weights: Array) -> None:
        from structopt.run.checks import check_gradient, check_inference

        for subject, check in (("inference", check_inference), ("gradient", check_gradient)):
            with phases.phase("checking", f"the {subject}"):
                message = check(training.problem, weights, self.seed)
            log.warning("check %s: %s", stage, message)


def epoch_metrics(row: Mapping[str, float | int], main: str) -> dict[str, float]:
    """History cells under their dotted names in MLflow: the main metric first, scores of single
    labels not at all.

    A server draws a chart for each, and opens its page of comparisons at the first.
    """
    train = {"loss", "primal", "dual", "gap", "rate_bound", "seconds", "inference_seconds", *COSTS}
    shown = [
        main,
        *(
            name
            for name in row
            if name in train or name.partition(".")[2] in SHOWN and name != main
        ),
    ]
    named = {
        f"train.{name}" if name in train else name: float(row[name])
        for name in shown
        if name in row
    }
    return {
        ("train.objective" if name == "train.primal" else name): value
        for name, value in named.items()
    }
