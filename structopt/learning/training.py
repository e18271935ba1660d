"""The loop of training: an optimizer, epoch by epoch, and callbacks that follow it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import inf, isfinite
from typing import Any, Literal

import numpy as np

from structopt.core.data import ranges
from structopt.core.executor import Account
from structopt.core.objective import LOSS_KERNELS, certified_gap
from structopt.core.optimizer import Earlier, Optimizer, Report, reported
from structopt.core.optimizer_state import State
from structopt.errors import NumericalError
from structopt.kernels.waist.compiling import Stopwatch
from structopt.kernels.waist.record import Array
from structopt.learning import optimizer_results
from structopt.progress import phases

log = logging.getLogger(__name__)

Row = dict[str, float | int | None]
"""Numbers of an epoch by the names of the history's columns; None if a method has no such number.
"""
CERTIFIED = "the certified gap is"
NEAR = 1e-3
"""Certified gap, relative to the objective, at which a step that fails may be the last."""
ADVICE = "Set a smaller C, which regularises more, or scale the features down."


@dataclass
class Progress:
    """Numbers of the epochs so far; with the optimizer's state, all that a resumed run needs.

    Attributes
    ----------
    epoch : int
        Epochs done.
    seconds : float
        Optimizer time so far.
    passes : list of float
        Seconds of each epoch.
    evaluations : list of float
        Seconds of each evaluation of loss and gradient over all instances.
    negative_losses : int
        Losses below zero met so far.
    repeated : int
        How often epochs were repeated with shorter steps, since they had raised P.
    dual : float or None
        Lower bound on the least P, as of the last epoch.
    gap : float or None
        Certified gap relative to the objective, as of the last epoch.
    rate_bound : float or None
        Distance of the dual from its maximum by a proved rate, as of the last epoch.
    impossible_duals : int
        Epochs whose dual came out above the objective: numerical failures, which certify nothing.
    best, best_epoch : float, int
        Highest dev score and its epoch.
    latest : float or None
        The dev score of the last epoch.
    stopped : str
        Why training ended before its last epoch, or the empty string.
    failed : bool
        Whether it ended because a step failed, far from the minimum of the objective as far as is
        known.
    steps : int
        Steps done of an epoch that consists of several (`Problem.steps`) and is not finished; else
        0.
    step_seconds, step_loss : float
        Time of these steps, and the sum of their losses.
    """

    epoch: int = 0
    seconds: float = 0.0
    passes: list[float] = field(default_factory=list)
    evaluations: list[float] = field(default_factory=list)
    negative_losses: int = 0
    repeated: int = 0
    dual: float | None = None
    gap: float | None = None
    rate_bound: float | None = None
    impossible_duals: int = 0
    best: float = -inf
    best_epoch: int = 0
    latest: float | None = None
    stopped: str = ""
    failed: bool = False
    steps: int = 0
    step_seconds: float = 0.0
    step_loss: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """The numbers that are evaluated after an epoch.

    Attributes
    ----------
    objective_every : int or "auto"
        Epochs between two evaluations of P; 0: after the last one only. ``auto``: after the epochs
        1, 2, 4, 8, ... and the last one, and with `certificate` after each. With a tolerance, P is
        evaluated after each epoch. Numbers that the optimizer reports are used as they are.
    certificate : bool
        Whether to bound the minimum of P after an evaluated epoch whose steps do not.
    last : bool
        Whether P is evaluated after the last epoch, if it is not due.
    certifies : bool
        Whether the values of the inference are exact or upper bounds, so that P - D bounds the
        distance of P from its minimum.
    """

    objective_every: int | Literal["auto"] = 1
    certificate: bool = False
    certifies: bool = True
    last: bool = True

    def due(self, epoch: int) -> bool:
        """Return whether P is evaluated after an epoch that may not be the last one."""
        every = self.objective_every
        if every == "auto":
            return self.certificate or epoch & (epoch - 1) == 0
        return every > 0 and epoch % every == 0


EVALUATION = Evaluation()


class Callback:
    """Follows training. Every method does nothing unless it is overridden.

    The order of events: `begin`; per epoch `epoch_begins`, `stepped` after each step but the last
    (an epoch on windows of a corpus has several), `trained`, then objective and bounds are
    evaluated, `evaluated`, `passed`; `failed` if an exception ends training; and `close`, however
    it ended.

    Attributes
    ----------
    modules : tuple of str
        Modules of kernels that it calls, which are loaded before the first epoch.
    """

    modules: tuple[str, ...] = ()

    def begin(self, training: Training) -> None:
        """Begin; `training.progress` counts the earlier epochs of a resumed run."""

    def epoch_begins(self, training: Training) -> None:
        """Prepare for an epoch."""

    def stepped(self, training: Training, report: Report) -> None:
        """Follow a step that does not complete its epoch."""

    def trained(self, training: Training) -> None:
        """Follow the last step of an epoch, before it is evaluated."""

    def evaluated(self, training: Training, row: Row) -> None:
        """Follow the evaluation of an epoch: add numbers to its row, save, or stop training."""

    def passed(self, training: Training, row: Row) -> None:
        """Follow an epoch, after all callbacks have evaluated and saved it."""

    def failed(self, training: Training, error: BaseException) -> None:
        """Follow an exception; its fields may be completed."""

    def close(self) -> None:
        """End."""


class Training:
    """Runs an optimizer epoch by epoch.

    Parameters
    ----------
    problem : Problem
    optimizer : Optimizer
    epochs : int
        At most so many.
    tolerance : float
        Stop if P - D <= tolerance |P|; 0 never does.
    callbacks : sequence of Callback
        Called in this order.
    evaluation : Evaluation
    advice : str
        How to fix numbers that overflow, in sentences.

    Attributes
    ----------
    progress : Progress
    state : State
        The state of the optimizer.
    kept : float64 vector or None
        Weights to return in place of the last ones, if a callback keeps others.
    known : mapping
        The row of the epoch whose weights are returned; empty if this process did not train it.
    """

    def __init__(
        self,
        problem: Any,
        optimizer: Optimizer,
        epochs: int,
        tolerance: float = 0.0,
        callbacks: Sequence[Callback] = (),
        evaluation: Evaluation = EVALUATION,
        advice: str = ADVICE,
    ) -> None:
        self.problem, self.optimizer, self.epochs, self.tolerance = (
            problem,
            optimizer,
            epochs,
            tolerance,
        )
        self.callbacks, self.evaluation, self.advice = list(callbacks), evaluation, advice
        self.progress = Progress()
        self.state: State = {}
        self.kept: Array | None = None
        self.known: Row = {}
        self._loss = problem.loss
        self._checked = False  # whether the result of a step was compared with the contract
        self._account = problem.executor.account
        self._accounted = self._account.copied() if self._account else Account()

    def start(self, weights: Array, earlier: Earlier | None = None) -> None:
        """Set the state before the first epoch: at these weights, or from an earlier run's."""
        self.progress, self.kept, self.known = Progress(), None, {}
        self.problem.messages[:] = 0.0
        if earlier is None:
            method, state = "init", self.optimizer.init(self.problem, weights)
        else:
            method, state = "continued", self.optimizer.continued(self.problem, earlier)
        optimizer_results.check_start(self.optimizer, state, self.problem.dimension, method)
        self.state = state

    def run(self) -> Array:
        """Make the epochs that are left; return the weights.

        Raises
        ------
        NumericalError
            If loss, weights, objective or dual are not finite after an epoch.
        """
        with phases.phase("loading kernels", lasting=False):
            plan = self.optimizer.plan
            own = plan.modules(self.problem.penalty, self.problem.threads(self.problem.m))
            modules = [LOSS_KERNELS, *own, *plan.imports]
            modules += [name for callback in self.callbacks for name in callback.modules]
            for name in modules:
                import_module(name)  # compiles kernels that the cache lacks
        try:
            for callback in self.callbacks:
                callback.begin(self)
            while self.progress.epoch < self.epochs and not self.progress.stopped:
                row = self._epoch()
                for callback in self.callbacks:
                    callback.passed(self, row)
        except BaseException as error:
            for callback in self.callbacks:
                callback.failed(self, error)
            raise
        finally:
            for callback in self.callbacks:
                callback.close()
        return self.weights()

    def weights(self) -> Array:
        """Return the weights that training leads to."""
        return self.optimizer.weights(self.state) if self.kept is None else self.kept

    def stop(self, reason: str) -> None:
        """End training after this epoch; the first reason counts."""
        self.progress.stopped = self.progress.stopped or reason

    @property
    def unfinished(self) -> str:
        """Why training ended before the optimizer's own criterion; empty if it was met, and for
        optimizers without one.
        """
        progress = self.progress
        if progress.failed:
            return f"{progress.stopped} after {progress.epoch} epochs"
        finishes = self.tolerance > 0 or self.optimizer.plan.finishes
        if progress.stopped or not progress.epoch or not finishes:
            return ""
        criterion = f"a gap of {self.tolerance:g}" if self.tolerance > 0 else "a small gradient"
        return f"{progress.epoch} epochs did not suffice for {criterion}"

    def gap(self, primal: float | None) -> float | None:
        """Return P - D after the last epoch; None if one is not known or nothing is proved."""
        dual = self.progress.dual
        if primal is None or dual is None or not self.evaluation.certifies:
            return None
        return certified_gap(primal, dual)

    @property
    def certified(self) -> bool:
        """Whether the gap is within a tolerance above 0."""
        gap = self.progress.gap
        return self.tolerance > 0 and gap is not None and gap <= self.tolerance

    @property
    def sound(self) -> bool:
        """Whether the weights are finite."""
        return ranges.finite(self.optimizer.weights(self.state))

    def _epoch(self) -> Row:
        """Make an epoch, and evaluate it."""
        loss = self._loss.at_epoch(self.progress.epoch + 1)
        if loss is not self.problem.loss:
            self.problem = self.problem.with_loss(loss)
        for callback in self.callbacks:
            callback.epoch_begins(self)
        with np.errstate(over="ignore", invalid="ignore"):  # `_refuse_overflow` says it in words
            report = self._steps()
            for callback in self.callbacks:
                callback.trained(self)
            row = self._row(report)
        self._look_at_gap(row, report)
        if self.kept is None:
            self.known = row
        for callback in self.callbacks:
            callback.evaluated(self, row)
        return row

    def _steps(self) -> Report:
        """Make the steps of an epoch, or its last ones; return the last report, with the loss of
        all.
        """
        progress = self.progress
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
            for callback in self.callbacks:
                callback.stepped(self, report)
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

    def _row(self, report: Report) -> Row:
        """Evaluate an epoch: its numbers by column."""
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
        progress.rate_bound = report.rate_bound
        if report.rate_bound is not None:
            row["rate_bound"] = report.rate_bound
        if self._account is not None:
            row |= self._account.since(self._accounted)
            self._accounted = self._account.copied()
        if report.convex_pass is not None:
            row["convex_pass"] = report.convex_pass
        return row

    def _refuse_overflow(self, name: str, value: float | None) -> None:
        """Stop at a number that is not finite."""
        if value is None or isfinite(value):
            return
        raise NumericalError(
            f"pass {self.progress.epoch}: {name} came out as {value:g}, so that training cannot go "
            "on.",
            remedy=self.advice,
        )

    def _bounds(self, weights: Array, report: Report) -> tuple[float | None, float | None]:
        """Return P at the weights and a lower bound on its minimum, if they are known or due."""
        last = self.progress.epoch == self.epochs or bool(report.finished)
        if not (
            (last and self.evaluation.last)
            or self.tolerance > 0
            or self.evaluation.due(self.progress.epoch)
        ):
            return report.primal, report.dual
        with phases.phase("evaluating", "the objective", self.problem.m, lasting=False):
            if report.dual is None and self.evaluation.certificate:
                primal, dual = self.problem.certificate(weights)
                return primal, dual
            primal = (
                self.optimizer.objective(self.problem, self.state)
                if report.primal is None
                else report.primal
            )
        return primal, report.dual

    def _look_at_gap(self, row: Row, report: Report) -> None:
        """Stop if the gap is within the tolerance, or the optimizer has finished."""
        gap, primal, progress = row["gap"], row["primal"], self.progress
        progress.gap = None if gap is None or not primal else gap / abs(primal)
        if gap is None and primal is not None and progress.dual is not None:
            self._warn_impossible(primal, progress.dual)
        if self.certified:
            self.stop(f"{CERTIFIED} {progress.gap:.2g} of the objective")
        elif report.finished:
            self.stop(report.finished)
            progress.failed = report.failed and (progress.gap is None or progress.gap > NEAR)

    def _warn_impossible(self, primal: float, dual: float) -> None:
        """Warn, the first time, that a dual came out above the objective."""
        if not self.evaluation.certifies:
            return
        self.progress.impossible_duals += 1
        level = logging.WARNING if self.progress.impossible_duals == 1 else logging.INFO
        log.log(
            level,
            "pass %d: the dual %.6g came out above the objective %.6g, which rounding alone does "
            "not explain: a numerical failure, so that this pass has no gap and proves nothing. %s",
            self.progress.epoch,
            dual,
            primal,
            self.advice,
        )
