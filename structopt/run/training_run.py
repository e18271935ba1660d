"""The loop of a config with its callbacks, and the model that it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structopt.config.wording import keyed
from structopt.core.data.expansion import expanding
from structopt.core.memory import shortage_explained
from structopt.core.optimizer import Optimizer
from structopt.core.optimizer_state import values_of
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning import mixing
from structopt.learning.training import Callback, Evaluation, Training
from structopt.model.model import Model, model_config
from structopt.model.trained import Trained
from structopt.objective.compatibility import certifies
from structopt.objective.options import optioned
from structopt.progress import console, display
from structopt.progress.display import Display
from structopt.progress.quiet import quietly
from structopt.run import memory
from structopt.run.callbacks import Checks, Development, Interrupts, PassLog, PassProgress, kept
from structopt.run.components import Components
from structopt.run.reading import TrainingData
from structopt.run.report import unfinished


@contextmanager
def surroundings(config: Mapping[str, Any], remark: str = "") -> Iterator[Display]:
    """Show the phases of training as its settings say, explain a shortage of memory, and write keys
    in errors.

    Parameters
    ----------
    config : mapping
    remark : str
        What to add to the explanation.
    """
    with (
        display.shown() as shown,
        quietly(config.get("quiet", False)),
        console.tidy_fallback(),
        expanding(config),
        shortage_explained(f"{memory.advice(config)} {remark}".rstrip()),
        keyed(),
    ):
        yield shown


@dataclass(frozen=True)
class TrainingRun:
    """Creates the loop and the model of a config from its components.

    Attributes
    ----------
    config : mapping
        Composed and validated.
    components : Components
    """

    config: Mapping[str, Any]
    components: Components

    @property
    def label(self) -> str:
        """A short name that a person would give the run."""
        task, optimizer = self.config["task"]["name"], self.config["optimizer"]["name"]
        return (
            self.config.get("label")
            or f"{task}-{optimizer}-{self.components.loss.member.partition(' ')[0]}"
        )

    def shards(self, data: TrainingData) -> int:
        """Into how many shards the passes are divided, whose results are mixed or added up; 0 for
        none.
        """
        return min(
            mixing.shards_of(self.components.executor, self.components.optimizer), data.problem.m
        )

    def optimizer(self, data: TrainingData) -> Optimizer:
        """The optimizer of the run, with its options."""
        guard = self.config["objective_every"] in (1, "auto")
        optimizer, problem = self.components.optimizer, data.problem
        certificate = self.components.fit.certificate
        return optioned(optimizer, problem, self.shards(data), guard, data.beginning, certificate)

    def development(self, data: TrainingData, optimizer: Optimizer) -> Development:
        """The callback that scores the dev part. The memory that training takes is checked.

        Raises
        ------
        ConfigError
            If training shall stop by a dev score without a dev split.
        """
        dev = "dev" in data.held_out.splits
        if not dev and self.config.get("patience") is not None:
            raise ConfigError(
                "needs a dev split.",
                parameter="patience",
                value=self.config["patience"],
                remedy="Set task.dev, or patience=null.",
            )
        if not dev and self.config.get("keep") == "best":
            raise ConfigError(
                "needs a dev split.",
                parameter="keep",
                value="best",
                remedy="Set task.dev, or keep=last.",
            )
        test = bool(self.config.get("test_curve")) and "test" in data.held_out.splits
        keep = kept(self.config, self.components.optimizer.plan)
        fit = self.components.fit
        memory.check(self.config, data.problem, optimizer, fit, dev and keep == "best")
        return Development(
            partial(data.held_out.scores, "dev") if dev else None,
            self.components.task.main_metric,
            keep,
            self.config.get("patience"),
            partial(data.held_out.scores, "test") if test else None,
        )

    def followers(self, data: TrainingData) -> list[Callback]:
        """The callbacks that follow an epoch when it is evaluated."""
        return [
            Interrupts(),
            PassProgress(self.components.task.main_metric),
            PassLog(self.components.loss.member, data.beginning),
            *([Checks(self.config["seed"])] if self.config.get("check") else []),
        ]

    def options(self, data: TrainingData, optimizer: Optimizer) -> dict[str, Any]:
        """The arguments of the loop, without its callbacks."""
        reported = self.components.inference.reports(self.components.graph)
        fit, beginning = self.components.fit, data.beginning
        return {
            "problem": data.problem,
            "optimizer": optimizer,
            "epochs": fit.epochs + (beginning.passes if beginning else 0),
            "tolerance": fit.tolerance,
            "evaluation": Evaluation(
                self.config["objective_every"],
                fit.certificate,
                not self.components.task.open_gold and certifies(reported),
            ),
            "advice": _advice(self.config),
        }

    def model(self, data: TrainingData, weights: Array) -> Model:
        """The model of some weights."""
        of = self.components
        return Model(
            model_config(self.config),
            of.task,
            of.graph,
            of.inference,
            data.problem.scorer,
            weights,
            of.loss.temperature,
            data.pruned.pruner,
            data.held_out.annotator,
        )

    def trained(self, training: Training, folder: Path | None = None) -> Trained:
        """Return the state from which another run can continue; none if it is bound to the data."""
        problem = training.problem
        state = {} if training.optimizer.plan.bound else values_of(training.state)
        m, parts = problem.m, int(problem.structure.parts[-1])
        return Trained(
            self.config,
            folder,
            state,
            m,
            parts,
            m + int(problem.before),
            problem.messages,
            unfinished(training),
        )

    def check_end(self, training: Training, weights: Array) -> None:
        """Make the checks that follow training, if the settings ask for them."""
        for callback in training.callbacks:
            if isinstance(callback, Checks):
                callback.end(training, weights)


def _advice(config: Mapping[str, Any]) -> str:
    """What to do where numbers overflow: the settings that this run has."""
    step = "a smaller optimizer.eta, or " if "eta" in config["optimizer"] else ""
    known = {"normalize": "unit", "standardize": "columns"}
    scaling = [
        f"features.{key}={value}"
        for key, value in known.items()
        if key in config.get("features", {})
    ]
    how = f" ({' or '.join(scaling)})" if scaling else ""
    return (
        f"Set {step}a smaller optimizer.C, which regularises more, or scale the features down{how}."
    )
