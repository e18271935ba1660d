"""The only loop over the steps of an optimizer: history, checkpoints, early stopping, resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from structopt import archive
from structopt.core.protocols import Optimizer, Report, State
from structopt.errors import ModelError
from structopt.history import History
from structopt.kernels.record import Array
from structopt.problem import Problem

Row = dict[str, float | int | None]
Judge = Callable[[Row], str]  # of a pass: why to stop after it, or the empty string
CERTIFIED = "the certified gap is"
MESSAGES = "inference.messages"  # in a checkpoint; no optimizer's state has a dot in its names


@dataclass
class Progress:
    """What is known after some passes; with the optimizer's state, all that a resumed run needs.

    Attributes
    ----------
    epoch : int
        Passes done.
    seconds : float
        Optimizer time so far.
    passes : list of float
        Seconds of each pass.
    evaluations : list of float
        Seconds of each evaluation of loss and gradient over all instances.
    negative_losses : int
        Losses below zero met so far.
    dual : float or None
        Lower bound on the least P, as of the last pass.
    gap : float or None
        Certified gap relative to the objective, as of the last pass.
    best, best_epoch : float, int
        Highest dev score and its pass.
    stopped : str
        Why training ended before its last pass, or the empty string.
    """

    epoch: int = 0
    seconds: float = 0.0
    passes: list[float] = field(default_factory=list)
    evaluations: list[float] = field(default_factory=list)
    negative_losses: int = 0
    dual: float | None = None
    gap: float | None = None
    best: float = -inf
    best_epoch: int = 0
    stopped: str = ""


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
    metric : str
        The dev metric that early stopping looks at.
    objective_every : int
        Passes between two evaluations of P; 0 means at the end only.
    patience : int or None
        Stop after so many passes without a better dev score, and return the weights of the best pass.
    watch : callable
        Called after every pass with its history row.
    certifies : bool
        Whether the inference's values are exact or upper bounds, so that P - D bounds how far P is from its minimum.
    judge : callable or None
        Given the history row of a pass, says why to stop after it, or the empty string; asked while passes are left.
    """

    def __init__(
        self,
        problem: Problem,
        optimizer: Optimizer,
        folder: Path,
        develop: Callable[[Array], Mapping[str, float]] | None = None,
        metric: str = "f1",
        objective_every: int = 1,
        patience: int | None = None,
        watch: Callable[[Row], None] = lambda row: None,
        certifies: bool = True,
        judge: Judge | None = None,
    ) -> None:
        self.problem, self.optimizer = problem, optimizer
        self.tolerance = float(getattr(optimizer, "tolerance", 0.0))
        self.develop, self.metric, self.watch, self.certifies = develop, metric, watch, certifies
        self.objective_every, self.patience, self.judge = objective_every, patience, judge
        self.history = History(folder / "history.csv")
        self.checkpoint = folder / "checkpoint" / "state.safetensors"
        self.progress = Progress()
        self.best_weights: Array | None = None
        self.state: State = {}

    def start(self, weights: Array) -> None:
        """Begin anew from the given weights; a checkpoint that an earlier run left in the folder is not this run's."""
        self.checkpoint.unlink(missing_ok=True)
        self.progress, self.best_weights = Progress(), None
        self.problem.messages[:] = 0.0
        self.state = self.optimizer.init(self.problem, weights)
        self.history.rewind(0)

    def resume(self) -> bool:
        """Go on from the checkpoint; return whether there is one."""
        if not self.checkpoint.is_file():
            return False
        arrays, notes = archive.read_arrays(self.checkpoint)
        try:
            self._restore(arrays, notes)
        except (KeyError, TypeError, ValueError):
            raise ModelError(
                f"{self.checkpoint}: not a checkpoint of this run: other data, or another version. Undo that, or train again."
            ) from None
        self.history.rewind(self.progress.epoch)
        return True

    def _restore(self, arrays: Mapping[str, Array], notes: Mapping[str, Any]) -> None:
        """Take back what `_save` wrote."""
        self.progress = Progress(**{**notes["progress"], "best": float(notes["progress"]["best"])})
        if self.progress.stopped.startswith(CERTIFIED) and not self._certified():
            self.progress.stopped = ""  # the resumed run asks for a smaller gap
        rows = self.problem.examples.feature_map
        full = {n: rows.expand(a) if n in notes["weights"] or n == "best_weights" else a for n, a in arrays.items()}
        if any(full[name].shape != (rows.dimension,) for name in notes["weights"]):
            raise ValueError("weights of another problem")
        self.best_weights = full.pop("best_weights", None)
        self.problem.messages[:] = full.pop(MESSAGES, np.zeros(0))
        self.state = {**full, **notes["scalars"]}

    def run(self) -> Array:
        """Do the passes that are left; return the weights."""
        for name in getattr(self.optimizer, "kernel_modules", ()):
            import_module(name)  # compiles what is not in the cache yet, so that no pass is charged for it
        while self.progress.epoch < self.optimizer.epochs and not self.progress.stopped:
            report = self._pass()
            row = self._row(report)
            self._look_for_best(row)
            self._look_at_gap(row, report)
            self._look_at_others(row)
            self.history.append(row)
            self._save()
            self.watch(row)
        return self.weights()

    def weights(self) -> Array:
        """Weights to return: of the best pass where early stopping asks for it, else of the last."""
        if self.patience is not None and self.best_weights is not None:
            return self.best_weights
        return self.optimizer.weights(self.state)

    def _pass(self) -> Report:
        started = time.perf_counter()
        self.state, report = self.optimizer.step(self.problem, self.state)
        seconds = time.perf_counter() - started
        self.progress.epoch += 1
        self.progress.seconds += seconds
        self.progress.passes.append(seconds)
        self.progress.evaluations += report.evaluations
        self.progress.negative_losses += report.negative_losses
        return report

    def _row(self, report: Report) -> Row:
        progress, weights = self.progress, self.optimizer.weights(self.state)
        primal, progress.dual = self._bounds(weights, report)
        row: Row = {
            "epoch": progress.epoch,
            "seconds": progress.seconds,
            "inference_seconds": report.inference_seconds,
            "loss": report.loss,
            "primal": primal,
            "dual": progress.dual,
            "gap": self.gap(primal),
        }
        if self.develop is not None:
            row |= {f"dev.{name}": value for name, value in self.develop(weights).items()}
        return row

    def gap(self, primal: float | None) -> float | None:
        """P - D after the last pass, where both are known and it proves something."""
        dual = self.progress.dual
        return None if primal is None or dual is None or not self.certifies else primal - dual

    def _bounds(self, weights: Array, report: Report) -> tuple[float | None, float | None]:
        """P at the weights and a lower bound on its minimum, where they are known or due."""
        last = self.progress.epoch == self.optimizer.epochs or bool(report.finished)
        asked = self.objective_every > 0 and self.progress.epoch % self.objective_every == 0
        if not (last or asked or self.tolerance > 0):
            return report.primal, report.dual
        if report.dual is None and getattr(self.optimizer, "certificate", False):
            return self.problem.certificate(weights)
        primal = self.problem.objective(weights) if report.primal is None else report.primal
        return primal, report.dual

    def _look_at_gap(self, row: Row, report: Report) -> None:
        gap, primal, progress = row["gap"], row["primal"], self.progress
        progress.gap = None if gap is None or not primal else gap / abs(primal)
        if self._certified():
            progress.stopped = f"{CERTIFIED} {progress.gap:.2g} of the objective"
        elif report.finished:
            progress.stopped = report.finished

    def _certified(self) -> bool:
        """Whether the gap is within the tolerance, where one is asked for."""
        return self.tolerance > 0 and self.progress.gap is not None and self.progress.gap <= self.tolerance

    def _look_for_best(self, row: Row) -> None:
        score = row.get(f"dev.{self.metric}")
        progress = self.progress
        if score is not None and score > progress.best:
            progress.best, progress.best_epoch = float(score), progress.epoch
            if self.patience is not None:
                self.best_weights = self.optimizer.weights(self.state).copy()
        if self.patience is not None and progress.epoch - progress.best_epoch >= self.patience:
            progress.stopped = f"no better dev {self.metric} in {self.patience} passes"

    def _look_at_others(self, row: Row) -> None:
        """Ask the judge, who knows the other trials of a search, whether to go on."""
        if self.judge is not None and self.progress.epoch < self.optimizer.epochs and not self.progress.stopped:
            self.progress.stopped = self.judge(row)

    def _save(self) -> None:
        """Write the checkpoint: arrays of weights keep their supported entries only."""
        rows = self.problem.examples.feature_map
        arrays = {name: value for name, value in self.state.items() if isinstance(value, np.ndarray)}
        weights = [name for name, array in arrays.items() if rows.covers(array)]
        if self.best_weights is not None:
            arrays["best_weights"] = self.best_weights
        if len(self.problem.messages):
            arrays[MESSAGES] = self.problem.messages
        packed = {n: rows.compress(a) if n in weights or n == "best_weights" else a for n, a in arrays.items()}
        scalars = {name: value for name, value in self.state.items() if not isinstance(value, np.ndarray)}
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        notes = {"progress": asdict(self.progress), "scalars": scalars, "weights": weights}
        archive.write_arrays(self.checkpoint, packed, notes)
