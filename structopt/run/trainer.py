"""The only loop over the steps of an optimizer: history, checkpoints, early stopping, resume."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from structopt.core.data import ranges
from structopt.core.executor import Account
from structopt.core.objective import certified_gap
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report, State, reported
from structopt.errors import ConfigError, NumericalError
from structopt.kernels.waist.compiling import Stopwatch
from structopt.kernels.waist.record import Array
from structopt.learning import optimizer_results
from structopt.objective.problem import Problem
from structopt.process import interruption
from structopt.progress import phases
from structopt.run.checkpoint import SEEN, Checkpoint
from structopt.run.observer import Observer, Progress, Row, restored_progress
from structopt.run.observers import HistoryFile

log = logging.getLogger(__name__)


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


CERTIFIED = "the certified gap is"
NEAR = 1e-3
"""Certified gap, relative to the objective, at which a step that fails may be the last."""
# in a checkpoint; no optimizer's state has a dot in its names
BEST, MESSAGES = "best.weights", "inference.messages"
SMALL = 16 << 20
"""Bytes of arrays that are saved after every pass, however short it was."""
SHORT = 2.0
"""Seconds of a pass for whose end an interrupt can wait; after longer ones there is a checkpoint
always.
"""
SPARED = 20
"""Other checkpoints are written so many times as long after the last one as that took."""
ADVICE = "Set a smaller optimizer.C, which regularises more, or scale the features down."


@dataclass(frozen=True)
class Schedule:
    """What is measured after passes, and what ends training before the last one.

    Attributes
    ----------
    metric : str
        The dev metric that early stopping looks at.
    objective_every : int
        Passes between two evaluations of P; 0 means at the end only.
    patience : int or None
        Stop after so many passes without a better dev score.
    keep : str
        Which weights to return: ``best``, of the pass with the best dev score if there is a
        dev split, or ``last``.
    certifies : bool
        Whether the inference's values are exact or upper bounds, so that P - D bounds how far P is
        from its minimum.
    judge : callable or None
        Given the row of a pass, gives the reason to stop after it, or the empty string; asked while
        passes are left.
    checkpoint_seconds : float
        Least time between two checkpoints within a pass, where it consists of several steps.
    """

    metric: str = "f1"
    objective_every: int = 1
    patience: int | None = None
    keep: Literal["best", "last"] = "last"
    certifies: bool = True
    judge: Judge | None = None
    checkpoint_seconds: float = 60.0


SCHEDULE = Schedule()


def kept(config: Mapping[str, Any], plan: Plan) -> Literal["best", "last"]:
    """Return which weights a run keeps, by its config and the plan of its optimizer.

    The last ones if the setting ``keep`` is not set, the optimizer converges and nothing stops the
    run early, and in configs of versions without this setting.
    """
    stops_early = config.get("patience") is not None
    if keep := config.get("keep"):
        return "best" if keep == "best" else "last"
    return "best" if stops_early or ("keep" in config and not plan.converges) else "last"


class Trainer:
    """Runs an optimizer pass by pass.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
    folder : Path
        Run folder: ``history.csv`` and ``checkpoint/state.safetensors`` go there.
    develop : callable or None
        Weights to dev metrics.
    schedule : Schedule
    observers : sequence of Observer
        Called in this order, after the history file.
    advice : str
        What to do where numbers overflow, in sentences.
    vocabulary : str
        Digest of the names behind the numbers of labels and attributes; a checkpoint with another
        one is refused.
    test : callable or None
        Weights to test metrics, where the test split is scored after every pass; nothing is chosen
        by them.
    """

    def __init__(
        self,
        problem: Problem,
        optimizer: Optimizer,
        folder: Path,
        develop: Callable[[Array], Mapping[str, float]] | None = None,
        schedule: Schedule = SCHEDULE,
        observers: Sequence[Observer] = (),
        advice: str = ADVICE,
        vocabulary: str = "",
        test: Callable[[Array], Mapping[str, float]] | None = None,
    ) -> None:
        self.problem, self.optimizer, self.advice = problem, optimizer, advice
        self.develop, self.schedule, self.tolerance = develop, schedule, optimizer.plan.tolerance
        self.history = HistoryFile(folder)
        self.observers: list[Observer] = [self.history, *observers]
        self.test = test
        self.vocabulary, self.file = vocabulary, folder / "checkpoint" / "state.safetensors"
        self.progress = Progress()
        self.best_weights: Array | None = None
        self.state: State = {}
        # pass of the last checkpoint, its time, and how long it took
        self.saved, self._saved_at, self._saving = 0, 0.0, 0.0
        self._whole = True  # whether the state is that after a pass, and not within one
        self._checked = False  # whether the result of a step was compared with the contract
        self._account = problem.executor.account
        self._accounted = self._account.copied() if self._account else Account()

    def start(self, weights: Array, earlier: Earlier | None = None) -> None:
        """Begin at these weights, or in the state that an earlier run left; a checkpoint in the
        folder is deleted.
        """
        self.file.unlink(missing_ok=True)
        self.progress, self.best_weights, self.saved = Progress(), None, 0
        self.problem.messages[:] = 0.0
        if earlier is None:
            method, state = "init", self.optimizer.init(self.problem, weights)
        else:
            method, state = "continued", self.optimizer.continued(self.problem, earlier)
        optimizer_results.check_start(self.optimizer, state, self.problem.dimension, method)
        self.state = state
        self.history.rewind(0)

    def resume(self) -> bool:
        """Go on from the checkpoint; return whether there is one."""
        if not self.file.is_file():
            return False
        try:
            self._restore(*self.checkpoint.read())
            self.optimizer.weights(self.state)
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            ConfigError,
        ) as error:
            raise self.checkpoint.mismatch("it is of another version") from error
        self.saved = self.progress.epoch
        self.history.rewind(self.saved)
        return True

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint, which knows the training data: they are digested once a run."""
        data = self.problem.fingerprint
        data = replace(data, digest=data.digest + self.vocabulary)
        return Checkpoint(self.file, self.problem.examples.scorer, data)

    def _restore(self, arrays: Mapping[str, Array], notes: Mapping[str, Any]) -> None:
        """Restore what `_save` wrote."""
        self.progress = restored_progress(notes["progress"])
        if self.progress.stopped.startswith(CERTIFIED) and not self._certified():
            self.progress.stopped = ""  # the resumed run asks for a smaller gap
        rest = dict(arrays)
        best = rest.pop(BEST, None)
        self.best_weights = best if self.schedule.keep == "best" else None
        messages = rest.pop(MESSAGES, np.zeros(0))
        if messages.shape != self.problem.messages.shape:
            raise self.checkpoint.mismatch("its messages are not as many as those of the data")
        self.problem.messages[:] = messages
        self.state = {name: self._placed(array) for name, array in rest.items()} | notes["scalars"]

    def _placed(self, array: Array) -> Array:
        """An array of the state where it belongs: with the data, if it is of all parts or
        instances, and a row of a matrix.
        """
        storage = self.problem.storage
        return (
            storage.joined([array], array.dtype).reshape(array.shape)
            if array.ndim > 1 and storage.in_files
            else array
        )

    def run(self) -> Array:
        """Do the passes that are left; return the weights.

        Raises
        ------
        NumericalError
            If loss, weights, objective or dual are not finite after a pass; the last checkpoint
            stays.
        """
        with phases.phase("loading kernels", lasting=False):
            plan = self.optimizer.plan
            for name in ("structopt.kernels.waist.passes", *plan.kernel_modules, *plan.imports):
                import_module(name)  # compiles what is not in the cache yet
        try:
            for observer in self.observers:
                observer.begin(self)
            while self.progress.epoch < self.optimizer.epochs and not self.progress.stopped:
                # short passes come to their end
                with interruption.put_off() if self.behind else nullcontext():
                    row = self._pass()
                for observer in self.observers:
                    observer.passed(self, row)
        except BaseException:
            if self.behind and self._whole:  # between two passes nothing is lost
                self._save()
            raise
        finally:
            for observer in self.observers:
                observer.close()
        return self.weights()

    def weights(self) -> Array:
        """Weights to return, as `Schedule.keep` says."""
        return (
            self.optimizer.weights(self.state) if self.best_weights is None else self.best_weights
        )

    @property
    def unfinished(self) -> str:
        """Why training ended before the optimizer's own criterion, and what to do; empty if it was
        met, and for optimizers without one.
        """
        plan, progress = self.optimizer.plan, self.progress
        if progress.failed:
            reason = f"{progress.stopped} after {progress.epoch} epochs"
        elif progress.stopped or not progress.epoch or not (self.tolerance > 0 or plan.finishes):
            return ""
        else:
            criterion = f"a gap of {self.tolerance:g}" if self.tolerance > 0 else "a small gradient"
            reason = f"{progress.epoch} epochs did not suffice for {criterion}"
        return (
            f"Training did not converge: {reason}. Set a larger optimizer.epochs, or scale numeric "
            "features to about 1."
        )

    def _pass(self) -> Row:
        """Make a pass, measure it, and write its checkpoint where one is due."""
        self._whole, began = False, time.monotonic()
        with np.errstate(over="ignore", invalid="ignore"):  # `_refuse_overflow` says it in words
            report = self._step()
            for observer in self.observers:
                observer.stepped(self)
            row = self._row(report)
        if report.convex_pass is None:
            self._look_for_best(row)
        self._look_at_gap(row, report)
        self._ask_judge(row)
        for observer in self.observers:
            observer.measured(self, row)
        if self._due(time.monotonic() - began):
            self._save()
        self._whole = True
        return row

    def _step(self) -> Report:
        """Make the steps of a pass, or those that are left of it; the report of the last, with the
        loss of all.
        """
        progress, saved = self.progress, time.monotonic()
        while True:
            watch = Stopwatch()
            result = self.optimizer.step(self.problem, self.state)
            seconds = watch.seconds
            if not self._checked:
                optimizer_results.check_step(self.optimizer, result, self.problem.dimension)
                self._checked = True
            self.state, report = reported(self.optimizer, self.problem, result)
            self._count(report, seconds - report.judging_seconds)
            if progress.steps >= self.problem.steps:
                break
            if time.monotonic() - saved >= self.schedule.checkpoint_seconds and self._sound(report):
                self._save()
                saved = time.monotonic()
        progress.epoch += 1
        progress.passes.append(progress.step_seconds)
        report = replace(report, loss=progress.step_loss)
        progress.steps, progress.step_seconds, progress.step_loss = 0, 0.0, 0.0
        return report

    def _count(self, report: Report, seconds: float) -> None:
        """Count a step."""
        progress = self.progress
        progress.steps += 1
        progress.step_seconds += seconds
        progress.step_loss += report.loss
        progress.repeated += report.repeated
        progress.seconds += seconds
        progress.evaluations += report.evaluations
        progress.negative_losses += report.negative_losses

    def _sound(self, report: Report) -> bool:
        """Whether a run may go on from the state of a step: numbers that are not finite are refused
        after the pass.
        """
        return isfinite(report.loss) and ranges.finite(self.optimizer.weights(self.state))

    def _row(self, report: Report) -> Row:
        progress, weights = self.progress, self.optimizer.weights(self.state)
        self._refuse_overflow("the summed loss", report.loss)
        if not ranges.finite(weights):
            self._refuse_overflow("the weights", float(weights[~np.isfinite(weights)][0]))
        primal, progress.dual = self._bounds(weights, report)
        self._refuse_overflow("the objective", primal)
        self._refuse_overflow("the dual objective", progress.dual)
        row: Row = {
            "epoch": progress.epoch,
            "seconds": progress.seconds,
            "inference_seconds": report.inference_seconds,
            "loss": report.loss,
            "primal": primal,
            "dual": progress.dual,
            "gap": self.gap(primal),
        }
        if self._account is not None:
            row |= self._account.since(self._accounted)
            self._accounted = self._account.copied()
        if report.convex_pass is not None:
            row["convex_pass"] = report.convex_pass
        if self.develop is not None:
            row |= {f"dev.{name}": value for name, value in self.develop(weights).items()}
        if self.test is not None:
            row |= {f"test.{name}": value for name, value in self.test(weights).items()}
        return row

    def gap(self, primal: float | None) -> float | None:
        """P - D after the last pass, where both are known and it proves something."""
        dual = self.progress.dual
        return (
            None
            if primal is None or dual is None or not self.schedule.certifies
            else certified_gap(primal, dual)
        )

    def _refuse_overflow(self, name: str, value: float | None) -> None:
        """Stop at a number that is not finite."""
        if value is None or isfinite(value):
            return
        done = self.progress.epoch - 1
        kept = f"{self.file.parent} holds pass {self.saved}." if done else "No pass was finished."
        raise NumericalError(
            f"pass {done + 1}: {name} came out as {value:g}, so that training cannot go on.",
            remedy=f"{self.advice} {kept}",
        )

    def _bounds(self, weights: Array, report: Report) -> tuple[float | None, float | None]:
        """P at the weights and a lower bound on its minimum, where they are known or due."""
        last = self.progress.epoch == self.optimizer.epochs or bool(report.finished)
        asked = (
            self.schedule.objective_every > 0
            and self.progress.epoch % self.schedule.objective_every == 0
        )
        if not (last or asked or self.tolerance > 0):
            return report.primal, report.dual
        with phases.phase("evaluating", "the objective", self.problem.m, lasting=False):
            if report.dual is None and self.optimizer.plan.certificate:
                return self.problem.certificate(weights)
            primal = (
                self.optimizer.objective(self.problem, self.state)
                if report.primal is None
                else report.primal
            )
        return primal, report.dual

    def _look_at_gap(self, row: Row, report: Report) -> None:
        gap, primal, progress = row["gap"], row["primal"], self.progress
        progress.gap = None if gap is None or not primal else gap / abs(primal)
        if (
            gap is None
            and primal is not None
            and progress.dual is not None
            and self.schedule.certifies
        ):
            self._warn_impossible(primal, progress.dual)
        if self._certified():
            progress.stopped = f"{CERTIFIED} {progress.gap:.2g} of the objective"
        elif report.finished:
            progress.stopped = report.finished
            progress.failed = report.failed and (progress.gap is None or progress.gap > NEAR)

    def _warn_impossible(self, primal: float, dual: float) -> None:
        """Warn, the first time, that a dual came out above the objective."""
        self.progress.impossible_duals += 1
        level = logging.WARNING if self.progress.impossible_duals == 1 else logging.INFO
        log.log(
            level,
            "pass %d: the dual %.6g came out above the objective %.6g, which rounding alone does "
            "not explain: a numerical "
            "failure, so that this pass has no gap and proves nothing. %s",
            self.progress.epoch,
            dual,
            primal,
            self.advice,
        )

    def _certified(self) -> bool:
        """Whether the gap is within the tolerance, where one is asked for."""
        return (
            self.tolerance > 0
            and self.progress.gap is not None
            and self.progress.gap <= self.tolerance
        )

    def _look_for_best(self, row: Row) -> None:
        score = row.get(f"dev.{self.schedule.metric}")
        progress = self.progress
        progress.latest = None if score is None else float(score)
        if score is not None and score > progress.best:
            progress.best, progress.best_epoch = float(score), progress.epoch
            if self.schedule.keep == "best":
                self.best_weights = self.optimizer.weights(self.state).copy()
        if (
            self.schedule.patience is not None
            and progress.epoch - progress.best_epoch >= self.schedule.patience
        ):
            progress.stopped = (
                f"no better dev {self.schedule.metric} in {self.schedule.patience} passes"
            )

    def _ask_judge(self, row: Row) -> None:
        """Ask the judge, who knows the other trials of a search, whether to go on."""
        judge = self.schedule.judge
        if (
            judge is not None
            and self.progress.epoch < self.optimizer.epochs
            and not self.progress.stopped
        ):
            self.progress.stopped = judge(row)

    @property
    def behind(self) -> bool:
        """Whether passes were finished that the checkpoint lacks."""
        return self.progress.epoch > self.saved

    def _due(self, seconds: float) -> bool:
        """Whether to write a checkpoint after a pass of so many seconds: the last, a long one, or
        where it costs little.
        """
        if self.progress.stopped or self.progress.epoch >= self.optimizer.epochs or seconds > SHORT:
            return True
        small = sum(array.nbytes for array in self._arrays().values()) <= SMALL
        return small or time.monotonic() - self._saved_at >= SPARED * self._saving

    def _arrays(self) -> dict[str, Array]:
        """The arrays of a checkpoint."""
        arrays = {
            name: value for name, value in self.state.items() if isinstance(value, np.ndarray)
        }
        if self.best_weights is not None:
            arrays[BEST] = self.best_weights
        if len(self.problem.messages):
            arrays[MESSAGES] = self.problem.messages
        return arrays

    def _save(self) -> None:
        """Write the checkpoint."""
        began = time.monotonic()
        scalars = {
            name: value for name, value in self.state.items() if not isinstance(value, np.ndarray)
        }
        seen = int(self.problem.before) + self.problem.m
        notes = {"progress": asdict(self.progress), "scalars": scalars, SEEN: seen}
        self.checkpoint.write(self._arrays(), notes, (*self.optimizer.plan.weights, BEST))
        self.saved, self._saved_at = self.progress.epoch, time.monotonic()
        self._saving = self._saved_at - began
