"""A training run, stage by stage: components, read, train, save, evaluate, report."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from structopt.config import compatibility
from structopt.core.data.expansion import expanding
from structopt.core.optimizer import Optimizer
from structopt.core.tracker import Run
from structopt.errors import ConfigError, SystemRefusal
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.learning import convex_start, guarded, mixing
from structopt.model.model import Model, model_config
from structopt.objective.fingerprint import digest_of
from structopt.objective.pass_shards import Passes
from structopt.run.components import Components, make_components
from structopt.run.evaluation import Metrics, evaluate
from structopt.run.observer import Observer
from structopt.run.observers import Checks, Interrupts, PassLog, ProgressBar, TrackedPasses
from structopt.run.reading import TrainingData, read
from structopt.run.records import FAILED, FINISHED, KILLED
from structopt.run.report import closing_text, draw
from structopt.run.trainer import Judge, Schedule, Trainer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobOfSweep:
    """What a run knows of the sweep that it is a job of.

    Attributes
    ----------
    number : int
    name : str
        What sets it apart from the other jobs; empty where nothing does.
    parent : str
        The tracker's id of the sweep's run; empty where there is none.
    beside : bool
        Whether other jobs run beside it: then nothing moves on the terminal.
    """

    number: int
    name: str = ""
    parent: str = ""
    beside: bool = False


def train(
    config: Mapping[str, Any],
    folder: Path,
    judge: Judge | None = None,
    job: JobOfSweep | None = None,
    resuming: bool = False,
) -> Model:
    """Train a composed and validated config in a run folder, and return the model.

    Parameters
    ----------
    config : mapping
    folder : Path
        The run folder.
    judge : callable or None
        Of a trial of a search: says after a pass why to stop, or the empty string.
    job : JobOfSweep or None
        Where the run is a job of a sweep: its closing text goes to its log.
    resuming : bool
        Whether to go on from the folder's checkpoint, where there is one.

    Raises
    ------
    StructoptError
        For whatever the user can mend.
    KeyboardInterrupt
        With the folder; the model of the last finished pass is saved.
    """
    with expanding(config):
        components = make_components(config)
    folder.mkdir(parents=True, exist_ok=True)
    run = _TrainingRun(config, folder, components, judge, job)
    with _tracked(run, resuming) as outcome:
        with expanding(config):
            data = read(config, components)
        trainer = run.trainer(data)
        weights, interrupt = _fit(trainer, data, resuming)
        outcome.status = KILLED if interrupt else FINISHED
        model = run.model(data, weights)
        model.save(folder / "model")
        outcome.metrics = run.close(data, trainer, weights)
        if interrupt:
            raise interrupt
        for observer in trainer.observers:
            observer.end(trainer, weights)
        return model


def resume(folder: Path, overrides: list[str]) -> Model:
    """Go on with a run from its last finished pass, in its folder and with its config."""
    from structopt.config.composition import continued, saved_config

    return train(continued(saved_config(folder), overrides), folder, resuming=True)


@dataclass
class _Outcome:
    """How a run ended: its status and metrics for the tracker."""

    status: str = FAILED
    metrics: Metrics = field(default_factory=dict)


@contextmanager
def _tracked(run: _TrainingRun, resuming: bool) -> Iterator[_Outcome]:
    """Record the run with its tracker, however it ends, and shut down its executor."""
    tracker, outcome = run.components.tracker, _Outcome()
    tracker.start(run.description(resuming))
    try:
        yield outcome
    except KeyboardInterrupt:
        raise KeyboardInterrupt(str(run.folder)) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        raise
    except OSError as error:
        log.info("the operating system refused", exc_info=True)
        raise SystemRefusal(error, f"structopt resume={run.folder}") from error
    except Exception:
        outcome.status = FAILED
        raise
    finally:
        try:
            tracker.finish(outcome.status, _dotted(outcome.metrics))
        finally:
            run.components.executor.close()


def _fit(trainer: Trainer, data: TrainingData, resuming: bool) -> tuple[Array, KeyboardInterrupt | None]:
    """Make the passes; the weights, and the interrupt that ended them early, if one did."""
    try:
        if not (resuming and trainer.resume()):
            trainer.start(data.initial)
        return trainer.run(), None
    except KeyboardInterrupt as interrupt:
        if not trainer.resume():  # the last pass that was finished, whatever the interrupt left half done
            trainer.start(data.initial)
        return trainer.weights(), interrupt


@dataclass(frozen=True)
class _TrainingRun:
    """A run: its config, folder and components, and what its stages make of them."""

    config: Mapping[str, Any]
    folder: Path
    components: Components
    judge: Judge | None
    job: JobOfSweep | None

    @property
    def label(self) -> str:
        """A short name that a person would give the run."""
        task, optimizer = self.config["task"]["name"], self.config["optimizer"]["name"]
        return self.config.get("label") or f"{task}-{optimizer}-{self.components.loss.member.partition(' ')[0]}"

    def description(self, resuming: bool) -> Run:
        """The run as its tracker gets it."""
        job, files = self.job, self.components.task.files
        name, parent, number = (job.name, job.parent, job.number) if job else ("", "", None)
        return Run(self.folder, self.config, files, name or self.label, parent, number, resuming)

    def shards(self, data: TrainingData) -> int:
        """Into how many shards the passes are divided, whose states are mixed; 0 for none."""
        return min(mixing.shards_of(self.components.executor, self.components.optimizer), data.problem.m)

    def optimizer(self, data: TrainingData) -> Optimizer:
        """The optimizer of the run: over shards, with passes that do not raise P, from a convex loss on."""
        mixed = mixing.mixed(self.components.optimizer, self.shards(data), Passes)
        careful = guarded.guarded(mixed, self.config["objective_every"])
        return convex_start.from_convex(careful, data.problem, data.beginning)

    def trainer(self, data: TrainingData) -> Trainer:
        """The loop over passes, with its observers.

        Raises
        ------
        ConfigError
            If training is to stop by a dev score, and there is no dev split.
        """
        task, dev = self.components.task, "dev" in data.held_out.splits
        if self.config.get("patience") is not None and not dev:
            raise ConfigError("patience needs a dev split to look at. Give task.dev, or leave patience=null.")
        names, arrays = task.state()
        return Trainer(
            data.problem, self.optimizer(data), self.folder, partial(data.held_out.scores, "dev") if dev else None,
            self.schedule(), self.observers(data), _advice(self.config),
            digest_of([arrays[name] for name in sorted(arrays)], names),
        )  # fmt: skip

    def schedule(self) -> Schedule:
        """What is measured after passes, and what ends training early."""
        task, inference, kind = self.components.task, self.components.inference, self.components.graph.kind
        certifies = not task.partial and compatibility.certifies(inference.provides(kind))
        every, patience = self.config["objective_every"], self.config.get("patience")
        return Schedule(task.main_metric, every, patience, certifies, self.judge)

    def observers(self, data: TrainingData) -> list[Observer]:
        """The observers of the passes, in the order in which they are called."""
        metric, silent = self.components.task.main_metric, self.job is not None and self.job.beside
        pass_log = PassLog(self.components.loss.member, data.beginning)
        checks = [Checks(self.config["seed"])] if self.config.get("check") else []
        return [Interrupts(), ProgressBar(metric, silent), pass_log, TrackedPasses(self.components.tracker, metric), *checks]

    def model(self, data: TrainingData, weights: Array) -> Model:
        """The model of some weights."""
        of = self.components
        return Model(
            model_config(self.config), of.task, of.graph, of.inference, data.problem.scorer, weights,
            of.loss.temperature, data.pruned.pruner,
        )  # fmt: skip

    def close(self, data: TrainingData, trainer: Trainer, weights: Array) -> Metrics:
        """Evaluate the weights, write ``metrics.json``, draw, and say how it went."""
        metrics = evaluate(self.config, self.components, data, trainer, weights, self.shards(data))
        durable_files.write_json(self.folder / "metrics.json", metrics)
        draw(self.folder, self.components.task.main_metric)
        pruner = "; ".join(data.pruned.summaries)
        member = self.components.loss.member
        text = closing_text(self.label, member, metrics, trainer.progress, data.beginning, pruner, self.folder)
        if self.job:
            log.info("%s", text)
        else:
            print(text, flush=True)
        return metrics


def _advice(config: Mapping[str, Any]) -> str:
    """What to do where numbers overflow: the settings that this run has."""
    step = "a smaller optimizer.eta, or " if "eta" in config["optimizer"] else ""
    known = {"normalize": "unit", "standardize": "columns"}
    scaling = [f"features.{key}={value}" for key, value in known.items() if key in config.get("features", {})]
    how = f" ({' or '.join(scaling)})" if scaling else ""
    return f"Set {step}a smaller optimizer.C, which regularises more, or scale the features down{how}."


def _dotted(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Metrics under dotted names, those that are None left out."""
    return {f"{split}.{name}": float(v) for split, values in metrics.items() for name, v in values.items() if v is not None}
