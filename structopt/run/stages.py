"""A training run, stage by stage: components, read, train, save, evaluate, report."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structopt.config.wording import keyed
from structopt.core.data.in_memory import InMemory
from structopt.core.tracker import Run
from structopt.errors import SystemRefusal
from structopt.kernels.waist.record import Array
from structopt.model.model import Model
from structopt.objective.fingerprint import digest_of
from structopt.process import folder_lock, interruption
from structopt.progress import console, phases
from structopt.run import history, plots
from structopt.run.callbacks import (
    Judge,
    Judging,
    TrackedPasses,
)
from structopt.run.closing import Closing
from structopt.run.components import make_components
from structopt.run.evaluation import Metrics
from structopt.run.reading import TrainingData, read
from structopt.run.records import FAILED, FINISHED, KILLED, PRUNED
from structopt.run.report import cause_of, ending_note
from structopt.run.resumable import Resumable
from structopt.run.training_run import TrainingRun, surroundings

log = logging.getLogger(__name__)

KEPT, KEPT_INSIDE = (
    "the model of the last finished pass is saved",
    "the model of the last checkpoint is saved",
)


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
    memory: Mapping[str, InMemory] | None = None,
    pictures: bool = True,
    earlier: Model | None = None,
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
    memory : mapping of split to InMemory, or None
        Instances in memory that stand in the place of the task's files.
    pictures : bool
        Whether the learning curve is drawn.
    earlier : Model or None
        Whose training goes on, as ``warm_start.state`` says, where it is in memory and not in a
        folder.

    Raises
    ------
    StructoptError
        For whatever the user can mend.
    KeyboardInterrupt
        With the folder; the model of the last finished pass is saved.
    """
    with surroundings(config, f"The last checkpoint, if any, is whole: {folder}") as shown:
        shown.log, shown.silent = console.log_file(), job is not None and job.beside
        run = _RunInFolder(config, make_components(config, memory), folder, judge, job, pictures)
        try:
            with folder_lock.locked(folder):
                return _train(run, resuming, earlier)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(str(folder)) from None


def _train(run: _RunInFolder, resuming: bool, earlier: Model | None) -> Model:
    """Take a run through its stages."""
    with _tracked(run, resuming) as outcome, keyed():
        data = read(run.config, run.components, earlier, run.job is None or not run.job.beside)
        trainer = run.trainer(data)
        if run.pictures:
            plots.import_early()
        weights, interrupt = _fit(trainer, data, resuming)
        pruned = trainer.progress.stopped if run.judge and run.judge.verdict else ""
        with interruption.put_off():
            model = run.model(data, weights)
            if pruned:
                run.drop_model(pruned)
            else:
                run.compact(model).save(run.folder / "model")
                run.components.tracker.log_model(run.folder / "model")
            model.trained = run.trained(trainer, run.folder)
        closing = run.closing(data, trainer)
        outcome.metrics, interrupt = closing.measured(weights, interrupt)
        outcome.status = KILLED if interrupt else FINISHED
        with interruption.put_off():
            late = closing.report(outcome.metrics, interrupt)
        # a job that lacks nothing but its picture is finished; its sweep obeys the interrupt
        ending = late if run.job is None else interrupt
        if ending:
            raise ending
        run.check_end(trainer, weights)
        return model


def resume(folder: Path, overrides: list[str]) -> Model:
    """Go on with a run from its last finished pass, in its folder and with its config."""
    from structopt.config import saved_config
    from structopt.config.continuation import continued

    with folder_lock.locked(folder), console.logged_in(folder):
        config, epochs = (
            continued(saved_config.read(folder), overrides),
            len(history.read(folder / "history.csv")),
        )
        if epochs >= config["optimizer"].get("epochs", epochs + 1):
            log.warning(
                "structopt: %s has made its %d passes; for more of them: optimizer.epochs=N",
                folder,
                epochs,
            )
        return train(config, folder, resuming=True)


@dataclass
class _Outcome:
    """How a run ended: its status, metrics and error for the tracker."""

    status: str = FAILED
    error: Exception | None = None
    metrics: Metrics = field(default_factory=dict)


@contextmanager
def _tracked(run: _RunInFolder, resuming: bool) -> Iterator[_Outcome]:
    """Record the run with its tracker, however it ends, and shut down its executor."""
    tracker, outcome = run.components.tracker, _Outcome()
    tracker.start(run.description(resuming))
    try:
        yield outcome
    except KeyboardInterrupt:
        outcome.status = KILLED
        raise
    except BrokenPipeError:  # whoever read our output has seen enough
        raise
    except OSError as error:
        log.info("the operating system refused", exc_info=True)
        outcome.error = SystemRefusal(error, f"structopt resume={run.folder}")
        raise outcome.error from error
    except Exception as error:
        outcome.status, outcome.error = FAILED, error
        raise
    finally:
        try:
            with interruption.put_off(), phases.phase("recording"):
                if outcome.status != FINISHED:
                    tracker.describe(
                        ending_note(run.folder, cause_of(outcome.error), run.job is not None)
                    )
                tracker.finish(outcome.status, _dotted(outcome.metrics))
        finally:
            run.components.executor.close()


def _fit(
    trainer: Resumable, data: TrainingData, resuming: bool
) -> tuple[Array, KeyboardInterrupt | None]:
    """Make the passes; the weights, and the interrupt that ended them early, if one did."""
    try:
        if not (resuming and trainer.resume()):
            trainer.start(data.initial, data.earlier)
        return trainer.run(), None
    except KeyboardInterrupt as interrupt:
        with interruption.put_off():
            kept = KEPT if data.problem.steps == 1 else KEPT_INSIDE
            console.say(f"structopt: interrupted; {kept} (Ctrl-C again: at once)", error=True)
            # the last pass that was finished, whatever the interrupt left half done
            if not trainer.resume():
                trainer.start(data.initial, data.earlier)
            return trainer.weights(), interrupt


@dataclass(frozen=True)
class _RunInFolder(TrainingRun):
    """Training in a run folder: the folder, and what surrounds the run."""

    folder: Path
    judge: Judge | None
    job: JobOfSweep | None
    pictures: bool = True

    def description(self, resuming: bool) -> Run:
        """The run as its tracker gets it."""
        job, files = self.job, self.components.files if not self.components.memory else {}
        name, parent, number = (job.name, job.parent, job.number) if job else ("", "", None)
        return Run(self.folder, self.config, files, name or self.label, parent, number, resuming)

    def trainer(self, data: TrainingData) -> Resumable:
        """The loop over epochs, with its callbacks; errors as of `development`."""
        names, arrays = self.components.task.state()
        optimizer = self.optimizer(data)
        followers = self.followers(data)
        tracked = TrackedPasses(self.components.tracker, self.components.task.main_metric)
        return Resumable(
            **self.options(data, optimizer),
            folder=self.folder,
            vocabulary=digest_of([arrays[name] for name in sorted(arrays)], names),
            checkpoint_seconds=self.config.get("storage", {}).get("checkpoint", 60.0),
            before=(
                self.development(data, optimizer),
                *([Judging(self.judge)] if self.judge else []),
            ),
            after=(*followers, tracked),
        )

    def compact(self, model: Model) -> Model:
        """The model as it is saved: without weights that the optimizer has set to 0, where its
        penalty does.
        """
        return model.pruned() if self.components.fit.regulariser.sparse else model

    def drop_model(self, verdict: str) -> None:
        """Delete model and checkpoint of earlier attempts of a pruned trial, and tag its run."""
        for name in ("model", "checkpoint"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.components.tracker.tag(PRUNED.lower(), "true")
        self.components.tracker.describe(verdict)

    def closing(self, data: TrainingData, trainer: Resumable) -> Closing:
        """The end of the run."""
        return Closing(
            self.config,
            self.folder,
            self.label,
            self.components,
            data,
            trainer,
            self.shards(data),
            self.job is not None,
            self.pictures,
        )


def _dotted(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Metrics under dotted names, those that are None left out."""
    return {
        f"{split}.{name}": float(v)
        for split, values in metrics.items()
        for name, v in values.items()
        if v is not None
    }
