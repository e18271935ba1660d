"""One training run from a checked config to a folder with a model: build, read, fit, evaluate, save, track."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import compatibility, feature_keys, registry
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Beginning, Loss
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.core.tracker import Run, Tracker
from structopt.errors import ConfigError, NumericalError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.learning import convex_start, guarded, mixing
from structopt.model.folder import find_model
from structopt.model.model import Model, model_config
from structopt.model.pruning import Pruner
from structopt.model.warm_start import WarmStart
from structopt.objective.decoding import best_outputs, predicted
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples
from structopt.objective.fingerprint import digest_of
from structopt.objective.pass_shards import Passes
from structopt.objective.problem import Problem
from structopt.run import interruption
from structopt.run.progress import ProgressLine, closing_table
from structopt.run.training import Judge, Row, Trainer

log = logging.getLogger(__name__)

SHOWN = (
    "f1", "precision", "recall", "accuracy", "micro_f1", "macro_f1", "hamming_loss", "subset_accuracy",
    "uas", "las", "las_universal", "uas_nopunct", "las_nopunct", "las_universal_nopunct",
)  # fmt: skip


@dataclass(frozen=True)
class Components:
    """The components of a run, made and checked against each other before any data is read."""

    task: Task
    scorer: Scorer
    graph: FactorGraph
    inference: Inference
    loss: Loss
    optimizer: Optimizer
    tracker: Tracker
    executor: Executor


def make_components(config: Mapping[str, Any]) -> Components:
    """Make every component of a config.

    Raises
    ------
    StructoptError
        For an unknown or ill-typed parameter, or components that do not fit together.
    """
    given = {key: config[key] for key in ("seed", "threads") if key in config}
    made = {kind: registry.create(kind, config[kind], **given) for kind in ("factor_graph", "inference", "loss", "optimizer")}
    task, scorer = feature_keys.task_of(config), feature_keys.scorer_of(config)
    compatibility.check_task(task, made["factor_graph"], config["task"]["name"])
    compatibility.check(made["factor_graph"], made["inference"], made["loss"], made["optimizer"], task.partial)
    compatibility.check_features(scorer, made["optimizer"], made["loss"], made["factor_graph"])
    made["loss"].kernel(made["optimizer"].plan.variant)
    executor = registry.create("executor", config["executor"])
    if executor.workers == 1 and not executor.remote and config["threads"] > 1:
        executor = registry.create("executor", config["executor"] | {"name": "threads", "workers": config["threads"]})
    compatibility.check_executor(executor, made["optimizer"])
    for path in task.files.values():
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file. Check task.train, task.dev and task.test.")
    tracker = registry.create("tracker", config["tracker"])
    return Components(
        task, scorer, made["factor_graph"], made["inference"], made["loss"], made["optimizer"], tracker, executor
    )  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A run's place in a sweep.

    Attributes
    ----------
    number : int or None
        Of the job; None of a run that stands alone.
    name : str
        What sets it apart from the other jobs; empty where nothing does.
    parent : str
        The tracker's id of the sweep's run; empty where there is none.
    beside : bool
        Whether other jobs run beside it: then nothing moves on the terminal.
    """

    number: int | None
    name: str = ""
    parent: str = ""
    beside: bool = False


class Session:
    """A training run.

    Parameters
    ----------
    config : mapping
        The composed and validated config.
    folder : Path
        The run folder.
    judge : callable or None
        Where the run is a trial of a search: says after a pass whether it is hopeless.
    place : Place or None
        Where the run is a job of a sweep: its closing table goes to its log.
    """

    def __init__(self, config: Mapping[str, Any], folder: Path, judge: Judge | None = None, place: Place | None = None) -> None:
        self.config, self.folder, self.judge, self.place = config, folder, judge, place
        self.parts = make_components(config)
        self.mixed_shards = mixing.shards_of(self.parts.executor, self.parts.optimizer)
        self.warm_start: WarmStart | None = None
        self.repeated = 0  # passes that were made again, as the log knows
        self.pruner: Pruner | None = None
        self.pruned: dict[str, Mapping[str, float | None]] = {}  # what the pruner did, by split
        self.pruner_summaries: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, resuming: bool = False) -> Model:
        """Train (or go on), evaluate, save and track; return the model."""
        tracker, status = self.parts.tracker, "FAILED"
        metrics: dict[str, dict[str, Any]] = {}
        tracker.start(self._told(resuming))
        try:
            self._prepare()
            trainer = self._trainer()
            try:
                weights = self._fit(trainer, resuming)
                status = "FINISHED"
            except KeyboardInterrupt:
                status = "KILLED"
                weights = self._last_finished(trainer)
                raise
            finally:
                if status != "FAILED":
                    metrics = self._close(trainer, weights)
            self._check_inference("after training", weights)
            self._check_steps(trainer)
            return self._model(weights)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(str(self.folder)) from None
        except Exception:
            status = "FAILED"
            raise
        finally:
            try:
                tracker.finish(status, _dotted(metrics))
            finally:
                self.parts.executor.close()

    def _told(self, resuming: bool) -> Run:
        """What the tracker is told."""
        place = self.place or Place(None)
        label = place.name or self._label()
        return Run(self.folder, self.config, self.parts.task.files, label, place.parent, place.number, resuming)

    def _prepare(self) -> None:
        """Read and encode the training part, build the problem, read the dev and test parts."""
        parts, started = self.parts, time.perf_counter()
        task, files = parts.task, parts.task.files
        corpus = task.read(files["train"], task.limit)
        self.warm_start = WarmStart.of(self.config.get("warm_start"))
        encoded = self._admitted(self.warm_start.fit(task, corpus) if self.warm_start else task.fit(corpus))
        self.pruner = self._pruner(encoded)
        encoded = self._pruned("train", encoded)
        self.problem = Problem.of(
            encoded, parts.graph, parts.loss, parts.inference, self._layout, parts.optimizer.C, self.config["seed"],
            parts.optimizer.plan, parts.optimizer.needs(parts.loss, parts.graph).positional, parts.executor,
            self._judge if "dev" in files else None,
        )  # fmt: skip
        self.scorer = self.problem.scorer
        self.featurize_seconds = time.perf_counter() - started
        self.held_out = {role: self._held_out(role) for role in ("dev", "test") if role in files}
        self.mixed_shards = min(self.mixed_shards, self.problem.m)
        log.info(
            "%s: %d instances, %d weights; %s; C = %g, read in %.1f s", files["train"].name, self.problem.m,
            self.scorer.count, parts.loss.member, parts.optimizer.C, self.featurize_seconds,
        )  # fmt: skip

    def _layout(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Scorer:
        """Lay out the weights, and carry over those of an earlier model."""
        fitted = self.parts.scorer.fit(encoded, structure, gold)
        if fitted.note:
            log.info("features: %s", fitted.note)
        if self.warm_start is None:
            self.start_weights = fitted.initial(self.config["seed"])
            return fitted
        widened, self.start_weights = self.warm_start.transfer(self.parts.task, fitted)
        log.warning("warm start: %s", self.warm_start.counts)
        return widened

    def _admitted(self, encoded: Encoded) -> Encoded:
        """The training corpus as the graph can represent it."""
        admitted, changes = self.parts.graph.admit(encoded)
        if changes:
            log.warning("%s: %s", self.parts.task.files["train"], changes)
        return admitted

    def _pruner(self, encoded: Encoded) -> Pruner | None:
        """The coarser model that prunes, where the graph asks for one: a given one, or trained on the training corpus."""
        wanted = self.parts.graph.pruning
        if wanted is None:
            return None
        if wanted.model is not None:
            return Pruner.of_model(Model.load(find_model(wanted.model)), self.parts.task, wanted)
        started = time.perf_counter()
        pruner = Pruner.train(encoded, wanted, feature_keys.scorer_of(self.config, wanted.features_left_out), self.config["seed"])
        log.info("pruner: trained in %.1f s", time.perf_counter() - started)
        return pruner

    def _pruned(self, role: str, encoded: Encoded) -> Encoded:
        """A corpus as the pruner leaves it; the training corpus keeps the candidates of its gold outputs."""
        if self.pruner is None:
            return encoded
        encoded, self.pruned[role], summary = self.pruner.prune(encoded, role == "train", self.parts.executor)
        self.pruner_summaries.append(f"{summary} on {role}")
        log.info("pruner: %s", self.pruner_summaries[-1])
        return encoded

    def _held_out(self, role: str) -> tuple[Any, Examples]:
        corpus = self.parts.task.read(self.parts.task.files[role])
        encoded = self.parts.task.encode(corpus)
        labels = self.parts.graph.traits.labeled
        unseen = int((encoded.gold < 0).sum()) if labels and encoded.gold is not None else 0
        if unseen:
            log.warning(
                "%s: %d %s have a label that the training part never shows; they count as errors.",
                self.parts.task.files[role], unseen, self.parts.task.unit,
            )  # fmt: skip
        encoded = self._pruned(role, encoded)
        return corpus, Examples.build(encoded, self.parts.graph, self.scorer, self.parts.inference.decoder())

    def _scores(self, role: str, weights: Array) -> dict[str, float]:
        corpus, examples = self.held_out[role]
        decoder, graph = self.parts.inference.decoder(), self.parts.graph
        outputs = predicted(examples, self.parts.task, graph, decoder, self._predicting, weights, self.parts.executor)
        return self.parts.task.evaluate(corpus, outputs)

    @cached_property
    def _predicting(self) -> Kernels:
        """Kernels of features and of the inference that predicts, as a model's."""
        return predicting(self.scorer, self.parts.graph, self.parts.inference.decoder())

    def _judge(self, weights: Array) -> float:
        """Dev score of some weights."""
        return self._scores("dev", weights)[self.parts.task.main_metric]

    def _trainer(self) -> Trainer:
        config, parts = self.config, self.parts
        if config.get("patience") is not None and "dev" not in self.held_out:
            raise ConfigError("patience needs a dev part to look at. Give task.dev, or leave patience=null.")
        names, arrays = parts.task.state()
        return Trainer(
            self.problem, self._optimizer(), self.folder,
            develop=partial(self._scores, "dev") if "dev" in self.held_out else None,
            metric=parts.task.main_metric,
            objective_every=config["objective_every"],
            patience=config.get("patience"),
            certifies=not parts.task.partial and compatibility.certifies(parts.inference.provides(parts.graph.kind)),
            judge=self.judge,
            advice=_advice(config),
            vocabulary=digest_of([arrays[name] for name in sorted(arrays)], names),
        )  # fmt: skip

    @cached_property
    def _beginning(self) -> Beginning | None:
        """The convex loss that training begins with."""
        return self.parts.loss.begins_with(self.warm_start is not None)

    def _optimizer(self) -> Optimizer:
        """The optimizer as the run has it: over shards, with passes that do not raise P, from a convex loss on."""
        mixed = mixing.mixed(self.parts.optimizer, self.mixed_shards, Passes)
        careful = guarded.guarded(mixed, self.config["objective_every"])
        return convex_start.from_convex(careful, self.problem, self._beginning)

    def _fit(self, trainer: Trainer, resuming: bool) -> Array:
        if not (resuming and trainer.resume()):
            trainer.start(self.start_weights)
        if self._beginning:
            log.warning(
                "%s is not convex: %d passes of %s come first (loss.convex_passes).",
                self.parts.loss.member, self._beginning.passes, self._beginning.loss.member,
            )  # fmt: skip
        self._check_inference("before training", trainer.weights())
        self._tell_rate(trainer)
        metric = self.parts.task.main_metric
        silent = self.place is not None and self.place.beside
        with ProgressLine(trainer.progress.epoch, trainer.optimizer.epochs, metric, silent) as line:
            trainer.watch = partial(self._watch, line, trainer)
            return trainer.run()

    def _tell_rate(self, trainer: Trainer) -> None:
        """Say which learning rate was taken, where that was left to the optimizer."""
        for name in self.parts.optimizer.plan.tried:
            log.warning("optimizer.%s=auto: took %g", name, trainer.state[name])

    def _check_inference(self, stage: str, weights: Array) -> None:
        """Compare the inference with the references, where check=true asks for it."""
        if self.config.get("check"):
            from structopt.run.checks import check_inference

            log.warning("check %s: %s", stage, check_inference(self.problem, weights, self.config["seed"]))

    def _check_steps(self, trainer: Trainer) -> None:
        """Compare the optimizer's steps with the references, where check=true asks for it and it solves programs."""
        if self.config.get("check"):
            from structopt.run.checks import check_steps

            if message := check_steps(self.problem, self.parts.optimizer, trainer.state, self.config["seed"]):
                log.warning("check of steps: %s", message)

    def _watch(self, line: ProgressLine, trainer: Trainer, row: Row) -> None:
        interruption.obey()
        line.show(row)
        if self._beginning and row["epoch"] == self._beginning.passes + 1:
            self._tell_rate(trainer)
        if trainer.progress.repeated > self.repeated:
            times = trainer.progress.repeated - self.repeated
            log.info("pass %d raised the objective; made again with shorter steps, %d times", row["epoch"], times)
            self.repeated = trainer.progress.repeated
        known = {name: value for name, value in row.items() if value is not None}
        log.info("pass %s", "  ".join(f"{name} {value:.6g}" for name, value in known.items() if "_" not in name))
        self.parts.tracker.log_epoch(int(row["epoch"] or 0), _epoch_metrics(known, f"dev.{self.parts.task.main_metric}"))

    def _last_finished(self, trainer: Trainer) -> Array:
        """Weights of the last pass that was finished, whatever the interrupt left half done."""
        if not trainer.resume():
            trainer.start(self.start_weights)
        return trainer.weights()

    def _close(self, trainer: Trainer, weights: Array) -> dict[str, dict[str, Any]]:
        """Save the model first, then metrics and pictures, and print the closing table."""
        self._model(weights).save(self.folder / "model")
        metrics: dict[str, dict[str, Any]] = {"train": self._train_metrics(trainer, weights)}
        if trainer.progress.epoch and not weights.any():
            lost = metrics["train"]["objective"] > 0
            log.warning(
                "Every weight is still zero: %s %s.", self.parts.loss.member,
                f"has a loss there, but no step changed it. {trainer.advice}".rstrip(".") if lost
                else "has no loss there to step by. Set loss.gamma=1, or type warm_start=MODEL",
            )  # fmt: skip
        metrics |= {role: self._scores(role, weights) for role in self.held_out}
        metrics = {role: {**values, **self.pruned.get(role, {})} for role, values in metrics.items()}
        durable_files.write_json(self.folder / "metrics.json", metrics)
        self._draw()
        self._print(trainer, metrics)
        return metrics

    def _train_metrics(self, trainer: Trainer, weights: Array) -> dict[str, Any]:
        progress, objective = trainer.progress, self.problem.objective(weights)
        if not isfinite(objective):
            raise NumericalError(f"The objective of the trained weights came out as {objective:g}. {trainer.advice}")
        beside = sum(progress.passes) - sum(progress.evaluations)
        return {
            "objective": objective,
            "dual": progress.dual,
            "gap": trainer.gap(objective),
            "epochs": progress.epoch,
            "seconds": progress.seconds,
            "seconds_per_epoch": float(np.median(progress.passes)) if progress.passes else None,
            "seconds_per_evaluation": float(np.median(progress.evaluations)) if progress.evaluations else None,
            "overhead_per_epoch": beside / progress.epoch if progress.evaluations else None,
            "instances": self.problem.m,
            "features": self.scorer.count,
            "featurize_seconds": self.featurize_seconds,
            "negative_losses": progress.negative_losses,
            **({"impossible_duals": progress.impossible_duals} if progress.impossible_duals else {}),
            **({"convex_passes": min(self._beginning.passes, progress.epoch)} if self._beginning else {}),
            **({"repeated_passes": progress.repeated} if progress.repeated else {}),
            **({"mixed_shards": self.mixed_shards} if self.mixed_shards else {}),
            **self.parts.inference.diagnostics(self.problem.data.messages),
            **self._decoding_seconds(weights),
        }

    def _decoding_seconds(self, weights: Array) -> dict[str, float]:
        """Seconds of a pass of predictions over the training part, scores and search, where ``time_decoding`` asks for it."""
        if not self.config.get("time_decoding"):
            return {}
        decoder, examples, seconds = self.parts.inference.decoder(), self.problem.examples, []
        if decoder is not self.parts.inference:
            examples = examples.solved_by(decoder)
        for _ in range(3):  # the first may compile
            started = time.perf_counter()
            best_outputs(examples, self._predicting, weights, self.parts.executor)
            seconds.append(time.perf_counter() - started)
        return {"decoding_seconds": float(np.median(seconds))}

    def _draw(self) -> None:
        from structopt.run.history import read
        from structopt.run.plots import learning_curve

        rows = read(self.folder / "history.csv")
        if rows:
            (self.folder / "plots").mkdir(exist_ok=True)
            learning_curve(rows, self.folder / "plots" / "learning_curve.png", f"dev.{self.parts.task.main_metric}")

    def _print(self, trainer: Trainer, metrics: Mapping[str, Mapping[str, Any]]) -> None:
        train, progress = metrics["train"], trainer.progress
        table = closing_table(metrics, SHOWN)
        per_pass = f", {train['seconds_per_epoch']:.3f} s a pass" if progress.passes else ""
        lines = [
            f"{self._label()}: {train['instances']} instances, {train['features']} weights, {self.parts.loss.member}",
            f"{progress.epoch} passes in {progress.seconds:.2f} s{per_pass}; objective {train['objective']:.6g}{_proof(train)}",
        ]
        if progress.evaluations:
            lines.append(
                f"{len(progress.evaluations)} evaluations, {train['seconds_per_evaluation']:.3f} s each; "
                f"{train['overhead_per_epoch']:.4f} s a pass beside them"
            )
        if self.mixed_shards:
            lines.append(f"parameters of {self.mixed_shards} shards mixed after every pass but the first (McDonald et al., 2010)")
        if self.pruner_summaries:
            lines.append("pruner: " + "; ".join(self.pruner_summaries))
        if "unconverged" in train:
            lines.append(f"messages still moved at the end of the last inference of {train['unconverged']:.1%} of the instances")
        if progress.negative_losses:
            lines.append(f"negative losses: {progress.negative_losses} (their steps were skipped)")
        if "convex_passes" in train and self._beginning:
            lines.append(f"the first {train['convex_passes']} passes minimised {self._beginning.loss.member}, which is convex")
        if progress.repeated:
            lines.append(f"passes that raised the objective and were made again with shorter steps: {progress.repeated}")
        if progress.stopped:
            lines.append(f"stopped: {progress.stopped}")
        text = "\n".join([*lines, *([table] if table else []), f"model: {self.folder / 'model'}"])
        if self.place:
            log.info("%s", text)
        else:
            print(text, flush=True)

    def _model(self, weights: Array) -> Model:
        parts = self.parts
        return Model(
            model_config(self.config), parts.task, parts.graph, parts.inference, self.scorer, weights,
            parts.loss.temperature, self.pruner,
        )  # fmt: skip

    def _label(self) -> str:
        config = self.config
        made = f"{config['task']['name']}-{config['optimizer']['name']}-{self.parts.loss.member.partition(' ')[0]}"
        return config.get("label") or made


def train(
    config: Mapping[str, Any],
    folder: Path,
    judge: Judge | None = None,
    place: Place | None = None,
    resuming: bool = False,
) -> Model:
    """Run a composed and validated config in a run folder, as a job of a sweep where it has a place in one.

    `judge` says of a trial whether it is hopeless; `resuming` goes on from the folder's checkpoint, where there is one.
    """
    return Session(config, folder, judge, place).run(resuming)


def resume(folder: Path, overrides: list[str]) -> Model:
    """Go on with a run from its last finished pass, in its folder and with its config."""
    from structopt.config.composition import continued, saved_config

    config = continued(saved_config(folder), overrides)
    return Session(config, folder).run(resuming=True)


def _epoch_metrics(row: Mapping[str, float | int], main: str) -> dict[str, float]:
    """History cells under their dotted names in MLflow: the main metric first, scores of single labels not at all.

    A server draws a chart for each, and opens its page of comparisons at the first.
    """
    train = {"loss", "primal", "dual", "gap", "seconds", "inference_seconds"}
    shown = [main, *(name for name in row if name in train or name.partition(".")[2] in SHOWN and name != main)]
    named = {f"train.{name}" if name in train else name: float(row[name]) for name in shown if name in row}
    return {("train.objective" if name == "train.primal" else name): value for name, value in named.items()}


def _proof(train: Mapping[str, Any]) -> str:
    """What is known of the minimum of the objective, in words."""
    if train["gap"] is not None:
        return f", at most {train['gap']:.2g} above the minimum"
    if "impossible_duals" in train:
        return f"; of its minimum nothing is known: in {train['impossible_duals']} passes the dual came out above the objective"
    return ""


def _advice(config: Mapping[str, Any]) -> str:
    """What to do where numbers overflow: the settings that this run has."""
    step = "a smaller optimizer.eta, or " if "eta" in config["optimizer"] else ""
    known = {"normalize": "unit", "standardize": "columns"}
    scaling = [f"features.{key}={value}" for key, value in known.items() if key in config.get("features", {})]
    how = f" ({' or '.join(scaling)})" if scaling else ""
    return f"Set {step}a smaller optimizer.C, which regularises more, or scale the features down{how}."


def _dotted(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {f"{part}.{name}": float(v) for part, values in metrics.items() for name, v in values.items() if v is not None}
